// The environments that every program has, and how a run finds the one that it was told to play.

package run

import (
	"fmt"

	"molt/agent"
	"molt/agent/answer"
	"molt/examples/shop"
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
