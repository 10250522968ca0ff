package train

import (
	"encoding/json"
	"math"
	"testing"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

// TestGAE: λ 1 compares what was earned with what the critic foresaw; λ 0 compares each value with the next one.
func TestGAE(t *testing.T) {
	for _, lambda := range []float64{1, 0} {
		cfg := withCritic()
		cfg.Advantage.Lambda = lambda
		critic := enginetest.NewToy(toy)
		value := append([]float32(nil), weightsOf(t, critic).Tensors[1].Data...) // the step changes the critic's own
		res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy), Critic: critic}, State{}, batchOf(t, []float64{1, 0}))
		s := res.Segments[0]
		var v []float64
		for _, at := range s.score {
			v = append(v, float64(value[s.Layout.Tokens[at-1]]))
		}
		near(t, "values", s.ValueOld, v...)
		if lambda == 1 {
			near(t, "advantage", s.Advantage, 1-v[0], 1-v[1], 1-v[2])
			near(t, "return", s.Return, 1)
		} else {
			near(t, "advantage", s.Advantage, v[1]-v[0], v[2]-v[1], 1-v[2])
			near(t, "return", s.Return, v[1], v[2], 1)
		}
	}
}

// bandit plays a game in which the first sampled id earns 1 if it is 3.
type bandit struct {
	generator *enginetest.Script
	trainer   *Trainer
	models    Models
	played    int64
}

func newBandit(cfg Config, state State) *bandit {
	m := Models{Policy: enginetest.NewToy(toy), Critic: enginetest.NewToy(toy)}
	return &bandit{generator: enginetest.NewScript(toy), models: m, trainer: New(cfg, m, state)}
}

// play trains on n rollouts.
func (b *bandit) play(t *testing.T, n int) *Result {
	t.Helper()
	g := &traj.Group{ID: b.played}
	for i := range n {
		sampled := tokens(t, b.generator, []int32{1, 2}, g.ID, i, 1)
		r := &traj.Rollout{Group: g.ID, Sample: i, Outcome: traj.Completed, Nodes: []traj.Node{turn(-1, []int32{1, 2}, sampled)}}
		if sampled[0].ID == 3 {
			r.Reward = 1
		}
		g.Rollouts = append(g.Rollouts, r)
	}
	b.played++
	res, err := b.trainer.Step(t.Context(), []*traj.Group{g})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.generator.Publish(t.Context(), weightsOf(t, b.models.Policy)); err != nil {
		t.Fatal(err)
	}
	return res
}

// success is the chance of the rewarded id.
func (b *bandit) success(t *testing.T) float64 {
	table := wide(weightsOf(t, b.models.Policy).Tensors[0].Data)
	return math.Exp(logps(table, 2)[3])
}

// TestCriticLearnsWhatAPolicyEarns: while the policy is frozen its weights stay, and the critic's value of the prompt
// becomes the chance of success.
func TestCriticLearnsWhatAPolicyEarns(t *testing.T) {
	cfg := withCritic()
	cfg.Critic.Warmup = 20
	b := newBandit(cfg, State{})
	before := weightsOf(t, b.models.Policy).Fingerprint
	if started := weightsOf(t, b.models.Critic).Tensors[1].Data[2]; math.Abs(float64(started)-b.success(t)) < 0.05 {
		t.Fatalf("the value is %v from the start", started)
	}
	for range 20 {
		if res := b.play(t, 256); !res.Frozen || res.Steps != (Steps{}) || res.Critic.Steps.Updates != 1 || res.Version != 0 {
			t.Fatalf("%+v after %d batches; want the critic alone to learn", res, b.played)
		}
	}
	if weightsOf(t, b.models.Policy).Fingerprint != before {
		t.Error("the frozen policy moved")
	}
	value, want := float64(weightsOf(t, b.models.Critic).Tensors[1].Data[2]), b.success(t)
	if math.Abs(value-want) > 0.02 {
		t.Errorf("value %v of a prompt that earns %v on average", value, want)
	}
	last := b.play(t, 256)
	if last.Frozen || last.Steps.Updates != 1 || weightsOf(t, b.models.Policy).Fingerprint == before {
		t.Error("the policy does not move after the warm-up")
	}
	if s := b.trainer.State(); s.Batches != 21 || s.Steps != 1 || s.Critic != (CriticState{Version: 21, Steps: 21}) {
		t.Errorf("state %+v", s)
	}
}

