// What training asks of the driver. Each call runs a function in Run's goroutine and waits for the answer.

package rollout

import (
	"context"
	"fmt"

	"molt/agent"
	"molt/rollout/sched"
	"molt/traj"
)

// answer is what a caller waits for. Its channel has room for one, so that Run never waits for a caller.
type answer[T any] struct {
	value T
	err   error
}

// respond answers the caller that waits in slot, if any.
func respond[T any](slot *chan answer[T], value T, err error) {
	if *slot != nil {
		*slot <- answer[T]{value, err}
		*slot = nil
	}
}

// ask has Run's goroutine call do with a channel to answer on, and waits for the answer.
func ask[T any](ctx context.Context, d *Driver, do func(reply chan answer[T]) error) (T, error) {
	var none T
	reply := make(chan answer[T], 1)
	select {
	case d.calls <- func() error { return do(reply) }:
	case <-d.closed:
		return none, d.err
	case <-ctx.Done():
		return none, fmt.Errorf("rollout: %w", context.Cause(ctx))
	}
	select {
	case a := <-reply:
		return a.value, a.err
	case <-d.closed:
		select { // it may have been answered just before
		case a := <-reply:
			return a.value, a.err
		default:
			return none, d.err
		}
	case <-ctx.Done():
		d.giveUp(context.Cause(ctx))
		return none, fmt.Errorf("rollout: %w", context.Cause(ctx))
	}
}

func (d *Driver) giveUp(why error) {
	select {
	case d.gaveUp <- why:
	default: // another caller was first
	}
}

// Next waits for the next batch. At the end of the run the error is ErrEnd and says why.
func (d *Driver) Next(ctx context.Context) (sched.Batch, error) {
	return ask(ctx, d, func(reply chan answer[sched.Batch]) error {
		d.next = reply
		return d.apply(sched.Take{})
	})
}

// Publish makes v, which training made from the last batch, the weights of every rollout that starts after it returns. It
// waits until no rollout is in flight that the old weights must finish, and calls serve, which makes the engine serve
// v. An error of serve stops the run.
func (d *Driver) Publish(ctx context.Context, v traj.Version, serve func(context.Context) error) error {
	_, err := ask(ctx, d, func(reply chan answer[struct{}]) error {
		d.publish = reply
		return d.apply(sched.Publish{Version: v})
	})
	if err != nil {
		return err
	}
	if err := serve(ctx); err != nil {
		err = fmt.Errorf("rollout: serving version %d: %w", v, err)
		d.giveUp(err)
		return err
	}
	_, err = ask(ctx, d, func(reply chan answer[struct{}]) error {
		reply <- answer[struct{}]{}
		return d.apply(sched.Published{})
	})
	return err
}

// Evaluate runs each task n times under the weights that serve, beside training, and waits for the result. The tasks are not
// changed. It runs also after the last batch.
func (d *Driver) Evaluate(ctx context.Context, tasks []agent.Task, n int) (*Evaluation, error) {
	return ask(ctx, d, func(reply chan answer[*Evaluation]) error {
		if len(tasks) == 0 || n < 1 {
			reply <- answer[*Evaluation]{err: fmt.Errorf("rollout: an evaluation of %d tasks, %d samples each; want 1 or more of both", len(tasks), n)}
			return nil
		}
		e := sched.Evaluate{Samples: n}
		for i, task := range tasks {
			d.tasks[int64(-1-i)] = task
			e.Prompts = append(e.Prompts, sched.Prompt{ID: task.ID, Source: task.Source})
		}
		d.evaluate = reply
		return d.apply(e)
	})
}

// Stats are numbers about everything dispatched so far.
type Stats struct {
	sched.Counts
	InFlight  int64 // dispatched and at no end yet
	Running   int   // runners at work
	Abandoned int   // runners that were given up and have not returned: each holds a goroutine
}

func (d *Driver) stats() Stats {
	return Stats{Counts: d.sched.Counts(), InFlight: d.sched.InFlight(), Running: len(d.running), Abandoned: d.abandoned}
}

// Stats gives the numbers of now, or of the end when the run has ended.
func (d *Driver) Stats(ctx context.Context) (Stats, error) {
	s, err := ask(ctx, d, func(reply chan answer[Stats]) error {
		reply <- answer[Stats]{value: d.stats()}
		return nil
	})
	select {
	case <-d.closed:
		return d.final, nil
	default:
		return s, err
	}
}
