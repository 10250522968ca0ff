// The driver of the queue: a goroutine for each rollout that has begun, and what they left.

package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"molt/agent"
	"molt/internal/chained"
	"molt/run/doors"
	"molt/run/service/queue"
	"molt/traj"
)

// rollouts runs what clients submit.
type rollouts struct {
	agents *agents
	shelf  shelf
	base   context.Context // of all rollouts; ended by close
	cancel context.CancelCauseFunc
	ended  sync.WaitGroup // rollouts

	mu    sync.Mutex // guards what follows
	queue *queue.Queue
	tasks map[string]*task
	byNum map[int64]*task
}

// task is what one client asked for.
type task struct {
	id     string
	number int64 // in the queue
	order  *order
	agent  *doors.Agent // nil for a task of an earlier server
	born   time.Time
	file   *chained.File // nil keeps nothing
	cut    int           // rollouts that ended with their server

	// Guarded by rollouts.mu.
	results []*traj.Rollout // by sample; nil until it ended
	running map[int]*running
	changed chan struct{} // closed and replaced when something did
}

// running is a rollout that has begun.
type running struct {
	cancel context.CancelCauseFunc
	letIn  chan struct{} // closed when the rollout has the place that it waits for
}

var (
	errCancelled = errors.New("it was cancelled")
	errEnds      = errors.New("the service ends")
	errShelf     = errors.New("the task cannot be kept")
)

