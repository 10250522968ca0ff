package rollout

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/traj"
)

// TestTimeout: an attempt that goes on too long is cancelled through its context, counts as a timeout whatever it returns,
// and is tried again.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.BatchGroups, c.Sched.GroupSize = 1, 1
		var retried []string
		c.Retried = func(r *traj.Rollout) {
			retried = append(retried, fmt.Sprintf("%s %v: %s", r.Outcome, r.Reward, r.Detail))
		}
		d, err := New(c, runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
			if job.Attempt == 0 {
				<-ctx.Done()
				retried = append(retried, context.Cause(ctx).Error())
				r := e.completed(job)
				r.Reward = 1
				return r
			}
			return e.completed(job)
		}), &numbers{n: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		begin := time.Now()
		if b, err := d.Next(t.Context()); err != nil || b.Groups[0].Rollouts[0].Attempt != 1 {
			t.Errorf("got %+v, %v", b, err)
		}
		if got := time.Since(begin); got != 61*time.Second {
			t.Errorf("the second attempt came after %v, want 60 s and a delay of 1 s", got)
		}
		want := []string{"rollout: cancelled: timeout", "timeout 0: not done within 60000 ms"}
		if d := cmp.Diff(want, retried); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestDeafRunner: a runner that ignores its context is abandoned and counted; the run goes on, and stops without it.
func TestDeafRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.BatchGroups = 1
		var dropped []*traj.Group
		c.Dropped = func(g *traj.Group) { dropped = append(dropped, g) }
		release := make(chan struct{})
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			if job.Group == 0 && job.Sample == 1 || job.Group == 2 {
				<-release
			}
			return e.completed(job)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		if got := train(t, d, e, 1, nil); got[0] != "batch 0 version 0 lag 0: 1(task1) 1 0" {
			t.Errorf("got %q", got)
		}
		if s, err := d.Stats(t.Context()); err != nil || s.Abandoned != 1 || s.Outcomes[traj.Harness] != 1 || s.Share(traj.Harness) != 0.25 {
			t.Errorf("stats %+v, %v", s, err)
		}
		if r := dropped[0].Rollouts[1]; r.Outcome != traj.Harness || r.Detail != "the runner did not return within 5000 ms of being cancelled" {
			t.Errorf("got %s: %s", r.Outcome, r.Detail)
		}
		begin := time.Now()
		if err := stop(); err != nil { // group 2 is running, and deaf
			t.Error(err)
		}
		if got := time.Since(begin); got != 5*time.Second {
			t.Errorf("stopping took %v, want the grace period of 5 s", got)
		}
		if s, err := d.Stats(t.Context()); err != nil || s.Abandoned != 3 || s.InFlight != 0 {
			t.Errorf("stats %+v, %v", s, err)
		}
		close(release) // the abandoned goroutines end; the bubble checks that
	})
}

// TestLateReturn: an abandoned runner that returns after all is not counted twice.
func TestLateReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.BatchGroups, c.Sched.GroupSize = 1, 1
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			if job.Group == 0 {
				time.Sleep(2 * time.Minute)
			}
			return e.completed(job)
		}), &numbers{n: 2}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		if got := train(t, d, e, 3, nil); len(got) != 2 {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Hour)
		if s, err := d.Stats(t.Context()); err != nil || s.Abandoned != 0 || s.Dropped["harness"] != 1 || s.Trained != 1 {
			t.Errorf("stats %+v, %v", s, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestReturnAtTheDeadline: a runner may return at the very moment at which it would be cancelled, or abandoned.
func TestReturnAtTheDeadline(t *testing.T) {
	for _, after := range []time.Duration{60 * time.Second, 65 * time.Second} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				c, e := config(), &serving{}
				c.Sched.Limits.Attempts, c.Sched.MinGraded = 1, 1
				d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
					if job.Sample == 0 {
						time.Sleep(after)
					}
					return e.completed(job)
				}), &numbers{n: 6}, 0)
				if err != nil {
					t.Fatal(err)
				}
				stop := running(d)
				if got := train(t, d, e, 9, nil); len(got) != 3 {
					t.Errorf("got %q", got)
				}
				time.Sleep(time.Hour)
				s, err := d.Stats(t.Context())
				if lost := s.Dropped["timeout"] + s.Dropped["harness"]; err != nil || s.Trained+lost != 12 || s.Trained < 6 || s.Abandoned != 0 {
					t.Errorf("stats %+v, %v", s, err)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestTooManyDeafRunners: goroutines must not pile up for ever.
func TestTooManyDeafRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxAbandoned = 5
		release := make(chan struct{})
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			<-release
			return failed(job, traj.Cancelled)
		}), &numbers{n: 99}, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := "rollout: 6 runners have not returned 5000 ms after they were cancelled: the agent must end with its context"
		if err := d.Run(t.Context()); err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

