package train

import (
	"context"
	"math"
	"testing"

	"molt/algo"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

var toy = enginetest.ScriptConfig{Vocab: 8, Seed: 1}

func config() Config {
	lr := func(int64) float64 { return 0.5 }
	c := Config{Config: algo.Default(), MaxEpochs: 1, MicroTokens: 64, LR: lr, Critic: CriticConfig{MaxEpochs: 1, LR: lr}, Exact: true}
	c.Advantage.Estimator = "dr_grpo"
	return c
}

// withCritic reads a critic's values and leaves the advantages as they are.
func withCritic() Config {
	c := config()
	c.Advantage.Estimator, c.Advantage.NoWhiten, c.Value.Clip = "gae", true, 0
	return c
}

// other is a policy that a toy is compared with.
func other() *enginetest.Toy { return enginetest.NewToy(enginetest.ScriptConfig{Vocab: 8, Seed: 2}) }

// sample makes a rollout of one turn by the toy itself, so that its log-probs are exact.
func sample(t *testing.T, g engine.Generator, group int64, number int, reward float64) *traj.Rollout {
	t.Helper()
	return &traj.Rollout{Group: group, Sample: number, Outcome: traj.Completed, Reward: reward, Score: reward,
		Nodes: []traj.Node{turn(-1, []int32{1, 2}, tokens(t, g, []int32{1, 2}, group, number, 3))}}
}

func tokens(t *testing.T, g engine.Generator, prompt []int32, group int64, number, most int) []engine.Token {
	t.Helper()
	reply, err := g.Generate(context.Background(), engine.Request{
		Prompt: prompt, Sampling: engine.Sampling{Temperature: 1, MaxTokens: most}, Key: engine.Key{Seed: 7, Group: group, Sample: int32(number)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply.Tokens
}

func turn(parent int, observation []int32, tokens []engine.Token) traj.Node {
	n := traj.Node{Parent: parent, Observation: observation, Temperature: 1, Finish: traj.FinishLength}
	for _, tok := range tokens {
		n.Sampled = append(n.Sampled, tok.ID)
		n.LogpGen = append(n.LogpGen, tok.Logp)
		n.Version = append(n.Version, tok.Version)
	}
	return n
}

// fork adds a second segment to a rollout: one turn from a prompt of its own.
func fork(t *testing.T, r *traj.Rollout) {
	t.Helper()
	r.Nodes = append(r.Nodes, turn(-1, []int32{1, 3}, tokens(t, enginetest.NewScript(toy), []int32{1, 3}, 9, 0, 3)))
}

// batchOf has a group for each list of rewards, a rollout of three tokens for each reward.
func batchOf(t *testing.T, rewards ...[]float64) []*traj.Group {
	t.Helper()
	gen := enginetest.NewScript(toy)
	var groups []*traj.Group
	for id, of := range rewards {
		g := &traj.Group{ID: int64(id)}
		for i, r := range of {
			g.Rollouts = append(g.Rollouts, sample(t, gen, g.ID, i, r))
		}
		groups = append(groups, g)
	}
	return groups
}

// aged is a toy that has taken steps without a gradient: what others sampled is so many versions old.
func aged(t *testing.T, versions int) *enginetest.Toy {
	t.Helper()
	l := enginetest.NewToy(toy)
	for range versions {
		if _, err := l.Step(context.Background(), engine.StepOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// step takes one with a fresh trainer.
func step(t *testing.T, cfg Config, m Models, state State, groups []*traj.Group) (*Result, *Trainer) {
	t.Helper()
	trainer := New(cfg, m, state)
	res, err := trainer.Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	return res, trainer
}

func weightsOf(t *testing.T, l engine.Learner) engine.Weights {
	t.Helper()
	w, err := l.Weights(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// near compares every number of a lane with one, or with one each.
func near[T float32 | float64](t *testing.T, what string, got []T, want ...float64) {
	t.Helper()
	if len(want) > 1 && len(got) != len(want) {
		t.Fatalf("%s: %d numbers; want %d", what, len(got), len(want))
	}
	for i, g := range got {
		w := want[min(i, len(want)-1)]
		if !(math.Abs(float64(g)-w) <= 1e-6*max(1, math.Abs(w))) {
			t.Errorf("%s %d: %v; want %v", what, i, g, w)
		}
	}
}
