package train

import (
	"math"
	"path/filepath"
	"testing"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/traj"
)

// trunk is a model small enough to solve the bandit with in no time.
var trunk = model.Config{Vocab: 8, Dim: 16, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 8, FFN: 16, MaxPositions: 16, NormEps: 1e-6, RopeTheta: 100}

// oneTrunk plays the bandit with a policy and a critic that share their trunk.
type oneTrunk struct {
	generator *local.Generator
	learner   *local.Learner
	trainer   *Trainer
	played    int64
}

func newOneTrunk(t *testing.T, cfg Config) *oneTrunk {
	t.Helper()
	w, err := local.Init(trunk, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := local.Default()
	head := optim.Default()
	c.Threads, c.Running, c.StepTokens, c.BatchTokens, c.Head = 1, 64, 256, 2048, &head
	g, err := local.NewGenerator(trunk, w, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	shape := trunk
	shape.ValueHead = true
	l, err := local.NewLearner(shape, w, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &oneTrunk{generator: g, learner: l, trainer: New(cfg, Models{Policy: l}, State{})}
}

func sharedConfig() Config {
	cfg := withCritic()
	cfg.Value.Coef = 0.5
	cfg.LR = func(int64) float64 { return 1e-2 }
	cfg.Critic.LR = func(int64) float64 { return 3e-2 }
	cfg.MicroTokens = 1024
	return cfg
}

// play trains on 64 rollouts of one token, of which id 3 earns 1, and gives the share that earned it.
func (o *oneTrunk) play(t *testing.T) (*Result, float64) {
	t.Helper()
	g, earned := &traj.Group{ID: o.played}, 0.0
	for i := range 64 {
		sampled := tokens(t, o.generator, []int32{1, 2}, g.ID, i, 1)
		r := &traj.Rollout{Group: g.ID, Sample: i, Outcome: traj.Completed, Nodes: []traj.Node{turn(-1, []int32{1, 2}, sampled)}}
		if sampled[0].ID == 3 {
			r.Reward = 1
			earned++
		}
		g.Rollouts = append(g.Rollouts, r)
	}
	o.played++
	res, err := o.trainer.Step(t.Context(), []*traj.Group{g})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.generator.Publish(t.Context(), weightsOf(t, o.learner)); err != nil {
		t.Fatal(err)
	}
	return res, earned / 64
}

// value of the prompt.
func (o *oneTrunk) value(t *testing.T) float64 {
	t.Helper()
	pass, err := o.learner.Forward(t.Context(), engine.Batch{Tokens: []int32{1, 2, 3}, Starts: []int32{0, 3}, Score: []int32{2}}, engine.Want{Value: true})
	if err != nil {
		t.Fatal(err)
	}
	defer pass.Release()
	return float64(pass.Value()[0])
}

// TestOneTrunkLearns: while the policy is frozen its weights and version stay and the value of the prompt becomes what it
// earns; then both solve the bandit in one step for each mini-batch.
func TestOneTrunkLearns(t *testing.T) {
	cfg := sharedConfig()
	cfg.Critic.Warmup, cfg.Critic.MaxEpochs = 10, 3
	cfg.BatchSize, cfg.MaxEpochs = 32, 2
	o := newOneTrunk(t, cfg)
	before := weightsOf(t, o.learner).Fingerprint
	var mean float64
	for range cfg.Critic.Warmup {
		res, earned := o.play(t)
		if !res.Frozen || res.Steps != (Steps{}) || res.Critic.Steps.Updates != 6 || res.Version != 0 {
			t.Fatalf("%+v after %d batches; want the head alone to take 6 steps", res, o.played)
		}
		mean += earned / float64(cfg.Critic.Warmup)
	}
	if weightsOf(t, o.learner).Fingerprint != before {
		t.Error("the frozen policy moved")
	}
	if v := o.value(t); math.Abs(v-mean) > 0.05 {
		t.Errorf("value %v of a prompt that earns %v on average", v, mean)
	}
	var earned float64
	for batch := range 12 {
		res, got := o.play(t)
		if batch == 0 && (res.Steps.Updates != 4 || res.Critic.Steps.Updates != 4 || res.Version != 4 || !(res.Critic.Steps.GradNorm > 0)) {
			t.Fatalf("%+v; want 4 steps of both", res)
		}
		earned = got
	}
	if earned < 0.9 {
		t.Errorf("a share of %v earns the reward after 12 batches; %v did at first", earned, mean)
	}
	if s := o.trainer.State(); s.Critic != (CriticState{Version: 48, Steps: 60 + 48}) || s.Steps != 48 {
		t.Errorf("state %+v; want 48 steps of the policy, 108 of the critic", s)
	}
}

// TestValueReachesTheTrunk: the coefficient decides how much of the value loss the shared weights see, from when the head
// says something on.
func TestValueReachesTheTrunk(t *testing.T) {
	prints := map[string]float64{}
	for _, coef := range []float64{1e-12, 0.5, 5} {
		cfg := sharedConfig()
		cfg.Value.Coef = coef
		o := newOneTrunk(t, cfg)
		o.play(t) // a head of zeros passes nothing on
		first := weightsOf(t, o.learner).Fingerprint
		if other, known := prints[first]; len(prints) > 0 && !known {
			t.Errorf("after the first step the trunk of coefficient %g is not that of %g", coef, other)
		}
		prints[first] = coef
		o.play(t)
		second := weightsOf(t, o.learner).Fingerprint
		if other, known := prints[second]; known {
			t.Errorf("coefficients %g and %g lead to one trunk", coef, other)
		}
		prints[second] = coef
	}
}

// TestOneTrunkResumes goes on from a checkpoint as without one, bit for bit.
func TestOneTrunkResumes(t *testing.T) {
	o, fresh := newOneTrunk(t, sharedConfig()), newOneTrunk(t, sharedConfig())
	o.play(t)
	o.play(t)
	dir := filepath.Join(t.TempDir(), "checkpoint")
	if err := o.learner.Save(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.learner.Load(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	fresh.trainer, fresh.played = New(sharedConfig(), Models{Policy: fresh.learner}, o.trainer.State()), o.played
	if err := fresh.generator.Publish(t.Context(), weightsOf(t, fresh.learner)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		o.play(t)
		fresh.play(t)
	}
	if a, b := weightsOf(t, o.learner).Fingerprint, weightsOf(t, fresh.learner).Fingerprint; a != b {
		t.Errorf("fingerprint %q without a checkpoint in between, %q with one", a, b)
	}
	if a, b := o.value(t), fresh.value(t); a != b {
		t.Errorf("value %v without a checkpoint in between, %v with one", a, b)
	}
}
