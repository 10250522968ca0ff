package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molt/agent"
	"molt/rollout/sched"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runner is an agent.Runner made of a function.
type runner func(ctx context.Context, job agent.Job) *traj.Rollout

func (f runner) Run(ctx context.Context, job agent.Job) *traj.Rollout { return f(ctx, job) }

// numbers is a Source of the tasks 0 to n-1.
type numbers struct{ at, n int }

func (s *numbers) Next() (agent.Task, error) {
	if s.at == s.n {
		return agent.Task{}, io.EOF
	}
	s.at++
	return agent.Task{ID: fmt.Sprint("task", s.at-1), Source: "numbers"}, nil
}

func (s *numbers) Cursor() (json.RawMessage, error) { return json.Marshal(s.at) }

// serving is the engine: it knows one version at a time.
type serving struct{ version traj.Version }

// completed is a rollout of one turn by the version that serves, with a reward that its key decides.
func (e *serving) completed(job agent.Job) *traj.Rollout {
	reward := float64((job.Group + int64(job.Sample)) & 1)
	return &traj.Rollout{
		Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Outcome: traj.Completed, Reward: reward, Score: reward,
		Nodes: []traj.Node{{
			Parent: -1, Observation: []int32{1, 2}, Sampled: []int32{3, 4}, LogpGen: []float32{-0.5, -0.25},
			Version: []traj.Version{e.version, e.version}, Temperature: 1, Finish: traj.FinishStop, Reward: reward,
		}},
	}
}

func failed(job agent.Job, o traj.Outcome) *traj.Rollout {
	return &traj.Rollout{Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Outcome: o, Detail: "made to fail"}
}

func config() Config {
	c := Defaults()
	c.Vocab = 10
	c.Sched.GroupSize, c.Sched.BatchGroups, c.Sched.Capacity = 2, 3, 4
	c.Sched.Limits.Time, c.Sched.Limits.Grace, c.Sched.Limits.RetryDelay = 60_000, 5_000, 1_000
	return c
}

// running starts Run and returns a function that stops it and gives its error.
func running(d *Driver) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// train plays training for at most n batches and returns a line for each. every is called after each Publish.
func train(t *testing.T, d *Driver, e *serving, n int, every func()) []string {
	t.Helper()
	var lines []string
	for range n {
		b, err := d.Next(t.Context())
		if errors.Is(err, ErrEnd) {
			return append(lines, err.Error())
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, batchLine(b))
		time.Sleep(time.Minute) // a step of training
		if err := publish(t, d, e, e.version+2); err != nil {
			t.Fatal(err)
		}
		if every != nil {
			every()
		}
	}
	return lines
}

func publish(t *testing.T, d *Driver, e *serving, v traj.Version) error {
	return d.Publish(t.Context(), v, func(context.Context) error {
		e.version = v
		return nil
	})
}

func batchLine(b sched.Batch) string {
	line := fmt.Sprintf("batch %d version %d lag %d:", b.Index, b.Version, b.Lag)
	for _, g := range b.Groups {
		line += fmt.Sprintf(" %d(%s)", g.ID, g.Prompt)
		for _, r := range g.Rollouts {
			line += fmt.Sprintf(" %v", r.Reward)
		}
	}
	return line
}

