package kernel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Task is work in independent items. Do may run on several goroutines at once, each item exactly once, in any order;
// worker identifies the goroutine (0 is the caller of Run), for scratch memory. What an item writes must not depend on
// worker or order.
type Task interface{ Do(item, worker int) }

// Pool runs tasks on resident workers that spin briefly between tasks and then park: waking a parked goroutine costs
// about as much as a small matrix product. One goroutine at a time may call Run.
type Pool struct {
	workers []*worker // without the caller
	ended   sync.WaitGroup
	running atomic.Bool // a Run is in progress, or the pool is closed

	// gate admits workers to the current task: epoch<<32 | open<<31 | workers inside. task and items change only while
	// it is closed and nobody is inside.
	gate  atomic.Uint64
	task  Task
	items int64
	next  atomic.Int64 // next item to take
	gemm  gemmTask     // the task of Gemm, kept so that it allocates nothing

	failure atomic.Pointer[TaskPanic]
	idle    chan struct{} // capacity 1: the last worker to leave tells a parked caller
	waiting atomic.Bool   // the caller is parked on idle
}

// TaskPanic is the value Run panics with after Do panicked.
type TaskPanic struct {
	Value any
	Stack []byte
}

func (p *TaskPanic) Error() string {
	return fmt.Sprintf("kernel: task panicked: %v\n%s", p.Value, p.Stack)
}

const (
	gateOpen   = 1 << 31
	gateInside = gateOpen - 1
	gateEpoch  = 32

	workerSpin = 50 * time.Microsecond // how long an idle worker spins before it parks
	callerSpin = 100 * time.Microsecond
)

type worker struct {
	id     int
	parked atomic.Bool
	wake   chan struct{} // capacity 1: Run sends after it cleared parked; Close closes
}

// NewPool starts threads-1 workers; the caller of Run is the remaining thread. Close ends them.
func NewPool(threads int) *Pool {
	if threads < 1 {
		panic(fmt.Sprintf("kernel: NewPool: %d threads", threads))
	}
	if refused != nil {
		panic(refused.Error())
	}
	p := &Pool{idle: make(chan struct{}, 1)}
	for id := 1; id < threads; id++ {
		w := &worker{id: id, wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.ended.Add(1)
		go p.serve(w)
	}
	return p
}

// Threads is the number of goroutines that share a task: workers are numbered below it.
func (p *Pool) Threads() int { return len(p.workers) + 1 }

// Run calls t.Do(i, worker) for every i < n and returns when all have returned. If one panics, the items not yet begun
// are skipped and Run panics with a *TaskPanic. It allocates nothing.
func (p *Pool) Run(n int, t Task) {
	if !p.running.CompareAndSwap(false, true) {
		panic("kernel: Pool.Run: the pool is closed, or already running a task")
	}
	p.task, p.items = t, int64(n)
	p.next.Store(0)
	if n > 1 && len(p.workers) > 0 {
		p.open(n)
	}
	defer p.finish()
	p.work(0)
}

// open lets the workers in and wakes as many parked ones as there are items for.
func (p *Pool) open(n int) {
	p.gate.Store((p.gate.Load()>>gateEpoch+1)<<gateEpoch | gateOpen)
	for _, w := range p.workers[:min(len(p.workers), n-1)] {
		if w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// finish ends a Run, whether Do returned, panicked or ended the caller's goroutine.
func (p *Pool) finish() {
	p.shut()
	p.task = nil
	failure := p.failure.Swap(nil)
	p.running.Store(false)
	if failure != nil {
		panic(failure)
	}
}

// shut lets no further worker in and waits until those inside have left.
func (p *Pool) shut() {
	p.gate.And(^uint64(gateOpen))
	inside := func() bool { return p.gate.Load()&gateInside != 0 }
	if spin(callerSpin, func() bool { return !inside() }) {
		return
	}
	p.waiting.Store(true)
	if inside() || !p.waiting.CompareAndSwap(true, false) {
		<-p.idle
	}
}

// serve is a worker's life: enter each new task, work, leave; park when none comes. A task that ends the goroutine makes
// another take its place.
func (p *Pool) serve(w *worker) {
	closed := false
	defer func() {
		if closed {
			p.ended.Done()
		} else {
			go p.serve(w) // p.ended still counts it
		}
	}()
	var seen uint64
	fresh := func() bool { g := p.gate.Load(); return g&gateOpen != 0 && g>>gateEpoch != seen }
	for {
		if !spin(workerSpin, fresh) {
			w.parked.Store(true)
			if !fresh() || !w.parked.CompareAndSwap(true, false) {
				if _, open := <-w.wake; !open {
					closed = true
					return
				}
			}
		}
		if g := p.gate.Load(); g&gateOpen != 0 && g>>gateEpoch != seen && p.gate.CompareAndSwap(g, g+1) {
			seen = g >> gateEpoch
			p.visit(w.id)
		}
	}
}

// visit works on the task that the worker was let in for. The last to leave wakes the caller if it is parked.
func (p *Pool) visit(id int) {
	defer func() {
		if left := p.gate.Add(^uint64(0)); left&(gateOpen|gateInside) == 0 && p.waiting.CompareAndSwap(true, false) {
			p.idle <- struct{}{}
		}
	}()
	p.work(id)
}

// work takes items until none is left. After a panic it stores the first failure and takes away the rest.
func (p *Pool) work(id int) {
	finished := false
	defer func() {
		if finished {
			return
		}
		p.next.Store(p.items)
		value := recover()
		if value == nil && id == 0 {
			return // runtime.Goexit ends the caller of Run, too
		}
		if value == nil {
			value = "runtime.Goexit in a task"
		}
		p.failure.CompareAndSwap(nil, &TaskPanic{Value: value, Stack: debug.Stack()})
	}()
	for {
		i := p.next.Add(1) - 1
		if i >= p.items {
			break
		}
		p.task.Do(int(i), id)
	}
	finished = true
}

// Close ends the workers and waits for them. A task must not be running; closing twice is allowed.
func (p *Pool) Close() {
	if p.running.CompareAndSwap(false, true) {
		for _, w := range p.workers {
			close(w.wake)
		}
	}
	p.ended.Wait()
}

// spin polls until done or the time is over, and returns whether done. It yields to other goroutines now and then.
func spin(limit time.Duration, done func() bool) bool {
	start := time.Now()
	for {
		for range 64 {
			if done() {
				return true
			}
			pause()
		}
		if time.Since(start) > limit {
			return done()
		}
		runtime.Gosched()
	}
}
