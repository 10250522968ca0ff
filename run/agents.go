// The environments that every program has, and how a run finds the one that it was told to play.

package run

import (
	"context"
	"fmt"

	"molt/agent"
	"molt/agent/answer"
	"molt/engine"
	"molt/examples/shop"
	"molt/run/doors"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
)

func init() {
	agent.Register("answer", "one reply, compared with the label", struct{}{}, always(answer.New))
	agent.Register("shop", "the quickstart's tool task", struct{}{}, always(shop.New))
}

// always is for environments without settings.
func always(create func() agent.Env) func(struct{}) (func() agent.Env, error) {
	return func(struct{}) (func() agent.Env, error) { return create, nil }
}

// openAgent opens the agent that the configuration names.
func openAgent(ctx context.Context, c *recipe.Config, m *models.Model) (*doors.Agent, error) {
	d := doors.Config{
		Agent: &c.Agent, Model: m, Seed: c.Train.Seed, MaxLen: c.Rollout.MaxLen, Log: new(doors.Log),
		Sampling: func(eval bool) engine.Sampling { return sampling(c, m.Stops(), eval) },
	}
	if !c.Agent.IsPython() && !c.Agent.IsProgram() {
		var err error
		if d.Env, err = environment(&c.Agent); err != nil {
			return nil, err
		}
	}
	return doors.Open(ctx, d)
}

// environment prepares the environment that the configuration names.
func environment(c *recipe.AgentConfig) (func() agent.Env, error) {
	kind, ok := agent.KindOf(c.Name)
	if !ok {
		return nil, &problem.Problem{Code: problem.Setting, Where: "agent.name", What: fmt.Sprintf("no environment %q in this program", c.Name), Fix: "`molt help settings` lists them"}
	}
	create, err := kind.Open(c.Own(kind))
	if err != nil {
		return nil, &problem.Problem{Code: problem.Setting, Where: "agent." + c.Name, What: "the environment refuses its settings", Why: err.Error(), Fix: "mend them", Err: err}
	}
	return create, nil
}
