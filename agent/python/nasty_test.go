package python

import (
	"strings"
	"testing"
	"time"

	"molt/traj"
)

// Whatever an agent does to its process, the rollout has an outcome when its deadline has passed at the latest, and the pool
// goes on with the next.
func TestBadGuests(t *testing.T) {
	for _, test := range []struct {
		label   string
		outcome traj.Outcome
		detail  string // contains
		printed string // contains
	}{
		{"behaves", traj.Completed, "", ""},
		{"never returns from reset", traj.Timeout, "Reset did not return within 5s", ""},
		{"leaves a thread", traj.Completed, "", ""},
		{"raises in a thread", traj.Completed, "", "ZeroDivisionError"},
		{"writes where answers go", traj.Harness, `it wrote "noise" where its answers go`, ""},
		{"prints", traj.Completed, "", "to sys.stdout\nto fd 1\nto sys.__stdout__\nfrom a child\n"},
		{"reads", traj.Completed, "", ""},
		{"forks", traj.Completed, "", ""},
		{"forks and stays", traj.Completed, "", ""},
		{"exits", traj.Harness, "SystemExit: 3 (nasty.py:", ""},
		{"exits at once", traj.Harness, "the python process ended: exit status 3", ""},
		{"is killed", traj.Harness, "killed", ""},
		{"leaves children", traj.Completed, "", ""},
		{"floods", traj.Completed, "", "xxxx"},
		{"floods without end", traj.Timeout, "Step of turn 0 did not return within 2s", "xxxx"},
		{"answers at length", traj.Harness, "an answer of it has more than 67108864 bytes", ""},
		{"recurses", traj.Harness, "RecursionError", ""},
		{"closes everything", traj.Harness, "the python process ended", ""},
		{"exhausts memory", traj.Harness, "MemoryError", ""},
	} {
		t.Run(test.label, func(t *testing.T) {
			t.Parallel()
			pool, _, log := open(t, "nasty.py", func(c *Config) { c.Processes = 1 })
			step := time.Minute // for what ends by itself
			if test.outcome == traj.Timeout {
				step = 2 * time.Second
			}
			r, _ := playWithin(t, step, pool, test.label, "go", "on")
			if r.Outcome.Graded() && r.Reward != 1 {
				t.Errorf("reward %v", r.Reward)
			}
			if r.Outcome != test.outcome || !strings.Contains(r.Detail, test.detail) {
				t.Errorf("%s: %.600s; want %s with %q", r.Outcome, r.Detail, test.outcome, test.detail)
			}
			if r, _ := play(t, pool, "behaves", "go"); r.Outcome != traj.Completed {
				t.Errorf("the next: %s: %.600s", r.Outcome, r.Detail)
			}
			if err := pool.Close(); err != nil { // then everything that was printed has been read
				t.Error(err)
			}
			if got := log.String(); !strings.Contains(got, test.printed) {
				t.Errorf("printed %.300q; want %q", got, test.printed)
			}
		})
	}
}

// TestEndedBeforeItIsOver: a process that is killed, or whose calls nobody answers, is given no rollout, though it may still be there.
func TestEndedBeforeItIsOver(t *testing.T) {
	for why, end := range map[string]func(*process){
		"killed":   func(p *process) { p.killed = "a call in it did not end" },
		"answered": func(p *process) { p.fail() },
	} {
		p := &process{over: make(chan struct{}), calls: map[uint64]chan answer{}}
		if p.ended() {
			t.Fatal("it has ended before it did")
		}
		if end(p); !p.ended() {
			t.Errorf("%s: it goes on", why)
		}
	}
}
