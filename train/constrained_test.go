package train

import (
	"testing"

	"molt/engine/enginetest"
	"molt/traj"
)

// TestConstrainedTurnsHaveNoGradient: of a rollout with a free and a constrained turn the free one trains alone; one whose
// turns were all constrained is only compared with.
func TestConstrainedTurnsHaveNoGradient(t *testing.T) {
	for _, turns := range []bool{false, true} {
		cfg := config()
		if cfg.Advantage.Turns = turns; turns {
			cfg.Advantage.TurnGamma = 0.5
		}
		mixed, whole := twoTurns(t, 0, 0, 1), twoTurns(t, 1, 0, 0)
		mixed.Nodes[0].Constrained = true
		whole.Nodes[0].Constrained, whole.Nodes[1].Constrained = true, true
		res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, []*traj.Group{{Rollouts: []*traj.Rollout{mixed, whole}}})
		if len(res.Segments) != 1 || res.Actions != len(mixed.Nodes[1].Sampled) || len(res.Segments[0].Gradient) != res.Actions {
			t.Fatalf("turns %v: %d segments, %d action tokens", turns, len(res.Segments), res.Actions)
		}
		near(t, "advantage", res.Segments[0].Advantage, 0.5, 0.5, 0.5)
		for i, g := range res.Segments[0].Gradient {
			if !(g < 0) {
				t.Errorf("turns %v: gradient %v of token %d", turns, g, i)
			}
		}
	}
}
