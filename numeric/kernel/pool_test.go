package kernel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// counted counts how often each item ran.
type counted []atomic.Int32

func (c counted) Do(item, _ int) { c[item].Add(1) }

func TestPoolRunsEveryItemOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for threads := 1; threads <= 5; threads++ {
		p := NewPool(threads)
		if p.Threads() != threads {
			t.Errorf("Threads() = %d, want %d", p.Threads(), threads)
		}
		for n := range 150 {
			c := make(counted, n)
			p.Run(n, c)
			for i := range c {
				if got := c[i].Load(); got != 1 {
					t.Fatalf("%d threads, %d items: item %d ran %d times", threads, n, i, got)
				}
			}
		}
		p.Close()
		p.Close()
	}
}

// taskFunc makes a function a task.
type taskFunc func(item, worker int)

func (f taskFunc) Do(item, worker int) { f(item, worker) }

// Without locks the race detector would see a worker number that two goroutines use at once, or a result that Run does not
// publish.
func TestPoolWorkersAreDistinctAndPublish(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(4)
	defer p.Close()
	scratch, done := make([]int, p.Threads()), make([]int, 64)
	for round := range 300 {
		p.Run(len(done), taskFunc(func(item, worker int) {
			scratch[worker]++
			done[item] = round
		}))
		for i, d := range done {
			if d != round {
				t.Fatalf("round %d: item %d has %d", round, i, d)
			}
		}
	}
	total := 0
	for _, n := range scratch {
		total += n
	}
	if total != 300*len(done) {
		t.Errorf("%d items ran, want %d", total, 300*len(done))
	}
}

// Two items that wait for each other need two goroutines, also when the workers have long been parked.
func TestPoolWakesParkedWorkers(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(2)
	defer p.Close()
	for range 20 {
		for deadline := time.Now().Add(5 * time.Second); !p.workers[0].parked.Load() && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if !p.workers[0].parked.Load() {
			t.Fatal("the worker does not park")
		}
		var both sync.WaitGroup
		both.Add(2)
		p.Run(2, taskFunc(func(int, int) {
			both.Done()
			both.Wait()
		}))
	}
}

func TestPoolReportsPanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		for _, bad := range []int{0, 7, 19} {
			var ran atomic.Int32
			failure := catch(func() {
				p.Run(20, taskFunc(func(item, _ int) {
					if item == bad {
						panic("bad item")
					}
					ran.Add(1)
				}))
			})
			f, ok := failure.(*TaskPanic)
			if !ok || f.Value != "bad item" || !strings.Contains(f.Error(), "bad item") || !strings.Contains(string(f.Stack), "pool_test.go") {
				t.Fatalf("%d threads, item %d: Run panicked with %v", threads, bad, failure)
			}
			if ran.Load() > 19 {
				t.Errorf("%d items ran beside the bad one", ran.Load())
			}
		}
		c := make(counted, 10)
		p.Run(10, c)
		if c[9].Load() != 1 {
			t.Error("the pool is of no use after a panic")
		}
		p.Close()
	}
}

func catch(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// A task that ends its goroutine (testing.T.FailNow does) is reported when it was a worker's, and the pool stays whole.
func TestPoolSurvivesGoexitOfWorkers(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(3)
	defer p.Close()
	for range 20 {
		var met sync.WaitGroup
		met.Add(3)
		failure := catch(func() {
			p.Run(3, taskFunc(func(_, worker int) {
				met.Done()
				met.Wait() // so every goroutine has one item
				if worker > 0 {
					runtime.Goexit()
				}
			}))
		})
		if f, ok := failure.(*TaskPanic); !ok || f.Value != "runtime.Goexit in a task" {
			t.Fatalf("Run panicked with %v", failure)
		}
	}
}

// When it was the caller's, the caller ends as it asked, and the workers have left the task.
func TestPoolSurvivesGoexitOfCaller(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(3)
	defer p.Close()
	for range 20 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.Run(200, taskFunc(func(_, worker int) {
				if worker == 0 {
					runtime.Goexit()
				}
			}))
		}()
		<-ended
		c := make(counted, 30)
		p.Run(30, c)
		for i := range c {
			if c[i].Load() != 1 {
				t.Fatalf("item %d ran %d times", i, c[i].Load())
			}
		}
	}
}

func TestPoolMisuse(t *testing.T) {
	p := NewPool(2)
	nested := catch(func() { p.Run(2, taskFunc(func(int, int) { p.Run(1, counted{}) })) })
	if f, ok := nested.(*TaskPanic); !ok || !strings.Contains(f.Error(), "already running") {
		t.Errorf("a Run inside a Run: %v", nested)
	}
	p.Close()
	if text := panicText(func() { p.Run(1, make(counted, 1)) }); !strings.Contains(text, "closed") {
		t.Errorf("Run after Close: %q", text)
	}
	if text := panicText(func() { NewPool(0) }); !strings.Contains(text, "0 threads") {
		t.Errorf("NewPool(0): %q", text)
	}
}

// Many short tasks of random size, with pauses long enough to park now and then: lost wake-ups would hang it.
func TestPoolStress(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(3)
	defer p.Close()
	r := rand.New(rand.NewPCG(1, 5))
	var total, want atomic.Int64
	add := taskFunc(func(item, _ int) { total.Add(int64(item)) })
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) {
		n := r.IntN(12)
		want.Add(int64(n * (n - 1) / 2))
		p.Run(n, add)
		if r.IntN(20) == 0 {
			pauseFor(time.Duration(r.IntN(200)) * time.Microsecond)
		}
	}
	if total.Load() != want.Load() {
		t.Errorf("the items add up to %d, want %d", total.Load(), want.Load())
	}
}

func pauseFor(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			defer SetPath(path)()
			r := rand.New(rand.NewPCG(1, 6))
			for _, o := range operators {
				c := randomCase(r, o.slices, 45, 0)
				last := len(c.inner) - 1
				x, s := c.inner[:last], slices.Clone(c.inner[last])
				if n := testing.AllocsPerRun(5, func() { o.call(x, s) }); n != 0 {
					t.Errorf("%s allocates %v times", o.name, n)
				}
			}
			pool := NewPool(2)
			defer pool.Close()
			p := randomProduct(r, 60, 45, 7, 0)
			p.b = RowMajor(random(r, 7*300), 300)
			a := NewArena(100)
			defer a.Free()
			if n := testing.AllocsPerRun(5, func() {
				Gemm(p.c, p.ldc, p.a, p.rowA, p.colA, p.b, p.m, p.n, p.k, false)
				pool.Gemm(p.c, p.ldc, p.a, p.rowA, p.colA, p.b, p.m, p.n, p.k, false)
				a.Reset()
				a.Floats(50)
				a.Zeros(20)
			}); n != 0 {
				t.Errorf("products on a pool allocate %v times", n)
			}
		})
	}
}

func BenchmarkPoolRun(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	task := taskFunc(func(int, int) {})
	for b.Loop() {
		p.Run(2, task)
	}
}
