package train

import (
	"context"
	"math"
	"strings"
	"testing"

	"molt/engine"
	"molt/engine/enginetest"
)

// TestFlatGroupsAreComparedToo: nothing trains on them, so only the spot check can see that they are not the policy's. It takes
// them in turn: whichever differs is found.
func TestFlatGroupsAreComparedToo(t *testing.T) {
	for wrong := range 3 {
		found := false
		trainer := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{})
		for range 3 {
			groups := batchOf(t, []float64{1, 1, 1})
			logp := &groups[0].Rollouts[wrong].Nodes[0].LogpGen[1]
			*logp = math.Nextafter32(*logp, -1)
			_, err := trainer.Step(context.Background(), groups)
			found = found || err != nil && strings.Contains(err.Error(), "action token 1: the generator reported")
		}
		if !found {
			t.Errorf("three batches with a wrong sample %d, and none was refused", wrong)
		}
	}
}

// TestLaterMiniBatchesAreComparedToo: when they are trained on, the policy has moved.
func TestLaterMiniBatchesAreComparedToo(t *testing.T) {
	cfg := config()
	cfg.BatchSize = 2
	found := 0
	for batches := range int64(4) {
		groups := batchOf(t, []float64{1, 0, .5, .2})
		logp := &groups[0].Rollouts[3].Nodes[0].LogpGen[0]
		*logp = math.Nextafter32(*logp, -1)
		_, err := New(cfg, Models{Policy: enginetest.NewToy(toy)}, State{Batches: batches}).Step(context.Background(), groups)
		if err != nil && strings.Contains(err.Error(), "sample 3 action token 0: the generator reported") {
			found++
		}
	}
	if found != 2 { // of the two segments of the second mini-batch, every other time
		t.Errorf("a wrong segment of the second mini-batch was found in %d of 4 batches", found)
	}
}

// TestFrozenPolicyIsComparedToo: nothing trains while the critic learns alone, and the batches are compared all the same.
func TestFrozenPolicyIsComparedToo(t *testing.T) {
	cfg := withCritic()
	cfg.Critic.Warmup = 1
	groups := batchOf(t, []float64{1, 0})
	for _, r := range groups[0].Rollouts {
		r.Nodes[0].LogpGen[0] -= 0.5
	}
	_, err := New(cfg, Models{Policy: enginetest.NewToy(toy), Critic: other()}, State{}).Step(context.Background(), groups)
	if err == nil || !strings.Contains(err.Error(), "do not serve the same policy") {
		t.Errorf("got %v", err)
	}
}

// lying reports something else than it serves.
type lying struct {
	engine.Generator
	change func(*engine.Reply)
}

func (l lying) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := l.Generator.Generate(ctx, r, emit)
	l.change(&reply)
	return reply, err
}

func TestProbe(t *testing.T) {
	ctx := context.Background()
	learner := enginetest.NewToy(toy)
	trainer := New(config(), Models{Policy: learner}, State{})
	res, err := trainer.Step(ctx, batchOf(t, []float64{1, 0}))
	if err != nil {
		t.Fatal(err)
	}
	gen := enginetest.NewScript(toy)
	if err := trainer.Probe(ctx, gen, res.Segments); err == nil || !strings.Contains(err.Error(), "serves version 0 after version 1") {
		t.Errorf("before the weights are published: %v", err)
	}
	if err := gen.Publish(ctx, weightsOf(t, learner)); err != nil {
		t.Fatal(err)
	}
	if err := trainer.Probe(ctx, gen, res.Segments); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*engine.Reply)
		want   string
	}{
		"one bit":  {func(r *engine.Reply) { r.Tokens[0].Logp = math.Nextafter32(r.Tokens[0].Logp, -9) }, "probe token 0: the generator reported"},
		"old":      {func(r *engine.Reply) { r.Tokens[0].Version = 0 }, "serves version 0"},
		"nothing":  {func(r *engine.Reply) { r.Tokens = nil }, "it said nothing"},
		"as it is": {func(*engine.Reply) {}, ""},
	} {
		err := trainer.Probe(ctx, lying{gen, c.change}, res.Segments)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	trainer.cfg.Exact = false
	if err := trainer.Probe(ctx, lying{gen, func(*engine.Reply) { t.Error("asked a generator that promises nothing") }}, res.Segments); err != nil {
		t.Error(err)
	}
}
