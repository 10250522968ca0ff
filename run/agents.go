// The environments and chat agents that every program has, and how a run finds the one that it was told to play.

package run

import (
	"context"

	"molt/agent"
	"molt/agent/answer"
	"molt/agent/openenv"
	"molt/agent/sandbox"
	"molt/engine"
	"molt/examples/shop"
	"molt/run/doors"
	"molt/run/models"
	"molt/run/recipe"
)

func init() {
	agent.Register("answer", "one reply, compared with the label", struct{}{}, always(answer.New))
	agent.Register("code", "as answer, with a tool that runs programs", sandbox.DefaultSettings(), withCode)
	agent.Register("openenv", "an OpenEnv environment at an address", openenv.Settings{}, openenv.Open)
	agent.Register("shop", "the quickstart's tool task", struct{}{}, always(shop.New))
	agent.RegisterChat("shop_chat", "the same over HTTP", struct{}{}, always(shop.NewChat))
}

// withCode is answer with a box.
func withCode(s sandbox.Settings) (func() agent.Env, error) {
	box, err := s.Open(context.Background())
	if err != nil {
		return nil, err
	}
	return box.Offer(answer.New), nil
}

// always is for what has no settings.
func always[A any](create func() A) func(struct{}) (func() A, error) {
	return func(struct{}) (func() A, error) { return create, nil }
}

// openAgent opens the agent that the configuration names.
func openAgent(ctx context.Context, c *recipe.Config, m *models.Model) (*doors.Agent, error) {
	d := doors.Config{
		Agent: &c.Agent, Model: m, Seed: c.Train.Seed, MaxLen: c.Rollout.MaxLen, Log: new(doors.Log),
		Sampling: func(eval bool) engine.Sampling { return sampling(c, m.Stops(), eval) },
	}
	return doors.OpenNamed(ctx, d)
}
