// The state machine of the service. A rollout waits, is set up, played, perhaps graded, and is done; a place in a pool is given
// up before the next one is waited for, so no two rollouts ever wait for each other.

package queue

import (
	"errors"
	"fmt"
	"slices"
)

// Stage is where a rollout is.
type Stage int

const (
	Waiting Stage = iota
	SetUp
	Run
	Grade
	Done
)

// pools are the stages that have places.
const pools = 3

// Config bounds everything. All are more than 0.
type Config struct {
	Places  [pools]int // of SetUp, Run and Grade
	Waiting int        // rollouts that may wait to be started, of all tasks
	Bytes   int64      // that unfinished tasks may come to need, and finished ones do
	Life    int64      // how long a finished task is kept, in the caller's unit of time
}

// Validate reports everything that is out of range.
func (c *Config) Validate() error {
	var errs []error
	for i, places := range c.Places {
		if places < 1 {
			errs = append(errs, fmt.Errorf("queue: Places[%d] is %d; want 1 or more", i, places))
		}
	}
	if c.Waiting < 1 || c.Bytes < 1 || c.Life < 1 {
		errs = append(errs, fmt.Errorf("queue: Waiting %d, Bytes %d, Life %d; want 1 or more", c.Waiting, c.Bytes, c.Life))
	}
	return errors.Join(errs...)
}

// Key is one rollout.
type Key struct {
	Task   int64
	Sample int
}

// Do says what an action is.
type Do int

const (
	Start  Do = iota // begin with the rollout: it has a place in SetUp
	LetIn            // the rollout has the place that it waited for
	Drop             // the rollout was cancelled before it began: it has ended
	Stop             // cancel the rollout, which will end
	Forget           // drop everything of the task; Sample means nothing
)

// Action is what the driver does next.
type Action struct {
	Do  Do
	Key Key
}

// ErrFull means that a task may be submitted later.
var ErrFull = errors.New("queue: full")

type task struct {
	id        int64
	stages    []Stage // of each rollout; one that waits for a place keeps the stage that it left
	cancelled bool
	reserved  int64 // bytes
	used      int64 // bytes of ended rollouts
	open      int   // rollouts that have not ended
	expires   int64 // when open is 0
}

// Queue is the state. It is used by one goroutine at a time.
type Queue struct {
	config Config
	next   int64
	tasks  map[int64]*task
	wants  [pools][]Key // who waits for a place, first come first
	busy   [pools]int
	active int   // rollouts that have begun and not ended
	bytes  int64 // reserved by unfinished tasks, used by finished ones
}

// New makes an empty queue. The configuration must be valid.
func New(c Config) *Queue { return &Queue{config: c, next: 1, tasks: map[int64]*task{}} }

// Admits says why Submit would refuse a task of n rollouts, each of which may need up to bytes. An error that is ErrFull says what
// is full; any other that the task can never be admitted.
func (q *Queue) Admits(n int, bytes int64) error {
	switch {
	case n < 1 || bytes < 0 || bytes > q.config.Bytes/int64(n):
		return fmt.Errorf("queue: %d rollouts of up to %d bytes; all that is kept may have %d", n, bytes, q.config.Bytes)
	case n > q.config.Waiting:
		return fmt.Errorf("queue: %d rollouts; %d may wait", n, q.config.Waiting)
	case len(q.wants[0])+n > q.config.Waiting:
		return fmt.Errorf("%w: %d rollouts wait", ErrFull, len(q.wants[0]))
	case q.bytes+int64(n)*bytes > q.config.Bytes:
		return fmt.Errorf("%w: results take up %d bytes; delete those that you have", ErrFull, q.bytes)
	}
	return nil
}

// Next is the number of the next task.
func (q *Queue) Next() int64 { return q.next }

// Adopt takes over a task of n rollouts, all of which ended before this queue began, with the number that it had.
func (q *Queue) Adopt(id int64, n int, bytes, expires int64, cancelled bool) {
	t := &task{id: id, stages: make([]Stage, n), reserved: bytes, used: bytes, expires: expires, cancelled: cancelled}
	for i := range t.stages {
		t.stages[i] = Done
	}
	q.tasks[id] = t
	q.next = max(q.next, id+1)
	q.bytes += bytes
}

// Submit admits a task, or says why not, as Admits does.
func (q *Queue) Submit(n int, bytes int64) (int64, []Action, error) {
	if err := q.Admits(n, bytes); err != nil {
		return 0, nil, err
	}
	t := &task{id: q.next, stages: make([]Stage, n), reserved: int64(n) * bytes, open: n}
	q.next++
	q.tasks[t.id] = t
	q.bytes += t.reserved
	for i := range n {
		q.wants[0] = append(q.wants[0], Key{t.id, i})
	}
	return t.id, q.fill(nil), nil
}

