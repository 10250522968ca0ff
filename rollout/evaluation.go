// What an evaluation says about the weights: counted per rollout, failures shown and not scored.

package rollout

import (
	"molt/algo"
	"molt/rollout/sched"
	"molt/traj"
)

// Evaluation is the result of running held-out tasks.
type Evaluation struct {
	Version  traj.Version  // of the weights
	Groups   []*traj.Group // one for each task, in order of the tasks
	SolvedAt float64       // a graded rollout with at least this Score is solved
}

func newEvaluation(a sched.Evaluated, solvedAt float64) *Evaluation {
	return &Evaluation{Version: a.Version, Groups: a.Groups, SolvedAt: solvedAt}
}

// Rollouts counts all rollouts, whatever became of them.
func (e *Evaluation) Rollouts() int {
	n := 0
	for _, g := range e.Groups {
		n += len(g.Rollouts)
	}
	return n
}

// Share is the part of the rollouts that ended with this outcome, 0 to 1.
func (e *Evaluation) Share(o traj.Outcome) float64 {
	n := 0
	for _, g := range e.Groups {
		for _, r := range g.Rollouts {
			if r.Outcome == o {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, e.Rollouts()))
}

// Failed is the part of the rollouts that could not be graded, 0 to 1. They are in no mean.
func (e *Evaluation) Failed() float64 {
	failed := 0.0
	for _, o := range traj.Outcomes {
		if !o.Graded() {
			failed += e.Share(o)
		}
	}
	return failed
}

// Score is the mean over tasks of the mean Score of a task's graded rollouts. Tasks without one are left out; tasks says
// how many are in.
func (e *Evaluation) Score() (mean float64, tasks int) {
	return e.mean(1, func(graded []*traj.Rollout) float64 {
		sum := 0.0
		for _, r := range graded {
			sum += r.Score
		}
		return sum / float64(len(graded))
	})
}

// PassAt is the mean over tasks of the probability that at least one of k rollouts solves the task (algo.PassAtK). Tasks with
// fewer than k graded rollouts are left out; tasks says how many are in.
func (e *Evaluation) PassAt(k int) (mean float64, tasks int) {
	return e.mean(k, func(graded []*traj.Rollout) float64 {
		solved := 0
		for _, r := range graded {
			if r.Score >= e.SolvedAt {
				solved++
			}
		}
		return algo.PassAtK(len(graded), solved, k)
	})
}

// mean averages f over the tasks with at least k graded rollouts.
func (e *Evaluation) mean(k int, f func(graded []*traj.Rollout) float64) (mean float64, tasks int) {
	sum := 0.0
	for _, g := range e.Groups {
		if graded := g.Graded(); len(graded) >= max(1, k) {
			sum += f(graded)
			tasks++
		}
	}
	return sum / float64(max(1, tasks)), tasks
}

// Of is the part of the evaluation that belongs to one prompt set.
func (e *Evaluation) Of(source string) *Evaluation {
	part := &Evaluation{Version: e.Version, SolvedAt: e.SolvedAt}
	for _, g := range e.Groups {
		if g.Source == source {
			part.Groups = append(part.Groups, g)
		}
	}
	return part
}
