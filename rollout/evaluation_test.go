package rollout

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/traj"
)

// scored makes a group of rollouts: a number is the score of a graded one, NaN one that the harness lost.
func scored(source string, scores ...float64) *traj.Group {
	g := &traj.Group{Source: source}
	for i, s := range scores {
		r := &traj.Rollout{Sample: i, Outcome: traj.Completed, Score: s}
		if math.IsNaN(s) {
			r.Outcome, r.Score = traj.Harness, 0
		}
		g.Rollouts = append(g.Rollouts, r)
	}
	return g
}

// TestPassAt: hand-checked values. Of 4 rollouts with 1 solved, 2 drawn ones miss with C(3,2)/C(4,2) = 1/2.
func TestPassAt(t *testing.T) {
	lost := math.NaN()
	for _, tc := range []struct {
		name  string
		e     Evaluation
		k     int
		want  float64
		tasks int
	}{
		{"one of four, k 1", Evaluation{Groups: []*traj.Group{scored("", 1, 0, 0, 0)}}, 1, 0.25, 1},
		{"one of four, k 2", Evaluation{Groups: []*traj.Group{scored("", 0, 0, 1, 0)}}, 2, 0.5, 1},
		{"two of four, k 2", Evaluation{Groups: []*traj.Group{scored("", 1, 0, 1, 0)}}, 2, 5. / 6, 1},
		{"three of four, k 2", Evaluation{Groups: []*traj.Group{scored("", 1, 0, 1, 1)}}, 2, 1, 1},
		{"none, k 4", Evaluation{Groups: []*traj.Group{scored("", 0, 0, 0, 0)}}, 4, 0, 1},
		{"mean over tasks", Evaluation{Groups: []*traj.Group{scored("", 1, 1), scored("", 0, 0), scored("", 1, 0)}}, 1, 0.5, 3},
		{"failures are not scored", Evaluation{Groups: []*traj.Group{scored("", 1, lost, lost, 0)}}, 1, 0.5, 1},
		{"too few graded for k", Evaluation{Groups: []*traj.Group{scored("", 1, lost), scored("", 0, 1)}}, 2, 1, 1},
		{"nothing graded", Evaluation{Groups: []*traj.Group{scored("", lost)}}, 1, 0, 0},
		{"partly right is not solved", Evaluation{Groups: []*traj.Group{scored("", 0.9, 1)}}, 1, 0.5, 1},
	} {
		tc.e.SolvedAt = 1
		if got, tasks := tc.e.PassAt(tc.k); math.Abs(got-tc.want) > 1e-12 || tasks != tc.tasks {
			t.Errorf("%s: %v over %d tasks, want %v over %d", tc.name, got, tasks, tc.want, tc.tasks)
		}
	}
}

func TestScoreAndShares(t *testing.T) {
	lost := math.NaN()
	e := &Evaluation{Groups: []*traj.Group{scored("a", 1, 0.5), scored("b", lost, 0.25), scored("b", lost, lost)}}
	if got, tasks := e.Score(); got != 0.5 || tasks != 2 {
		t.Errorf("score %v over %d tasks, want 0.5 over 2", got, tasks)
	}
	if e.Rollouts() != 6 || e.Failed() != 0.5 || e.Share(traj.Harness) != 0.5 || e.Share(traj.Completed) != 0.5 {
		t.Errorf("%d rollouts, %v failed", e.Rollouts(), e.Failed())
	}
	if got, tasks := e.Of("b").Score(); got != 0.25 || tasks != 1 {
		t.Errorf("score of b %v over %d tasks", got, tasks)
	}
}

// TestEvaluateBesideTraining: an evaluation sees every task n times under the published weights, retries and failures typed;
// training sees the batches it would see without.
func TestEvaluateBesideTraining(t *testing.T) {
	var without []string
	for _, evaluate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, e := config(), &serving{}
			c.Sched.MaxLag = 1
			tasks := []agent.Task{{ID: "x", Source: "held-out"}, {ID: "y", Source: "held-out"}, {ID: "z", Source: "held-out"}}
			d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout {
				time.Sleep(time.Duration(3+job.Sample) * time.Second)
				if job.Eval != (job.Group < 0) || job.Eval && job.Task.ID != tasks[-1-job.Group].ID {
					t.Errorf("job %+v", job)
				}
				switch {
				case job.Task.ID == "y" && job.Sample == 0:
					return failed(job, traj.Grader)
				case job.Task.ID == "z" && job.Attempt == 0:
					return failed(job, traj.Infrastructure)
				}
				return e.completed(job)
			}), &numbers{n: 30}, 0)
			if err != nil {
				t.Fatal(err)
			}
			stop := running(d)
			evaluations := 0
			got := train(t, d, e, 20, func() {
				if !evaluate {
					return
				}
				evaluations++
				ev, err := d.Evaluate(t.Context(), tasks, 2)
				if err != nil {
					t.Fatal(err)
				}
				if ev.Version != e.version || len(ev.Groups) != 3 || ev.Groups[2].Prompt != "z" || ev.Rollouts() != 6 {
					t.Errorf("got %+v", ev)
				}
				// rewards by key: x -1: 1 0, y -2: lost 1, z -3: 1 0
				if pass, n := ev.PassAt(1); pass != 2./3 || n != 3 || ev.Share(traj.Grader) != 1./6 {
					t.Errorf("pass@1 %v over %d tasks, grader %v", pass, n, ev.Share(traj.Grader))
				}
			})
			if evaluate {
				if d := cmp.Diff(without, got); d != "" {
					t.Errorf("(-without +with evaluations)\n%s", d)
				}
				if _, err := d.Evaluate(t.Context(), tasks, 1); err != nil {
					t.Errorf("after the last batch: %v", err)
				}
				s, err := d.Stats(t.Context())
				if err != nil || s.Evaluated != int64(evaluations*6+3) || s.Dispatched != s.Trained+s.Evaluated || s.InFlight != 0 {
					t.Errorf("stats %+v, %v", s, err)
				}
				if _, err := d.Evaluate(t.Context(), nil, 1); err == nil {
					t.Error("an evaluation of nothing passed")
				}
			}
			without = got
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
