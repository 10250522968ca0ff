package rollout

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molt/agent"
	"molt/traj"
)

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
