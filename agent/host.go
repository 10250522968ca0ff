// A host keeps one environment in a goroutine of its own, so that a call which does not return can be left behind.

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"molt/chat"
	"molt/traj"
)

type host struct {
	create func() Env
	env    Env               // owned by the goroutine; nil until the first call created it
	calls  chan func() error // unbuffered; sent by do, one at a time; closed by end
	done   chan error        // capacity 1: nobody waits any more for a call that missed its deadline
	closed chan error        // capacity 1: nor, perhaps, for Close
}

// newHost starts the goroutine. end waits for it, or leaves it behind.
func newHost(create func() Env) *host {
	h := &host{create: create, calls: make(chan func() error), done: make(chan error, 1), closed: make(chan error, 1)}
	go h.serve()
	return h
}

// serve makes the calls in order, then closes the environment.
func (h *host) serve() {
	for call := range h.calls {
		h.done <- call()
	}
	var err error
	if h.env != nil {
		err = protect(h.env.Close)
	}
	h.closed <- err
}

// do makes one call. After an error of outcome Timeout or Cancelled it may still be running, and no other may follow.
func do[T any](ctx context.Context, h *host, what string, limit time.Duration, call func(context.Context, Env) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ended(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var answer T // of the goroutine's until done says so
	h.calls <- func() error {
		return protect(func() (err error) {
			answer, err = call(limited, h.open())
			return err
		})
	}
	select {
	case err := <-h.done:
		switch {
		case err == nil:
			return answer, nil
		case limited.Err() == nil:
			return none, ofEnv(what, err)
		}
	case <-limited.Done():
	}
	if ctx.Err() != nil {
		return none, ended(ctx)
	}
	return none, fault{traj.Timeout, fmt.Errorf("%s did not return within %v", what, limit)}
}

// open creates the environment before the first call. It runs in the goroutine.
func (h *host) open() Env {
	if h.env == nil {
		h.env = h.create()
	}
	if h.env == nil {
		panic("New returned no environment")
	}
	return h.env
}

// ofEnv types an error of the environment, for which a used-up budget means nothing. What Failed said stays.
func ofEnv(what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if _, typed := errors.AsType[fault](err); typed || errors.Is(err, chat.ErrInfrastructure) {
		return err
	}
	return fault{traj.Harness, err}
}

// end closes the environment, after the call that may still be running, and waits for that no longer than limit.
func (h *host) end(limit time.Duration) error {
	close(h.calls)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-h.closed:
		if err != nil {
			return fmt.Errorf("closing the environment: %w", err)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("the environment was left behind: it was not closed within %v", limit)
	}
}
