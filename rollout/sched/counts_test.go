package sched

import (
	"strings"
	"testing"

	"molt/traj"
)

// TestBooksBalanceAtEveryHandOver: a rollout that was lost is found when the next ones leave, by whichever way.
func TestBooksBalanceAtEveryHandOver(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		then   Event
	}{
		"a batch":       {"data a\ntick 0\ndone 0/0, 0/1 reward=1", Take{}},
		"the end":       {"tick 0", Take{}},
		"an evaluation": {"tick 0\nevaluate n=1 x", Done{&traj.Rollout{Group: -1, Outcome: traj.Harness, Detail: "lost"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			if out := w.play("config n=2 batch=1\n" + c.before); strings.Contains(out, "error") {
				t.Fatal(out)
			}
			w.s.counts.Dispatched++
			if _, err := w.s.Apply(c.then); err == nil || !strings.Contains(err.Error(), "rollouts dispatched, but") {
				t.Errorf("got %v; want the rollouts counted", err)
			}
		})
	}
}
