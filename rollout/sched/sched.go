// The scheduler of rollouts: events in, actions out. The same events give the same actions.
//
// What stops a rollout from running for ever:
//
//	its turns and tokens   Limits.Turns, Limits.Tokens   the runner ends it; one that went further is refused   (overLimit)
//	its time               Limits.Time                   it is cancelled and counts as Timeout                  (expire)
//	its deaf runner        Limits.Grace                  it is abandoned and counts as Harness                  (expire)
//	its failures           Limits.Attempts               a sample is tried so often, later each time            (settle)
//
// What stops a run from spinning:
//
//	dropped groups         Config.DropBudget             the batch goes out short, the run ends with a sentence (short)
//	generating too far     Config.MaxLag                 no batch starts before its weights are served          (wants)
//	the last step          Config.Batches, EndOfData     no group is admitted beyond                            (wants)
//	the operator           Halt                          groups in flight are cancelled                         (halt)
//
// Why a run can be repeated: a batch is the first BatchGroups accepted groups in order of dispatch, replacements included,
// whatever order they finish in; and weights change only while nothing is in flight, so batch k is sampled by one version:
// the one made from batch k-1-MaxLag (the first weights for the batches before that).

package sched

import (
	"fmt"
	"math"
	"slices"

	"molt/traj"
)

// Scheduler is the state. It is driven by one goroutine.
type Scheduler struct {
	c       Config
	counts  Counts
	actions []Action // of the event in hand
	broken  error    // the first broken promise; nothing works after it

	now  int64 // ms, the last Tick
	wake int64 // ms; nothing is due before

	next    int64    // ordinal of the next group
	drawing bool     // a Draw is unanswered
	running int      // attempts whose runner has not returned
	open    assembly // the batch in the making
	ready   []Batch  // made and not taken, oldest first
	eval    []*group // the evaluation in hand, in order of its prompts; nil when there is none

	taking bool   // a Take is unanswered
	taken  int64  // batches delivered
	sealed int64  // batches made: the index of the open one
	end    string // why no further group is admitted; "" while the run goes on
	halted bool

	serving   traj.Version // the weights that sample
	learner   traj.Version // the newest weights that training made
	published int64        // times that weights were published and served
	pending   bool         // a Publish waits for Switch
	switching bool         // a Switch waits for Published
}

const never = math.MaxInt64

// UsedUp is why a run ends that has tried every prompt.
const UsedUp = "the prompts are used up"

// New makes a scheduler for a run whose engines serve the version first.
func New(c Config, first traj.Version) (*Scheduler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Scheduler{c: c, wake: never, serving: first, learner: first, counts: newCounts()}, nil
}

// Apply takes one event and returns what to do about it, in order. The first Tick starts the run. An error is a broken
// promise of the caller, of a runner or of an engine: the scheduler refuses every event after it.
func (s *Scheduler) Apply(e Event) ([]Action, error) {
	s.actions = nil
	if s.broken == nil {
		s.broken = s.take(e)
	}
	if s.broken == nil {
		s.broken = s.advance()
	}
	if s.broken == nil && s.handsOver() {
		s.broken = s.Conserve()
	}
	if s.broken != nil {
		return nil, s.broken
	}
	return s.actions, nil
}

// handsOver reports whether rollouts leave the scheduler now, or none will leave it any more: then the books must balance.
func (s *Scheduler) handsOver() bool {
	return slices.ContainsFunc(s.actions, func(a Action) bool {
		switch a.(type) {
		case Deliver, Evaluated, End:
			return true
		}
		return false
	})
}

// take notes what happened.
func (s *Scheduler) take(e Event) error {
	switch e := e.(type) {
	case Tick:
		s.now = max(s.now, e.Now)
		return nil
	case Prompt:
		return s.admit(e)
	case EndOfData:
		if !s.drawing {
			return fmt.Errorf("sched: the end of the data without a Draw")
		}
		s.drawing = false
		s.stop(UsedUp)
		return nil
	case Done:
		return s.done(e.Rollout)
	case Take:
		return s.request()
	case Publish:
		return s.publish(e.Version)
	case Published:
		return s.servingNew()
	case Evaluate:
		return s.evaluate(e)
	case Halt:
		s.halt(e.Why)
		return nil
	}
	return fmt.Errorf("sched: unknown event %T", e)
}

// advance does everything that has become possible.
func (s *Scheduler) advance() error {
	s.expire()
	s.seal()
	s.switchWeights()
	if err := s.deliver(); err != nil {
		return err
	}
	s.dispatch()
	return nil
}

// expire cancels what is overdue, and abandons what was cancelled and did not return.
func (s *Scheduler) expire() {
	if s.now < s.wake {
		return
	}
	s.wake = never
	for _, g := range s.live() {
		for i := range g.samples {
			switch m := &g.samples[i]; {
			case m.state == running && m.due <= s.now:
				s.cancel(g, i, traj.Timeout)
			case m.state == stopping && m.due <= s.now:
				s.abandon(g, i)
			case m.state != ended && m.due > s.now:
				s.remind(m.due)
			}
		}
	}
}

// dispatch starts what waits, in order, as far as there is room, and draws a prompt when all of it has started.
func (s *Scheduler) dispatch() {
	if s.switching {
		return
	}
	s.startWaiting(s.eval)
	s.startWaiting(s.open.groups)
	if s.running < s.c.Capacity && s.wants() {
		s.drawing = true
		s.act(Draw{Group: s.next})
	}
}

func (s *Scheduler) startWaiting(groups []*group) {
	for _, g := range groups {
		for i := range g.samples {
			if s.running == s.c.Capacity {
				return
			}
			if m := &g.samples[i]; m.state == waiting && m.due <= s.now {
				s.start(g, i)
			}
		}
	}
}

// wants reports whether the open batch needs another group now.
func (s *Scheduler) wants() bool {
	return !s.drawing && s.end == "" && !s.behind() && s.open.needs(&s.c)
}

// behind reports whether the open batch must wait for weights that training has not published yet.
func (s *Scheduler) behind() bool { return s.published < s.sealed-int64(s.c.MaxLag) }

// stop admits no further group. The first reason stays.
func (s *Scheduler) stop(why string) {
	if why == "" {
		why = "the run was stopped"
	}
	if s.end == "" {
		s.end = why
	}
}

// halt gives everything up that was not delivered, and cancels what runs. Its reason is the one that stays.
func (s *Scheduler) halt(why string) {
	if s.halted {
		return
	}
	s.end = ""
	s.stop(why)
	s.halted = true
	for _, b := range s.ready {
		for _, g := range b.Groups {
			s.drop(g, Halted)
		}
	}
	s.ready = nil
	for _, g := range s.live() {
		s.cancelGroup(g)
	}
}

// Running counts the attempts whose runner has neither returned nor been abandoned.
func (s *Scheduler) Running() int { return s.running }

// Serving is the version that samples now.
func (s *Scheduler) Serving() traj.Version { return s.serving }

// Wake is the time, in ms, of the next Tick that can matter; ok is false when no Tick can.
func (s *Scheduler) Wake() (at int64, ok bool) { return s.wake, s.wake != never }

func (s *Scheduler) remind(at int64) { s.wake = min(s.wake, at) }

func (s *Scheduler) act(a Action) { s.actions = append(s.actions, a) }
