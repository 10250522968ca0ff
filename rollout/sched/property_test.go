package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"molt/traj"
)

// TestAnyOrderSameBatches: whatever order rollouts end in, however often the run is restarted between steps, and whether
// an evaluation runs beside it, training sees the same batches and the same groups are dropped.
func TestAnyOrderSameBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		want := newRun(p, inOrder{}).finish(t)
		got := newRun(p, &anyOrder{t: t}).finish(t)
		if d := cmp.Diff(want.batches, got.batches); d != "" {
			t.Fatalf("batches differ (-in order +any order):\n%s", d)
		}
		slices.Sort(want.dropped)
		slices.Sort(got.dropped)
		if d := cmp.Diff(want.dropped, got.dropped); d != "" {
			t.Fatalf("drops differ (-in order +any order):\n%s", d)
		}
		if want.why != got.why {
			t.Fatalf("the run ended with %q, in order with %q", got.why, want.why)
		}
	})
}

// TestEveryPromptOnce: with deadlines passing at random, deaf runners and halts, every rollout that was dispatched
// is trained, dropped or evaluated exactly once, and the run ends.
func TestEveryPromptOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		r := newRun(p, &anyOrder{t: t, rough: true}).finish(t)
		c := r.s.Counts()
		if r.s.InFlight() != 0 || r.s.Running() != 0 {
			t.Fatalf("after the end %d rollouts are in flight, %d running", r.s.InFlight(), r.s.Running())
		}
		if want := int64(r.drawn*p.c.GroupSize) + r.evaluating; c.Dispatched != want || c.settled() != want {
			t.Fatalf("%d dispatched and %d settled of %d", c.Dispatched, c.settled(), want)
		}
	})
}

// plan is a run to be made: sizes, prompts, and a seed that decides how each attempt ends.
type plan struct {
	c       Config
	prompts int
	seed    uint64
}

func drawPlan(t *rapid.T) plan {
	n := rapid.IntRange(1, 3).Draw(t, "group size")
	p := plan{
		prompts: rapid.IntRange(0, 25).Draw(t, "prompts"),
		seed:    rapid.Uint64().Draw(t, "seed"),
		c: Config{
			GroupSize:   n,
			BatchGroups: rapid.IntRange(1, 4).Draw(t, "batch"),
			Batches:     rapid.Int64Range(0, 5).Draw(t, "batches"),
			Capacity:    rapid.IntRange(1, 8).Draw(t, "capacity"),
			MaxLag:      rapid.IntRange(0, 1).Draw(t, "lag"),
			MinGraded:   rapid.IntRange(0, n).Draw(t, "graded"),
			DropBudget:  rapid.IntRange(0, 4).Draw(t, "budget"),
			GoOnShort:   rapid.Bool().Draw(t, "go on short"),
			Limits:      Limits{Turns: 8, Tokens: 64, Attempts: rapid.IntRange(1, 3).Draw(t, "attempts"), Time: 1000, Grace: 100, RetryDelay: 10},
		},
	}
	if rapid.Bool().Draw(t, "filter") {
		p.c.Filter = sameReward
	}
	return p
}

// end says how an attempt ends: a function of the plan's seed and the key alone.
func (p plan) end(k Key, v traj.Version) *traj.Rollout {
	h := p.seed ^ uint64(k.Group)*0x9e3779b97f4a7c15 ^ uint64(k.Sample)<<40 ^ uint64(k.Attempt)<<50
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	r := &traj.Rollout{Group: k.Group, Sample: k.Sample, Attempt: k.Attempt, Nodes: []traj.Node{node(-1, 3, v)}}
	switch h % 16 {
	case 0:
		r.Outcome = traj.Harness
	case 1, 2:
		r.Outcome = traj.Infrastructure
	default:
		r.Outcome, r.Reward = traj.Completed, float64(h>>8%2)
	}
	return r
}

// chooser decides what happens next in a run.
type chooser interface {
	pick(running []Key) int // which attempt returns next
	quirk(r *run) error     // something else that may happen before
}

type inOrder struct{}

func (inOrder) pick([]Key) int   { return 0 }
func (inOrder) quirk(*run) error { return nil }

type anyOrder struct {
	t     *rapid.T
	rough bool // also deadlines and halts
}

func (a *anyOrder) pick(running []Key) int {
	return rapid.IntRange(0, len(running)-1).Draw(a.t, "next")
}

