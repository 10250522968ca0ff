package train

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"molt/algo"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

// TestFanOut is the golden case of one reward per rollout: A earned 1 in two segments, B earned 0.5 in one. The baseline
// is the mean of two rollouts, 0.75, not of three segments.
func TestFanOut(t *testing.T) {
	groups := batchOf(t, []float64{1, 0.5})
	fork(t, groups[0].Rollouts[0])
	res, err := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{}).Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range res.Segments {
		got = append(got, fmt.Sprintf("sample %d leaf %d %v", s.Layout.Rollout.Sample, s.Layout.Leaf, s.Advantage))
	}
	want := "sample 0 leaf 0 [0.25 0.25 0.25]; sample 0 leaf 1 [0.25 0.25 0.25]; sample 1 leaf 0 [-0.25 -0.25 -0.25]"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, "; "), want)
	}
	if res.Rewards.Mean != 0.75 || res.Rewards.Rollouts != 2 {
		t.Errorf("mean reward %v over %d rollouts; want 0.75 over 2", res.Rewards.Mean, res.Rewards.Rollouts)
	}
}

// TestStepRaisesWhatWasRewarded: after a step the rewarded rollout is more probable and the other less.
func TestStepRaisesWhatWasRewarded(t *testing.T) {
	groups := batchOf(t, []float64{1, 0})
	learner := enginetest.NewToy(toy)
	trainer := New(config(), Models{Policy: learner}, State{})
	res, err := trainer.Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := res.Segments[0], res.Segments[1]
	for _, s := range res.Segments {
		for i, g := range s.Gradient {
			if want := -s.Advantage[i] / 6; math.Abs(float64(g-want)) > 1e-7 { // ratio 1, six action tokens
				t.Errorf("gradient %v of a token with advantage %v; want %v", g, s.Advantage[i], want)
			}
		}
	}
	if before, after := sum(good.LogpNew), sum(score(t, learner, good)); after <= before {
		t.Errorf("the rewarded rollout went from %v to %v nats", before, after)
	}
	if before, after := sum(bad.LogpNew), sum(score(t, learner, bad)); after >= before {
		t.Errorf("the other rollout went from %v to %v nats", before, after)
	}
	if s := trainer.State(); s.Steps != 1 || s.Version != 1 || s.Batches != 1 || res.Version != 1 {
		t.Errorf("state %+v, result version %d; want one step", s, res.Version)
	}
}