// TestCriticExplains: where the first of two tokens decides, a learned critic knows at the second what the rollout earns.
func TestCriticExplains(t *testing.T) {
	cfg := withCritic()
	cfg.Critic.Warmup = 30
	cfg.Critic.LR = func(int64) float64 { return 3 }
	trainer := New(cfg, Models{Policy: enginetest.NewToy(toy), Critic: enginetest.NewToy(toy)}, State{})
	explained := make([]float64, 30)
	for batch := range explained {
		g := &traj.Group{ID: int64(batch)}
		for i := range 64 {
			sampled := tokens(t, enginetest.NewScript(toy), []int32{1, 2}, g.ID, i, 2)
			r := &traj.Rollout{Group: g.ID, Sample: i, Outcome: traj.Completed, Nodes: []traj.Node{turn(-1, []int32{1, 2}, sampled)}}
			if sampled[0].ID == 3 {
				r.Reward = 1
			}
			g.Rollouts = append(g.Rollouts, r)
		}
		res, err := trainer.Step(t.Context(), []*traj.Group{g})
		if err != nil {
			t.Fatal(err)
		}
		explained[batch] = res.Critic.Foresaw.Explained()
	}
	if first, last := explained[0], explained[29]; !(first < 0 && last > 0.4) { // nothing can be known at the first token
		t.Errorf("explained variance went from %v to %v", first, last)
	}
}

// TestPPO: policy and critic together solve the bandit.
func TestPPO(t *testing.T) {
	cfg := withCritic()
	cfg.Advantage.NoWhiten, cfg.BatchSize, cfg.MaxEpochs, cfg.Critic.MaxEpochs = false, 32, 2, 2
	b := newBandit(cfg, State{})
	before := b.success(t)
	for batch := range 20 {
		res := b.play(t, 64)
		if batch == 0 && (res.Steps.Updates != 4 || res.Critic.Steps.Updates != 4) {
			t.Fatalf("%+v and %+v; want two updates of 32 rollouts twice", res.Steps, res.Critic.Steps)
		}
	}
	if after := b.success(t); !(before < 0.3 && after > 0.9) {
		t.Errorf("success went from %v to %v", before, after)
	}
}

// TestResumeWithCritic: policy, critic and state are everything that training from here depends on.
func TestResumeWithCritic(t *testing.T) {
	cfg := withCritic()
	cfg.Advantage.NoWhiten, cfg.Reward.Normalise, cfg.Critic.Warmup = false, "running", 1
	whole := newBandit(cfg, State{})
	whole.play(t, 16)
	whole.play(t, 16)

	policy, critic := t.TempDir(), t.TempDir()
	state, err := json.Marshal(whole.trainer.State())
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.models.Critic.Save(t.Context(), critic, nil); err != nil {
		t.Fatal(err)
	}
	if err := whole.models.Policy.Save(t.Context(), policy, state); err != nil {
		t.Fatal(err)
	}
	resumed := newBandit(cfg, State{})
	if _, err := resumed.models.Critic.Load(t.Context(), critic); err != nil {
		t.Fatal(err)
	}
	raw, err := resumed.models.Policy.Load(t.Context(), policy)
	if err != nil {
		t.Fatal(err)
	}
	var from State
	if err := json.Unmarshal(raw, &from); err != nil {
		t.Fatal(err)
	}
	resumed.trainer, resumed.played = New(cfg, resumed.models, from), 2
	if err := resumed.generator.Publish(t.Context(), weightsOf(t, resumed.models.Policy)); err != nil {
		t.Fatal(err)
	}

	for range 3 {
		whole.play(t, 16)
		resumed.play(t, 16)
	}
	for name, pair := range map[string][2]engine.Learner{
		"policy": {whole.models.Policy, resumed.models.Policy}, "critic": {whole.models.Critic, resumed.models.Critic},
	} {
		if weightsOf(t, pair[0]).Fingerprint != weightsOf(t, pair[1]).Fingerprint {
			t.Errorf("the resumed %s has other weights", name)
		}
	}
	if whole.trainer.State() != resumed.trainer.State() {
		t.Errorf("state %+v; want %+v", resumed.trainer.State(), whole.trainer.State())
	}
}