// Enter is a rollout that gives up its place and wants one in s, which comes after its stage. It goes on when it is let in. An
// agent may ask for what makes no sense: that is an error, and changes nothing.
func (q *Queue) Enter(k Key, s Stage) ([]Action, error) {
	t := q.tasks[k.Task]
	if t == nil || s <= SetUp || s >= Done || t.stages[k.Sample] == Waiting || t.stages[k.Sample] >= s || q.waits(k) {
		return nil, fmt.Errorf("queue: rollout %d of task %d cannot enter stage %d", k.Sample, k.Task, s)
	}
	if t.cancelled {
		return nil, nil // it is being stopped
	}
	q.busy[t.stages[k.Sample]-SetUp]--
	q.wants[s-SetUp] = append(q.wants[s-SetUp], k)
	return q.fill(nil), nil
}

// End is a rollout that has ended and left so many bytes.
func (q *Queue) End(now int64, k Key, bytes int64) []Action {
	t := q.tasks[k.Task]
	if t == nil || t.stages[k.Sample] == Waiting || t.stages[k.Sample] == Done {
		panic(fmt.Sprintf("queue: %v cannot end", k))
	}
	if !q.leave(k) {
		q.busy[t.stages[k.Sample]-SetUp]--
	}
	q.active--
	q.done(now, t, k.Sample, bytes)
	return q.fill(nil)
}

// Cancel stops what has not ended. What has is kept. An unknown task is nothing.
func (q *Queue) Cancel(now, id int64) []Action {
	t := q.tasks[id]
	if t == nil || t.cancelled || t.open == 0 {
		return nil
	}
	t.cancelled = true
	var actions []Action
	for i, s := range t.stages {
		k := Key{id, i}
		switch s {
		case Done:
		case Waiting:
			q.leave(k)
			q.done(now, t, i, 0)
			actions = append(actions, Action{Drop, k})
		default:
			actions = append(actions, Action{Stop, k})
		}
	}
	return q.fill(actions)
}

// Remove forgets a task that has ended. It reports whether there was one.
func (q *Queue) Remove(id int64) ([]Action, bool) {
	t := q.tasks[id]
	if t == nil || t.open > 0 {
		return nil, false
	}
	return []Action{q.forget(t)}, true
}

// Tick forgets what has expired.
func (q *Queue) Tick(now int64) []Action {
	var actions []Action
	for _, id := range q.Tasks() {
		if t := q.tasks[id]; t.open == 0 && t.expires <= now {
			actions = append(actions, q.forget(t))
		}
	}
	return actions
}

func (q *Queue) forget(t *task) Action {
	delete(q.tasks, t.id)
	q.bytes -= t.used
	return Action{Forget, Key{Task: t.id}}
}

// done ends a rollout. A finished task gives back what it reserved and did not use.
func (q *Queue) done(now int64, t *task, sample int, bytes int64) {
	t.stages[sample] = Done
	t.used += min(bytes, t.reserved-t.used)
	if t.open--; t.open == 0 {
		q.bytes += t.used - t.reserved
		t.expires = now + q.config.Life
	}
}

// fill gives free places to those who wait.
func (q *Queue) fill(actions []Action) []Action {
	for pool := pools - 1; pool >= 0; pool-- {
		for len(q.wants[pool]) > 0 && q.busy[pool] < q.config.Places[pool] && (pool > 0 || q.active < q.most()) {
			k := q.wants[pool][0]
			q.wants[pool] = q.wants[pool][1:]
			q.busy[pool]++
			q.tasks[k.Task].stages[k.Sample] = SetUp + Stage(pool)
			if pool == 0 {
				q.active++
				actions = append(actions, Action{Start, k})
			} else {
				actions = append(actions, Action{LetIn, k})
			}
		}
	}
	return actions
}

// most is how many rollouts may have begun: those that are set up hold something while they wait to be played.
func (q *Queue) most() int { return q.config.Places[0] + q.config.Places[1] + q.config.Places[2] }

func (q *Queue) waits(k Key) bool {
	return slices.ContainsFunc(q.wants[:], func(list []Key) bool { return slices.Contains(list, k) })
}

// leave takes a rollout out of a line, and reports whether it was in one.
func (q *Queue) leave(k Key) bool {
	for pool := range q.wants {
		if i := slices.Index(q.wants[pool], k); i >= 0 {
			q.wants[pool] = slices.Delete(q.wants[pool], i, i+1)
			return true
		}
	}
	return false
}