// TestSameBatchesAtAnySpeed: in both modes training sees the same batches, however long rollouts take and whether a
// tenth of the attempts fails.
func TestSameBatchesAtAnySpeed(t *testing.T) {
	for lag, want := range [][]string{{
		"batch 0 version 0 lag 0: 0(task0) 0 1 1(task1) 1 0 2(task2) 0 1",
		"batch 1 version 2 lag 0: 3(task3) 1 0 4(task4) 0 1 5(task5) 1 0",
		"batch 2 version 4 lag 0: 6(task6) 0 1 7(task7) 1 0",
		"rollout: no further batch: the prompts are used up",
	}, {
		"batch 0 version 0 lag 0: 0(task0) 0 1 1(task1) 1 0 2(task2) 0 1",
		"batch 1 version 0 lag 2: 3(task3) 1 0 4(task4) 0 1 5(task5) 1 0",
		"batch 2 version 2 lag 2: 6(task6) 0 1 7(task7) 1 0",
		"rollout: no further batch: the prompts are used up",
	}} {
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				c, e := config(), &serving{}
				c.Sched.MaxLag = lag
				retried := 0
				c.Retried = func(*traj.Rollout) { retried++ }
				d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
					dice := rand.New(rand.NewPCG(seed, uint64(job.Group<<8|int64(job.Sample<<4|job.Attempt))))
					time.Sleep(time.Duration(dice.IntN(50_000)) * time.Millisecond)
					if job.Attempt < 2 && dice.IntN(10) == 0 {
						return failed(job, traj.Infrastructure)
					}
					return e.completed(job)
				}), &numbers{n: 8}, 0)
				if err != nil {
					t.Fatal(err)
				}
				stop := running(d)
				if d := cmp.Diff(want, train(t, d, e, 10, nil)); d != "" {
					t.Errorf("lag %d seed %d (-want +got)\n%s", lag, seed, d)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				s, err := d.Stats(t.Context())
				if err != nil || s.Dispatched != 16 || s.Trained != 16 || s.Retried != int64(retried) || s.InFlight != 0 || s.Running != 0 || s.Abandoned != 0 {
					t.Errorf("stats %+v, %v", s, err)
				}
			})
		}
	}
}

// TestResumeIsExact: a run that is stopped in the middle of any batch and restored from the JSON of its last step sees the
// batches that an uninterrupted one sees.
func TestResumeIsExact(t *testing.T) {
	const batches = 5
	for lag := range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := config()
			c.Sched.MaxLag, c.Sched.Batches = lag, batches
			c.Sched.Filter = func(g *traj.Group) string {
				if g.ID%4 == 1 {
					return "every fourth"
				}
				return ""
			}
			slow := func(e *serving) runner {
				return func(ctx context.Context, job agent.Job) *traj.Rollout {
					select {
					case <-time.After(time.Duration(7*job.Group%5+3*int64(job.Sample)) * 15 * time.Second):
						return e.completed(job)
					case <-ctx.Done():
						return failed(job, traj.Cancelled)
					}
				}
			}
			e := &serving{}
			d, err := New(c, slow(e), &numbers{n: 100}, 0)
			if err != nil {
				t.Fatal(err)
			}
			stop := running(d)
			want := train(t, d, e, batches, nil)
			if err := stop(); err != nil {
				t.Fatal(err)
			}

			e = &serving{}
			var got []string
			var saved []byte
			d, err = New(c, slow(e), &numbers{n: 100}, 0)
			for range batches {
				if err != nil {
					t.Fatal(err)
				}
				stop := running(d)
				got = append(got, train(t, d, e, 1, func() {
					time.Sleep(20 * time.Second) // into the middle of the next batch
					snap, err := d.Snapshot(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if saved, err = json.Marshal(snap); err != nil {
						t.Fatal(err)
					}
				})...)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				var snap Snapshot
				if err := json.Unmarshal(saved, &snap); err != nil {
					t.Fatal(err)
				}
				source := &numbers{n: 100}
				if err := json.Unmarshal(snap.Cursor, &source.at); err != nil {
					t.Fatal(err)
				}
				d, err = Restore(c, slow(e), source, snap)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("lag %d (-uninterrupted +resumed)\n%s", lag, d)
			}
		})
	}
}

func TestRestoreNeedsTheTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &serving{}
		d, err := New(config(), runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
			<-ctx.Done()
			return failed(job, traj.Cancelled)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		snap, err := d.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(snap.Tasks) != 2 || snap.Tasks[1].Task.ID != "task1" {
			t.Fatalf("tasks %+v", snap.Tasks)
		}
		run := runner(func(_ context.Context, job agent.Job) *traj.Rollout { return e.completed(job) })
		lacking := snap
		lacking.Tasks = snap.Tasks[:1]
		if _, err := Restore(config(), run, &numbers{}, lacking); err == nil || !strings.Contains(err.Error(), "group 1 has no task") {
			t.Errorf("got %v", err)
		}
		more := snap
		more.Tasks = append(snap.Tasks, GroupTask{Group: 7})
		if _, err := Restore(config(), run, &numbers{}, more); err == nil || !strings.Contains(err.Error(), "2 groups in flight, tasks of [0 1 7]") {
			t.Errorf("got %v", err)
		}
	})
}

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

