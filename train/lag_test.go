package train

import (
	"context"
	"testing"

	"molt/traj"
)

// partial is a batch of two rollouts that were sampled while the weights changed: of each, the first token by version 0, the
// second by version 1, the third by version 2.
func partial(t *testing.T) []*traj.Group {
	t.Helper()
	groups := batchOf(t, []float64{1, 0})
	for _, r := range groups[0].Rollouts {
		r.Nodes[0].Version = []traj.Version{0, 1, 2}
	}
	return groups
}

// TestDecayByAgeInsideARollout: a token weighs less by the factor for every version, whatever its neighbours weigh.
func TestDecayByAgeInsideARollout(t *testing.T) {
	cfg := config()
	cfg.Lag.Decay = .5
	res, _ := step(t, cfg, Models{Policy: aged(t, 2)}, State{Version: 2}, partial(t))
	for _, s := range res.Segments {
		near(t, "weight", s.Weight, .25, .5, 1)
	}
}

// TestPartialRolloutsAreScored: its older tokens have no log-probs under the learner yet, so the segment is scored.
func TestPartialRolloutsAreScored(t *testing.T) {
	cfg := config()
	cfg.BatchSize = 1
	groups := partial(t)
	for _, r := range groups[0].Rollouts {
		r.Nodes[0].LogpGen[0] -= .25 // version 0 gave it less
	}
	res, err := New(cfg, Models{Policy: aged(t, 2)}, State{Version: 2}).Step(context.Background(), groups)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Segments {
		if s.LogpOld == nil || s.LogpOld[0] == s.LogpGen[0] || s.exact {
			t.Errorf("LogpOld %v beside LogpGen %v", s.LogpOld, s.LogpGen)
		}
	}
	if k := res.Lags[2].Mismatch.MeanKL1(); !(k < -.2 && k > -.3) {
		t.Errorf("mismatch of the oldest tokens is %v nats; want -0.25", k)
	}
}