func newRollouts(c queue.Config, a *agents, s shelf) *rollouts {
	r := &rollouts{agents: a, shelf: s, queue: queue.New(c), tasks: map[string]*task{}, byNum: map[int64]*task{}}
	r.base, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// adopt takes over the tasks of an earlier server, which are kept for as long as they would have been.
func (r *rollouts) adopt(tasks []restored, life time.Duration) {
	for _, t := range tasks {
		bytes := int64(0)
		for _, result := range t.results {
			bytes += bytesOf(result)
		}
		r.queue.Adopt(t.number, t.order.N, bytes, t.ended+int64(life.Seconds()), t.cancelled)
		r.tasks[t.id], r.byNum[t.number] = t.task, t.task
	}
}

func newTask(id string, o *order) *task {
	return &task{id: id, order: o, results: make([]*traj.Rollout, o.N), running: map[int]*running{}, changed: make(chan struct{})}
}

// submit admits an order.
func (r *rollouts) submit(o *order) (*task, error) {
	a, err := r.agents.get(r.base, o)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base.Err() != nil {
		return nil, context.Cause(r.base)
	}
	if err := r.queue.Admits(o.N, o.bytes()); err != nil {
		return nil, err
	}
	t := newTask(rand.Text()[:16], o)
	t.number, t.agent, t.born = r.queue.Next(), a, time.Now()
	if t.file, err = r.shelf.begin(t); err != nil {
		return nil, fmt.Errorf("%w: %w", errShelf, err)
	}
	_, actions, err := r.queue.Submit(o.N, o.bytes())
	if err != nil {
		return nil, errors.Join(err, t.file.Remove())
	}
	r.tasks[t.id], r.byNum[t.number] = t, t
	r.follow(actions)
	return t, nil
}

// follow does what the queue says. The caller holds mu.
func (r *rollouts) follow(actions []queue.Action) {
	for _, a := range actions {
		t := r.byNum[a.Key.Task]
		switch a.Do {
		case queue.Start:
			ctx, cancel := context.WithCancelCause(r.base)
			run := &running{cancel: cancel}
			t.running[a.Key.Sample] = run
			r.ended.Go(func() { r.play(ctx, t, a.Key, run) })
		case queue.LetIn:
			close(t.running[a.Key.Sample].letIn)
		case queue.Stop:
			t.running[a.Key.Sample].cancel(errCancelled)
		case queue.Drop:
			dropped := &traj.Rollout{Group: t.order.group(t), Sample: a.Key.Sample, Outcome: traj.Cancelled, Detail: errCancelled.Error()}
			t.results[a.Key.Sample] = dropped
			t.file.Write(shelved{At: time.Now().Unix(), Result: dropped}, false)
		case queue.Forget:
			delete(r.tasks, t.id)
			delete(r.byNum, t.number)
			_ = t.file.Remove() // a file that stays is forgotten by the next server
		}
		t.touch()
	}
}

// touch wakes those who watch. The caller holds mu.
func (t *task) touch() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// play is one rollout from its first place to its end.
func (r *rollouts) play(ctx context.Context, t *task, k queue.Key, run *running) {
	defer run.cancel(nil)
	limited, cancel := context.WithTimeout(ctx, t.order.time())
	defer cancel()
	job := agent.Job{Group: t.order.group(t), Sample: k.Sample, Task: t.order.task(t), Enter: func(ctx context.Context, s agent.Stage) error {
		return r.enter(ctx, k, run, s)
	}}
	rollout := t.agent.Limited(doors.Limits{Turns: t.order.Limits.Turns, Tokens: t.order.Limits.Tokens}).Run(limited, job)
	if rollout.Outcome != traj.Cancelled || r.base.Err() == nil { // what ends with the server, the next one says so
		t.file.Write(shelved{At: time.Now().Unix(), Result: rollout}, true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.results[k.Sample] = rollout
	delete(t.running, k.Sample)
	r.follow(r.queue.End(time.Now().Unix(), k, bytesOf(rollout)))
	t.touch()
}

var stages = map[agent.Stage]queue.Stage{agent.SetUp: queue.SetUp, agent.Play: queue.Run, agent.Grade: queue.Grade}

// enter implements agent.Enter.
func (r *rollouts) enter(ctx context.Context, k queue.Key, run *running, s agent.Stage) error {
	letIn := make(chan struct{})
	if err := r.want(k, run, letIn, s); err != nil {
		return err
	}
	select {
	case <-letIn:
		return ctx.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// want joins the line for a stage's places.
func (r *rollouts) want(k queue.Key, run *running, letIn chan struct{}, s agent.Stage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := run.letIn
	run.letIn = letIn
	actions, err := r.queue.Enter(k, stages[s])
	if err != nil {
		run.letIn = before
		return fmt.Errorf("service: %w", err)
	}
	r.follow(actions)
	r.byNum[k.Task].touch()
	return nil
}

// bytesOf is what a rollout takes up, about.
func bytesOf(r *traj.Rollout) int64 {
	images := 0
	for _, p := range picturesOf(r) {
		images += len(p.Data)
	}
	return int64(perRollout + len(r.Detail) + r.Tokens()*4 + r.Sampled()*12 + images)
}

const (
	perRollout = 8 << 10 // bytes beside the tokens: detail, info, nodes
	perToken   = 16      // bytes: an id, its log-prob, its version
)

// find returns a task and forgets what has expired.
func (r *rollouts) find(id string) (*task, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(r.queue.Tick(time.Now().Unix()))
	t, ok := r.tasks[id]
	return t, ok
}

// stop cancels a task.
func (r *rollouts) stop(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q, ok := r.queue.State(t.number); !ok || q.Open == 0 {
		return
	}
	t.file.Write(shelved{At: time.Now().Unix(), Cancelled: true}, true)
	r.follow(r.queue.Cancel(time.Now().Unix(), t.number))
}

// remove forgets a task that has ended.
func (r *rollouts) remove(t *task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	actions, ok := r.queue.Remove(t.number)
	r.follow(actions)
	return ok
}

// run forgets what expires, until ctx ends.
func (r *rollouts) run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.cancel(errEnds)
			return
		case <-r.base.Done():
			return
		case now := <-tick.C:
			r.mu.Lock()
			r.follow(r.queue.Tick(now.Unix()))
			r.mu.Unlock()
		}
	}
}

// close ends every rollout and every agent.
func (r *rollouts) close() error {
	r.mu.Lock()
	r.cancel(errEnds)
	r.mu.Unlock()
	r.ended.Wait()
	return r.agents.close()
}
