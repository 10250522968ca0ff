package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molt/chat"
	"molt/traj"
)

func TestWithoutAnEnvironment(t *testing.T) {
	unused := func() Env { panic("an environment without a session") }
	scripted := func(Job) (Policy, error) { return NewScripted("a"), nil }
	failing := func(err error) Opener { return func(Job) (Policy, error) { return nil, err } }
	tests := []struct {
		name   string
		runner EnvRunner
		want   traj.Outcome
		detail string
	}{
		{"a config of zeros", EnvRunner{Config{}, unused, scripted}, traj.Harness, "agent: Turns is 0; want 1 or more\nagent: Reset is 0s"},
		{"no session", EnvRunner{Defaults(), unused, failing(errOfEnv)}, traj.Harness, "opening the session: no such file"},
		{"no engine", EnvRunner{Defaults(), unused, failing(chat.ErrInfrastructure)}, traj.Infrastructure, "opening the session"},
		{"a nil session", EnvRunner{Defaults(), newWorldEnv, failing(nil)}, traj.Harness, "panic"},
		{"a nil environment", EnvRunner{Defaults(), func() Env { return nil }, scripted}, traj.Harness, "Reset: panic: New returned no environment"},
		{"New panics", EnvRunner{Defaults(), unused, scripted}, traj.Harness, "Reset: panic: an environment without a session"},
		{"no New", EnvRunner{Defaults(), nil, scripted}, traj.Harness, "Reset: panic"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.runner.Run(t.Context(), Job{Group: 3, Sample: 2, Attempt: 1})
			checkRollout(t, got, traj.Rollout{Outcome: test.want}, nil, test.detail)
		})
	}
}

func newWorldEnv() Env { return newWorld() }

// What happens when a call does not return.
func TestDeadlines(t *testing.T) {
	type calls struct{ reset, step, close, obeys bool } // which call hangs, and whether it ends with its context
	tests := []struct {
		name   string
		hangs  calls
		limit  func(context.Context) (context.Context, context.CancelFunc)
		want   traj.Outcome
		detail string
		after  time.Duration
	}{
		{"Reset", calls{reset: true}, nil, traj.Timeout, "Reset did not return within 1m0s; the environment was left behind", 65 * time.Second},
		{"Step", calls{step: true}, nil, traj.Timeout, "Step of turn 1 did not return within 1m0s; the environment was left behind", 65 * time.Second},
		{"Step that obeys", calls{step: true, obeys: true}, nil, traj.Timeout, "Step of turn 1 did not return within 1m0s", time.Minute},
		{"Close", calls{close: true}, nil, traj.Truncated, "the environment was left behind: it was not closed within 5s", 5 * time.Second},
		{"Step, rollout cancelled", calls{step: true}, cancelAfter(time.Second), traj.Cancelled, "the user left", 6 * time.Second},
		{"Step that obeys, rollout cancelled", calls{step: true, obeys: true}, cancelAfter(time.Second), traj.Cancelled, "the user left", time.Second},
		{"Reset that obeys, rollout out of time", calls{reset: true, obeys: true}, timeoutAfter(2 * time.Second), traj.Timeout, "the rollout's deadline passed", 2 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				hang := func(ctx context.Context) error {
					if !test.hangs.obeys {
						ctx = context.WithoutCancel(ctx)
					}
					select {
					case <-release:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				w := newWorld()
				if test.hangs.reset {
					w.reset = func(ctx context.Context, _ Task) (Start, error) { return Start{}, hang(ctx) }
				}
				if test.hangs.step {
					w.step = func(ctx context.Context, a Action) (Result, error) {
						if a.Turn == 1 {
							return Result{}, hang(ctx)
						}
						return goOn(1), nil
					}
				}
				if test.hangs.close {
					w.close = func() error { return hang(t.Context()) }
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if test.limit != nil {
					ctx, cancel = test.limit(ctx)
				}
				defer cancel()

				begin := time.Now()
				got := runnerOf(w, &session{Scripted: NewScripted("a", "b", "c", "d")}).Run(ctx, Job{})
				if got.Outcome != test.want || !strings.HasPrefix(got.Detail, test.detail) && !strings.HasSuffix(got.Detail, test.detail) {
					t.Errorf("outcome %s, %q; want %s, %q", got.Outcome, got.Detail, test.want, test.detail)
				}
				if took := time.Since(begin); took != test.after {
					t.Errorf("it took %v; want %v", took, test.after)
				}
				if err := got.Validate(ScriptedEnd+1, 0); err != nil {
					t.Error(err)
				}
				close(release)
				synctest.Wait()
				if n := w.closed.Load(); n != 1 {
					t.Errorf("the environment was closed %d times", n)
				}
			})
		})
	}
}

func cancelAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(d, func() { cancel(errors.New("the user left")) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
}

func timeoutAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

// Whatever a call says in the moment of cancellation, the cancellation is what happened. Two things that happen at once are
// seen in either order, so each case runs often.
func TestCancelled(t *testing.T) {
	unused := func() Env {
		t.Error("an environment was made for a rollout that was cancelled before")
		return newWorld()
	}
	tests := []struct {
		name  string
		set   func(cancel func(), w *world, s *session, r *EnvRunner)
		nodes int
	}{
		{"before", func(cancel func(), _ *world, _ *session, r *EnvRunner) { r.New = unused; cancel() }, 0},
		{"in Reset", func(cancel func(), w *world, _ *session, _ *EnvRunner) {
			w.reset = func(ctx context.Context, _ Task) (Start, error) { cancel(); return Start{}, ctx.Err() }
		}, 0},
		{"in Step, which goes on", func(cancel func(), w *world, _ *session, _ *EnvRunner) {
			w.step = at(1, func() (Result, error) { cancel(); return goOn(1), nil })
		}, 2},
		{"in Step, which fails", func(cancel func(), w *world, _ *session, _ *EnvRunner) {
			w.step = at(1, func() (Result, error) { cancel(); return Result{}, errOfEnv })
		}, 2},
		{"in a turn", func(cancel func(), _ *world, s *session, _ *EnvRunner) {
			s.turn = func(turn int) (chat.Reply, error) {
				if turn < 1 {
					return chat.Reply{}, nil
				}
				cancel()
				return chat.Reply{}, chat.ErrInfrastructure
			}
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 100 {
				ctx, cancel := context.WithCancelCause(t.Context())
				w, s := newWorld(), &session{Scripted: NewScripted("a", "b", "c")}
				runner := runnerOf(w, s)
				test.set(func() { cancel(errors.New("the user left")) }, w, s, runner)
				got := runner.Run(ctx, Job{})
				if got.Outcome != traj.Cancelled || got.Detail != "the user left" || len(got.Nodes) != test.nodes || got.Reward != 0 {
					t.Fatalf("%+v", got)
				}
			}
		})
	}
}
