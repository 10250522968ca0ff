// The driver: one goroutine owns the scheduler, does what it says, and tells it what happened.

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"molt/agent"
	"molt/rollout/sched"
	"molt/traj"
)

// Config sets what the driver adds to the scheduler.
type Config struct {
	Sched        sched.Config
	Vocab        int     // ids are 0..Vocab-1; every rollout is checked against it
	SolvedAt     float64 // a rollout of an evaluation is solved when its Score is at least this; more than 0
	MaxAbandoned int     // most goroutines of runners that do not return, before the run stops; 0 or more

	// Retried and Dropped are told about attempts that will be tried again and groups that will not train. They are
	// called from the goroutine of Run and must return soon; nil tells nobody.
	Retried func(*traj.Rollout)
	Dropped func(*traj.Group)
}

// Defaults need a Vocab.
func Defaults() Config {
	return Config{Sched: sched.Defaults(), SolvedAt: 1, MaxAbandoned: 64}
}

// Validate reports everything that is out of range.
func (c *Config) Validate() error {
	errs := []error{c.Sched.Validate()}
	if c.Vocab < 1 {
		errs = append(errs, fmt.Errorf("rollout: Vocab is %d; want the size of the engine's vocabulary", c.Vocab))
	}
	if !(c.SolvedAt > 0) {
		errs = append(errs, fmt.Errorf("rollout: SolvedAt is %v; want more than 0", c.SolvedAt))
	}
	if c.MaxAbandoned < 0 {
		errs = append(errs, fmt.Errorf("rollout: MaxAbandoned is %d; want 0 or more", c.MaxAbandoned))
	}
	return errors.Join(errs...)
}

// Source gives the tasks of training, in an order that its cursor restores. It is called from the goroutine of Run.
type Source interface {
	Next() (agent.Task, error)        // io.EOF when there are no more
	Cursor() (json.RawMessage, error) // where the next task is; whoever resumes the run hands it to a new source
}

var (
	// ErrEnd says that there is no further batch: the run has come to its end.
	ErrEnd = errors.New("no further batch")
	// ErrStopped says that the run was stopped before its end.
	ErrStopped = errors.New("the run was stopped")
)

// Driver runs rollouts. Its methods may be called from any goroutine, one call of each at a time; they wait for Run. A call
// whose ctx ends while it waits stops the run: half a hand-over cannot be undone.
type Driver struct {
	c      Config
	runner agent.Runner
	source Source

	calls  chan func() error // unbuffered; sent by methods, run by Run's goroutine
	ended  chan result       // unbuffered; sent by attempts, received by Run
	gaveUp chan error        // capacity 1: the first caller that gave up is enough to stop the run
	closed chan struct{}     // closed by Run when it returns
	err    error             // why Run returned; read after closed

	// Owned by Run's goroutine.
	sched     *sched.Scheduler
	tasks     map[int64]agent.Task // of groups in flight, by ordinal
	running   map[sched.Key]*attempt
	abandoned int
	begin     time.Time
	stopped   error // why the run is being stopped; nil while it goes on
	next      chan answer[sched.Batch]
	publish   chan answer[struct{}]
	evaluate  chan answer[*Evaluation]
	final     Stats // when Run has returned
}

// New makes a driver for a run whose engine serves the version first. It starts nothing.
func New(c Config, runner agent.Runner, source Source, first traj.Version) (*Driver, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := sched.New(c.Sched, first)
	if err != nil {
		return nil, err
	}
	return newDriver(c, runner, source, s), nil
}

func newDriver(c Config, runner agent.Runner, source Source, s *sched.Scheduler) *Driver {
	return &Driver{
		c: c, runner: runner, source: source, sched: s,
		calls: make(chan func() error), ended: make(chan result), gaveUp: make(chan error, 1), closed: make(chan struct{}),
		tasks: map[int64]agent.Task{}, running: map[sched.Key]*attempt{},
	}
}

