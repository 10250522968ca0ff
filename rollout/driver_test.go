package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