// TestBrokenPromises: what nobody may train on stops the run, with a sentence that names the rollout.
func TestBrokenPromises(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(*traj.Rollout)
		want   string
	}{
		{"another rollout's key", func(r *traj.Rollout) { r.Sample++ }, "rollout: the runner of group 0 sample 0 attempt 0 returned group 0 sample 1 attempt 0"},
		{"a token without log-prob", func(r *traj.Rollout) { r.Nodes[0].LogpGen = nil }, "rollout: traj: group 0 sample 0 node 0: 2 sampled ids with 0 log-probs"},
		{"an unknown id", func(r *traj.Rollout) { r.Nodes[0].Sampled[1] = 10 }, "group 0 sample 0 node 0: sampled id 10 at 1 is outside the vocabulary of 10"},
		{"a version from the future", func(r *traj.Rollout) { r.Nodes[0].Version[0] = 6 }, "group 0 sample 0 node 0: version 6 of sampled token 0; the newest is 5"},
		{"a stale token", func(r *traj.Rollout) { r.Nodes[0].Version[1] = 4 }, "sched: group 0 sample 0 node 0: token 1 was sampled by version 4 while version 5 served"},
		{"a reward that is no number", func(r *traj.Rollout) { r.Reward = math.NaN() }, "group 0 sample 0: reward NaN is not a number"},
		{"a failure with a reward", func(r *traj.Rollout) { r.Outcome, r.Reward = traj.Grader, 1 }, "group 0 sample 0: outcome grader carries reward 1"},
		{"a greedy turn", func(r *traj.Rollout) { r.Nodes[0].Temperature = 0 }, "rollout: group 0 sample 0 node 0 was sampled greedily; a greedy turn cannot train"},
		{"an unknown outcome", func(r *traj.Rollout) { r.Outcome, r.Reward, r.Score = "fine", 0, 0 }, `group 0 sample 0: unknown outcome "fine"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &serving{version: 5}
				d, err := New(config(), runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
					if job.Group == 0 && job.Sample == 0 {
						r := e.completed(job)
						tc.damage(r)
						return r
					}
					<-ctx.Done()
					return failed(job, traj.Cancelled)
				}), &numbers{n: 9}, 5)
				if err != nil {
					t.Fatal(err)
				}
				err = d.Run(t.Context())
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got  %v\nwant %s", err, tc.want)
				}
				if _, again := d.Next(t.Context()); again == nil || again.Error() != err.Error() {
					t.Errorf("Next says %v, Run said %v", again, err)
				}
			})
		})
	}
}

// TestHarnessFailures: what the agent's own code does wrong is typed, and costs its group and nothing else.
func TestHarnessFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.GroupSize, c.Sched.BatchGroups = 1, 1
		var details []string
		c.Dropped = func(g *traj.Group) {
			detail, _, _ := strings.Cut(g.Rollouts[0].Detail, "\n")
			details = append(details, fmt.Sprintf("%s: %s", g.Rollouts[0].Outcome, detail))
		}
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			r := e.completed(job)
			switch job.Group {
			case 0:
				panic("no such tool")
			case 1:
				return nil
			case 2:
				r.Info = map[string]float64{"b": 1, "a": math.Inf(1)}
			}
			return r
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		if b, err := d.Next(t.Context()); err != nil || b.Groups[0].ID != 3 {
			t.Errorf("got %+v, %v", b, err)
		}
		want := []string{
			"harness: the runner panicked: no such tool",
			"harness: the runner returned no rollout",
			`harness: info "a" is +Inf, not a finite number`,
		}
		if d := cmp.Diff(want, details); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