func (a *anyOrder) quirk(r *run) error {
	switch q := rapid.IntRange(0, 60).Draw(a.t, "quirk"); {
	case q == 0 && len(r.s.eval) == 0 && !r.s.halted:
		r.evaluating += 4
		return r.apply(Evaluate{Prompts: []Prompt{{ID: "x"}, {ID: "y"}}, Samples: 2})
	case q < 4:
		return r.restart()
	case q < 6:
		return r.apply(Tick{Now: r.s.now + 15})
	case a.rough && q < 12:
		return r.apply(Tick{Now: r.s.now + rapid.SampledFrom([]int64{100, 500, 1000}).Draw(a.t, "ms")})
	case a.rough && q == 12:
		return r.apply(Halt{Why: "halted"})
	}
	return nil
}

// run plays driver, runners and training against a scheduler, one event at a time.
type run struct {
	plan
	s       *Scheduler
	choose  chooser
	running []Key
	drawn   int
	version traj.Version

	batch      *Batch // training works on it
	waiting    bool   // training waits for a batch, or for weights to be served
	evaluating int64  // rollouts of evaluations
	over       bool

	batches []string
	dropped []string
	why     string
}

func newRun(p plan, choose chooser) *run {
	s, err := New(p.c, 0)
	if err != nil {
		panic(err)
	}
	return &run{plan: p, s: s, choose: choose}
}

// finish plays the run to its end. Too many events without one is the failure this test looks for.
func (r *run) finish(t *rapid.T) *run {
	err := r.apply(Tick{})
	for events := 0; err == nil && !r.done(); events++ {
		if events > 5000 {
			t.Fatalf("no end after %d events: %d running, end %q", events, len(r.running), r.s.end)
		}
		if err = r.choose.quirk(r); err == nil && !r.done() {
			err = r.step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) done() bool { return r.over && len(r.running) == 0 && r.s.InFlight() == 0 }

// step lets training act if it can, else an attempt return, else time pass.
func (r *run) step() error {
	switch {
	case !r.waiting && !r.over && r.batch == nil:
		r.waiting = true
		return r.apply(Take{})
	case !r.waiting && !r.over:
		r.batch, r.waiting = nil, true
		r.version += 2
		return r.apply(Publish{Version: r.version})
	case len(r.running) > 0:
		i := r.choose.pick(r.running)
		k := r.running[i]
		r.running = slices.Delete(r.running, i, i+1)
		return r.apply(Done{r.end(k, r.s.Serving())})
	}
	at, ok := r.s.Wake()
	if !ok {
		return fmt.Errorf("wedged: nothing runs, nothing is due, and the run has not ended")
	}
	return r.apply(Tick{Now: at})
}

func (r *run) restart() error {
	snap, err := r.s.Snapshot()
	if err != nil {
		return nil // weights are being switched, or the run was stopped
	}
	taking, now := r.s.taking, r.s.now
	if r.s, err = restored(r.c, snap); err != nil {
		return err
	}
	r.running = nil
	if err := r.apply(Tick{Now: now}); err != nil || !taking {
		return err
	}
	return r.apply(Take{}) // training asks again
}

func (r *run) apply(e Event) error {
	actions, err := r.s.Apply(e)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if err := r.do(a); err != nil {
			return err
		}
	}
	return r.s.Conserve()
}

func (r *run) do(a Action) error {
	switch a := a.(type) {
	case Draw:
		if int(a.Group) == r.prompts {
			return r.apply(EndOfData{})
		}
		r.drawn++
		return r.apply(Prompt{ID: fmt.Sprint("p", a.Group)})
	case Start:
		if r.running = append(r.running, a.Key); len(r.running) > r.c.Capacity {
			return fmt.Errorf("%d attempts are running", len(r.running))
		}
	case Abandon:
		r.running = slices.DeleteFunc(r.running, func(k Key) bool { return k == a.Key })
	case Drop:
		if a.Group.ID >= 0 {
			r.dropped = append(r.dropped, groupName(a.Group)+" "+a.Group.Filtered)
		}
	case Deliver:
		return r.deliver(a.Batch)
	case End:
		r.over, r.waiting, r.why = true, false, a.Why
	case Switch:
		r.waiting = false
		return r.apply(Published{})
	}
	return nil
}

func (r *run) deliver(b Batch) error {
	r.batch, r.waiting = &b, false
	if b.Lag < 0 || b.Lag > 2*int64(r.c.MaxLag) {
		return fmt.Errorf("batch %d is %d versions behind", b.Index, b.Lag)
	}
	line := fmt.Sprintf("batch %d version %d lag %d short %q:", b.Index, b.Version, b.Lag, b.Short)
	for _, g := range b.Groups {
		line += " " + groupName(g)
		for _, one := range g.Rollouts {
			line += fmt.Sprintf(" %s=%v", rolloutName(one), one.Reward)
			if len(one.Nodes) > 0 && one.Lag(r.version) != b.Lag {
				return fmt.Errorf("batch %d has lag %d, its group %d has %d", b.Index, b.Lag, g.ID, one.Lag(r.version))
			}
		}
	}
	r.batches = append(r.batches, line)
	return nil
}