// TestStop: when Run's context ends, every runner is told, Run waits for all of them, and every caller gets ErrStopped.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alive, told atomic.Int32
		d, err := New(config(), runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
			alive.Add(1)
			<-ctx.Done()
			if context.Cause(ctx).Error() == "rollout: cancelled: cancelled" {
				told.Add(1)
			}
			time.Sleep(time.Second) // cleaning up
			alive.Add(-1)
			return failed(job, traj.Cancelled)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		errs := make(chan error, 2)
		go func() {
			_, err := d.Next(t.Context())
			errs <- err
		}()
		go func() {
			_, err := d.Evaluate(t.Context(), []agent.Task{{ID: "x"}}, 1)
			errs <- err
		}()
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if alive.Load() != 0 || told.Load() != 4 {
			t.Errorf("%d runners alive after Run, %d were told", alive.Load(), told.Load())
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrStopped) || !errors.Is(err, context.Canceled) {
				t.Errorf("a caller got %v", err)
			}
		}
		if _, err := d.Snapshot(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("a snapshot after the end: %v", err)
		}
	})
}

// TestGivingUpStopsTheRun: a caller that does not wait for its batch ends the run, in order.
func TestGivingUpStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(config(), runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
			<-ctx.Done()
			return failed(job, traj.Cancelled)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- d.Run(t.Context()) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := d.Next(t.Context()); !errors.Is(err, ErrStopped) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestServingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &serving{}
		d, err := New(config(), runner(func(_ context.Context, job agent.Job) *traj.Rollout { return e.completed(job) }), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- d.Run(t.Context()) }()
		if _, err := d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("no space")
		err = d.Publish(t.Context(), 1, func(context.Context) error { return broken })
		if !errors.Is(err, broken) || err.Error() != "rollout: serving version 1: no space" {
			t.Errorf("got %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := d.Next(t.Context()); !errors.Is(err, ErrStopped) || !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPublishWaits: one step ahead, new weights are served only when the batch in the making is made.
func TestPublishWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.MaxLag = 1
		var busy atomic.Int32
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			busy.Add(1)
			defer busy.Add(-1)
			time.Sleep(2 * time.Second)
			return e.completed(job)
		}), &numbers{n: 99}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		for v := range traj.Version(4) {
			if _, err := d.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.Publish(t.Context(), v+1, func(context.Context) error {
				if synctest.Wait(); busy.Load() != 0 {
					t.Errorf("%d rollouts in flight while version %d comes", busy.Load(), v+1)
				}
				e.version = v + 1
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := config(), &serving{}
		c.Sched.Capacity = 2
		d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
			time.Sleep(time.Second)
			return e.completed(job)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		if err := d.Drain(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		want := []string{"batch 0 version 0 lag 0: 0(task0) 0 1", "rollout: no further batch: enough"}
		if d := cmp.Diff(want, train(t, d, e, 9, nil)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

type brokenSource struct{ numbers }

func (brokenSource) Next() (agent.Task, error) { return agent.Task{}, errors.New("disk gone") }

func TestSourceFails(t *testing.T) {
	d, err := New(config(), runner(nil), &brokenSource{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || err.Error() != "rollout: the task of group 0: disk gone" {
		t.Errorf("got %v", err)
	}
}

func TestConfigReportsEverythingWrong(t *testing.T) {
	_, err := New(Config{MaxAbandoned: -1}, nil, nil, 0)
	for _, want := range []string{"sched: GroupSize is 0", "rollout: Vocab is 0", "rollout: SolvedAt is 0", "rollout: MaxAbandoned is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