// Run does the work until ctx ends, or until a promise is broken: then the error names the rollout. It returns when every
// runner has returned or was abandoned. It is called once.
func (d *Driver) Run(ctx context.Context) error {
	d.begin = time.Now()
	err := d.loop(ctx)
	if err != nil {
		d.giveUpAll()
	}
	d.final = d.stats()
	d.err = err
	if err == nil {
		d.err = d.stopped
	}
	close(d.closed)
	return err
}

func (d *Driver) loop(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	calls, end := d.calls, ctx.Done()
	err := d.apply(nil)
	for err == nil && !(d.stopped != nil && d.sched.Running() == 0) {
		timer.Reset(d.untilWake())
		select {
		case do := <-calls:
			err = do()
		case r := <-d.ended:
			err = d.returned(r)
		case <-timer.C:
			err = d.apply(nil)
		case why := <-d.gaveUp:
			calls, err = nil, d.stop(why)
		case <-end:
			calls, end, err = nil, nil, d.stop(context.Cause(ctx))
		}
	}
	return err
}

// stop cancels what runs. Callers that wait learn of it when Run returns.
func (d *Driver) stop(why error) error {
	if d.stopped != nil {
		return nil
	}
	d.stopped = fmt.Errorf("rollout: %w: %w", ErrStopped, why)
	return d.apply(sched.Halt{Why: d.stopped.Error()})
}

// now is in ms since Run was called.
func (d *Driver) now() int64 { return time.Since(d.begin).Milliseconds() }

// untilWake is how long nothing can happen by itself.
func (d *Driver) untilWake() time.Duration {
	at, ok := d.sched.Wake()
	if !ok {
		return time.Hour
	}
	return time.Duration(at)*time.Millisecond - time.Since(d.begin)
}

// apply tells the scheduler the time and then the event, if any, and does what it says.
func (d *Driver) apply(e sched.Event) error {
	if err := d.applyOne(sched.Tick{Now: d.now()}); err != nil || e == nil {
		return err
	}
	return d.applyOne(e)
}

func (d *Driver) applyOne(e sched.Event) error {
	for e != nil {
		actions, err := d.sched.Apply(e)
		if err != nil {
			return fmt.Errorf("rollout: %w", err)
		}
		e = nil
		for _, a := range actions {
			if draw, ok := a.(sched.Draw); ok { // the last action, if any
				e, err = d.draw(draw.Group)
			} else {
				err = d.do(a)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Driver) draw(group int64) (sched.Event, error) {
	task, err := d.source.Next()
	if errors.Is(err, io.EOF) {
		return sched.EndOfData{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rollout: the task of group %d: %w", group, err)
	}
	d.tasks[group] = task
	return sched.Prompt{ID: task.ID, Source: task.Source}, nil
}

func (d *Driver) do(a sched.Action) error {
	switch a := a.(type) {
	case sched.Start:
		d.start(a.Key)
	case sched.Cancel:
		d.running[a.Key].cancel(cancelled{a.Why})
	case sched.Abandon:
		return d.abandon(a.Key)
	case sched.Retry:
		if d.c.Retried != nil {
			d.c.Retried(a.Rollout)
		}
	case sched.Drop:
		delete(d.tasks, a.Group.ID)
		if d.c.Dropped != nil {
			d.c.Dropped(a.Group)
		}
	case sched.Deliver:
		d.forget(a.Batch.Groups)
		respond(&d.next, a.Batch, nil)
	case sched.End:
		respond(&d.next, sched.Batch{}, d.noBatch(a.Why))
	case sched.Switch:
		respond(&d.publish, struct{}{}, d.stopped)
	case sched.Evaluated:
		d.forget(a.Groups)
		respond(&d.evaluate, newEvaluation(a, d.c.SolvedAt), nil)
	default:
		return fmt.Errorf("rollout: the scheduler wants %T, which nobody can do", a)
	}
	return nil
}

func (d *Driver) noBatch(why string) error {
	if d.stopped != nil {
		return d.stopped
	}
	return fmt.Errorf("rollout: %w: %s", ErrEnd, why)
}

func (d *Driver) forget(groups []*traj.Group) {
	for _, g := range groups {
		delete(d.tasks, g.ID)
	}
}
