// Every end of a rollout is an outcome:
//
//	terminated                                             Completed
//	truncated, out of turns, chat.ErrBudget                Truncated, with the reward so far
//	an error that is chat.ErrInfrastructure                Infrastructure
//	a reward or score that is not a number                 Grader
//	any other error, a panic                               Harness, or what Failed said
//	a deadline, of a call or of the context                Timeout
//	the context was cancelled                              Cancelled
//
// Only the first two are graded. The others keep their nodes, for people, and have no reward.

package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"molt/chat"
	"molt/traj"
)

// fault is an error whose outcome is known.
type fault struct {
	outcome traj.Outcome
	error
}

func (f fault) Unwrap() error { return f.error }

// Failed is err as an end with an outcome that is not graded: for an environment or agent that knows better than Harness.
func Failed(outcome traj.Outcome, err error) error {
	if outcome.Graded() {
		panic(fmt.Sprintf("agent: %s is not a failure", outcome))
	}
	return fault{outcome, err}
}

// outcomeOf types the end of a rollout.
func outcomeOf(err error) traj.Outcome {
	if err == nil {
		return traj.Completed
	}
	if f, ok := errors.AsType[fault](err); ok {
		return f.outcome
	}
	if errors.Is(err, chat.ErrInfrastructure) {
		return traj.Infrastructure
	}
	return traj.Harness
}

// ofPolicy types an error of the session. An error after the context ended is the context's.
func (e *episode) ofPolicy(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, chat.ErrBudget) && len(e.rewards) == 0:
		return fmt.Errorf("%w before the policy could reply", err)
	case errors.Is(err, chat.ErrBudget):
		return fault{traj.Truncated, err}
	}
	return err
}

// ended says that the rollout's context has.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault{traj.Timeout, errors.New("the rollout's deadline passed")}
	}
	return fault{traj.Cancelled, context.Cause(ctx)}
}

// protect turns a panic into an error.
func protect(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// rollout is what the driver is given.
func (e *episode) rollout(job Job, err error) *traj.Rollout {
	if n := len(e.nodes); outcomeOf(err).Graded() && n < len(e.rewards) {
		err = fmt.Errorf("the session captured %d nodes for %d turns", n, len(e.rewards))
	}
	r := &traj.Rollout{Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Outcome: outcomeOf(err), Nodes: e.nodes, Info: e.last.Info}
	if err != nil {
		e.notes = append([]string{err.Error()}, e.notes...)
	}
	r.Detail = shorten(strings.Join(e.notes, "; "))
	if !r.Outcome.Graded() {
		return r
	}
	for turn, reward := range e.rewards {
		r.Nodes[turn].Reward = reward
	}
	r.Reward = sum(e.rewards)
	r.Score = r.Reward
	if e.last.Score != nil {
		r.Score = *e.last.Score
	}
	return r
}

const maxDetail = 4096 // bytes

// shorten keeps the beginning.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "")
	}
	return s
}