func score(t *testing.T, l engine.Learner, s *Segment) []float32 {
	t.Helper()
	pass, err := l.Forward(context.Background(), pack([]*Segment{s}, 64)[0].batch, engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	defer pass.Release()
	return append([]float32(nil), pass.Logp()...)
}

// TestCuttingChangesNothing: however a batch is cut into micro-batches, the same weights come out.
func TestCuttingChangesNothing(t *testing.T) {
	var want string
	for _, micro := range []int{5, 10, 15, 64} {
		cfg := config()
		cfg.MicroTokens = micro
		learner := enginetest.NewToy(toy)
		if _, err := New(cfg, Models{Policy: learner}, State{}).Step(context.Background(), batchOf(t, []float64{1, 0, 0}, []float64{0, 1, 1})); err != nil {
			t.Fatal(err)
		}
		w, err := learner.Weights(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = w.Fingerprint
		}
		if w.Fingerprint != want {
			t.Errorf("micro-batches of %d tokens give other weights", micro)
		}
	}
}

// TestMiniBatches: rollouts are dealt out in order, the last step takes what is left, and the later steps compare with the
// log-probs of the start.
func TestMiniBatches(t *testing.T) {
	cfg := config()
	cfg.BatchSize, cfg.MaxEpochs = 2, 2
	trainer := New(cfg, Models{Policy: enginetest.NewToy(toy)}, State{})
	res, err := trainer.Step(context.Background(), batchOf(t, []float64{1, 0, 0.5, 0.2, 0.3}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Steps.Updates != 6 || trainer.State().Version != 6 {
		t.Errorf("%d updates, version %d; want 3 mini-batches twice", res.Steps.Updates, trainer.State().Version)
	}
	for _, s := range res.Segments {
		for i := range s.LogpOld {
			if s.LogpOld[i] != s.LogpGen[i] {
				t.Fatalf("LogpOld %v of an exact token; the generator said %v", s.LogpOld[i], s.LogpGen[i])
			}
		}
	}
	if res.Loss.RatioMax <= 1 {
		t.Errorf("largest ratio %v; later steps should see moved weights", res.Loss.RatioMax)
	}
}

// TestStaleTokensAreScored: tokens of an older version get LogpOld from a pass of the learner, not from the generator.
func TestStaleTokensAreScored(t *testing.T) {
	groups := batchOf(t, []float64{1, 0})
	cfg := config()
	cfg.BatchSize = 1
	learner := aged(t, 1)
	for _, r := range groups[0].Rollouts {
		for i := range r.Nodes[0].LogpGen {
			r.Nodes[0].LogpGen[i] -= 0.1 // an older policy gave them less
		}
	}
	res, err := New(cfg, Models{Policy: learner}, State{Version: 1}).Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	if k := res.Mismatch.MeanKL1(); math.Abs(k+0.1) > 1e-6 {
		t.Errorf("mismatch KL %v; want -0.1, the shift of every token", k)
	}
}

func TestDisagreeingEnginesStopTheRun(t *testing.T) {
	groups := batchOf(t, []float64{1, 0})
	logp := &groups[0].Rollouts[1].Nodes[0].LogpGen[2]
	*logp = math.Nextafter32(*logp, -1)
	_, err := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{}).Step(context.Background(), groups)
	if err == nil || !strings.Contains(err.Error(), "group 0 sample 1 action token 2") || !strings.Contains(err.Error(), "do not serve the same policy") {
		t.Errorf("got %v; want the token named", err)
	}
}

// TestFlatGroupsAskForNothing: equal rewards give no gradient, so no step is taken and the weights stay.
func TestFlatGroupsAskForNothing(t *testing.T) {
	learner := enginetest.NewToy(toy)
	trainer := New(config(), Models{Policy: learner}, State{})
	res, err := trainer.Step(context.Background(), batchOf(t, []float64{1, 1}, []float64{0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Idle != 1 || res.Steps.Updates != 0 || res.Version != 0 {
		t.Errorf("idle %d, updates %d, version %d; want nothing to happen", res.Idle, res.Steps.Updates, res.Version)
	}
}

// TestFlatGroupsStayInTheDenominator: a flat group beside another one halves the other's gradient.
func TestFlatGroupsStayInTheDenominator(t *testing.T) {
	res, err := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{}).Step(context.Background(), batchOf(t, []float64{1, 0}, []float64{1, 1}))
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Segments[0].Gradient[0]; math.Abs(float64(got)+0.5/12) > 1e-7 {
		t.Errorf("gradient %v; want -0.5/12", got)
	}
}

func TestFailedRolloutsDoNotTrain(t *testing.T) {
	groups := batchOf(t, []float64{1, 0, 0})
	failed := groups[0].Rollouts[2]
	failed.Outcome, failed.Reward, failed.Score = traj.Infrastructure, 0, 0
	res, err := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{}).Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Segments) != 2 || res.Segments[0].Advantage[0] != 0.5 {
		t.Errorf("%d segments, first advantage %v; want a baseline of two rollouts", len(res.Segments), res.Segments[0].Advantage[0])
	}
	for _, r := range groups[0].Rollouts {
		r.Outcome = traj.Timeout
	}
	if _, err := New(config(), Models{Policy: enginetest.NewToy(toy)}, State{}).Step(context.Background(), groups); err == nil {
		t.Error("a batch without a graded rollout trained")
	}
}

// TestReferenceHoldsBack: with a KL loss against the starting weights, a second step is pulled back.
func TestReferenceHoldsBack(t *testing.T) {
	cfg := config()
	cfg.KL = algo.KLConfig{Estimator: "k2", Coef: 10, AsLoss: true, Horizon: 100, Target: 0.01}
	trainer := New(cfg, Models{Policy: enginetest.NewToy(toy), Reference: enginetest.NewToy(toy)}, State{KL: 10})
	first, err := trainer.Step(context.Background(), batchOf(t, []float64{1, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if first.Reference.Mean() != 0 {
		t.Errorf("KL %v to equal weights", first.Reference.Mean())
	}
	if got := trainer.State().KL; math.Abs(got-10*(1-0.2*2/100.)) > 1e-12 {
		t.Errorf("KL coefficient %v; the controller lowers it by 0.4 %%", got)
	}
}
