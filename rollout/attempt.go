// One attempt at one rollout: a goroutine that runs the agent, and the check of what it brings.

package rollout

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/rollout/sched"
	"molt/traj"
)

// attempt is a runner at work.
type attempt struct {
	key    sched.Key
	cancel context.CancelCauseFunc
}

// result is what an attempt brought. err is a broken promise, which stops the run.
type result struct {
	*attempt
	rollout *traj.Rollout
	err     error
}

// cancelled is the cause of an attempt's context when the scheduler ended it.
type cancelled struct{ why traj.Outcome }

func (c cancelled) Error() string { return "rollout: cancelled: " + string(c.why) }

// start runs an attempt in a goroutine. Run waits for it, or abandons it. Its context ends when the scheduler says so, and not
// with Run's: that is one of the scheduler's decisions.
func (d *Driver) start(k sched.Key) {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &attempt{key: k, cancel: cancel}
	d.running[k] = a
	job := agent.Job{Group: k.Group, Sample: k.Sample, Attempt: k.Attempt, Task: d.tasks[k.Group].Clone(), Eval: k.Eval()}
	serving := d.sched.Serving()
	go func() {
		defer cancel(nil)
		r := d.runJob(ctx, job)
		res := result{attempt: a, rollout: r, err: vouch(r, job, d.c.Vocab, serving)}
		select {
		case d.ended <- res:
		case <-d.closed:
		}
	}()
}

// runJob runs the agent. A panic, or no rollout at all, is a failure of the harness.
func (d *Driver) runJob(ctx context.Context, job agent.Job) (r *traj.Rollout) {
	defer func() {
		if p := recover(); p != nil {
			r = harness(job, fmt.Sprintf("the runner panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	if r = d.runner.Run(ctx, job); r == nil {
		return harness(job, "the runner returned no rollout")
	}
	if name, ok := badInfo(r); ok {
		return harness(job, fmt.Sprintf("info %q is %v, not a finite number", name, r.Info[name]))
	}
	return r
}

const maxDetail = 4096 // bytes

func harness(job agent.Job, detail string) *traj.Rollout {
	detail = strings.ToValidUTF8(detail[:min(len(detail), maxDetail)], "")
	return &traj.Rollout{Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Outcome: traj.Harness, Detail: detail}
}

// badInfo names the first number of Info that no metric and no JSON can hold.
func badInfo(r *traj.Rollout) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(r.Info)) {
		if v := r.Info[name]; math.IsNaN(v) || math.IsInf(v, 0) {
			return name, true
		}
	}
	return "", false
}

// vouch checks what every rollout must be before anyone trains on it, or believes its score.
func vouch(r *traj.Rollout, job agent.Job, vocab int, serving traj.Version) error {
	if r.Group != job.Group || r.Sample != job.Sample || r.Attempt != job.Attempt {
		return fmt.Errorf("rollout: the runner of group %d sample %d attempt %d returned group %d sample %d attempt %d",
			job.Group, job.Sample, job.Attempt, r.Group, r.Sample, r.Attempt)
	}
	if err := r.Validate(vocab, serving); err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	if job.Eval || !r.Outcome.Graded() {
		return nil
	}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Temperature == 0 && !n.Constrained && len(n.Sampled) > 0 {
			return fmt.Errorf("rollout: group %d sample %d node %d was sampled greedily; a greedy turn cannot train", r.Group, r.Sample, i)
		}
	}
	if err := traj.TrainedOnce(r, r.Segments()); err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	return nil
}

// returned tells the scheduler about an attempt's end. A runner that was abandoned, be it just now, comes too late to count.
func (d *Driver) returned(r result) error {
	if err := d.apply(nil); err != nil {
		return err
	}
	if d.running[r.key] != r.attempt {
		d.abandoned--
		return nil
	}
	delete(d.running, r.key)
	if r.err != nil {
		return r.err
	}
	return d.applyOne(sched.Done{Rollout: r.rollout})
}

func (d *Driver) abandon(k sched.Key) error {
	delete(d.running, k)
	if d.abandoned++; d.abandoned > d.c.MaxAbandoned && d.stopped == nil {
		return fmt.Errorf("rollout: %d runners have not returned %d ms after they were cancelled: the agent must end with its context",
			d.abandoned, d.c.Sched.Limits.Grace)
	}
	return nil
}

// giveUpAll cancels every attempt after a broken promise, when the scheduler cannot be asked any more, and waits as long as
// the grace period.
func (d *Driver) giveUpAll() {
	for _, a := range d.running {
		a.cancel(cancelled{traj.Cancelled})
	}
	grace := time.NewTimer(time.Duration(d.c.Sched.Limits.Grace) * time.Millisecond)
	defer grace.Stop()
	for len(d.running) > 0 {
		select {
		case r := <-d.ended:
			if d.running[r.key] == r.attempt {
				delete(d.running, r.key)
			} else {
				d.abandoned--
			}
		case <-grace.C:
			d.abandoned += len(d.running)
			return
		}
	}
}
