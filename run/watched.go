// An engine that fails for good. What may be tried again, the engine says so; anything else would fail again, in every rollout,
// and look like bad luck.

package run

import (
	"context"
	"errors"

	"molt/engine"
	"molt/run/problem"
)

// watched is a generator whose first failure for good ends the work that it is for.
type watched struct {
	engine.Generator
	where string // of the work, for people
	end   context.CancelCauseFunc
}

// Generate implements engine.Generator. After a failure for good it returns when the work has ended.
func (w watched) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := w.Generator.Generate(ctx, r, emit)
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrTooLong) {
		w.end(&problem.Problem{
			Code: problem.Alarm, Where: w.where, What: "the engine cannot sample", Why: err.Error(), Err: err,
			Fix: "if the weights have diverged, start again from an earlier checkpoint or model, with a lower learning rate",
		})
		<-ctx.Done() // the work ends, and with it this rollout: nothing is tried again
	}
	return reply, err
}

// brokenEngine is why ctx was ended by a watched generator; nil when it was not.
func brokenEngine(ctx context.Context) error {
	if p, ok := errors.AsType[*problem.Problem](context.Cause(ctx)); ok && p.Code == problem.Alarm {
		return p
	}
	return nil
}

// either ends with the first of two contexts, for its reason.
func either(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { forget(); cancel(nil) }
}
