// One group in flight: its samples, their attempts, and the verdict when the last of them has ended.

package sched

import (
	"fmt"
	"slices"

	"molt/traj"
)

// Reasons for which a graded rollout does not train, besides those of Config.Filter. A rollout that was not graded is
// counted by its own outcome instead.
const (
	IncompleteGroup = "incomplete_group" // too few of its group were graded
	Halted          = "cancelled"        // the run was stopped before it could train
)

type state uint8

const (
	waiting  state = iota // not before due
	running               // cancelled at due
	stopping              // cancelled; abandoned at due
	ended
)

// sample is one of the n tries of a group's prompt.
type sample struct {
	state   state
	attempt int
	due     int64        // ms
	why     traj.Outcome // of the cancel, while stopping
}

// group is a traj.Group whose rollouts are still coming in.
type group struct {
	*traj.Group
	samples []sample
	left    int // samples that have not ended
}

func newGroup(id int64, p Prompt, n int) *group {
	return &group{
		Group:   &traj.Group{ID: id, Prompt: p.ID, Source: p.Source, Rollouts: make([]*traj.Rollout, n)},
		samples: make([]sample, n),
		left:    n,
	}
}

func (g *group) eval() bool { return g.ID < 0 }

func (g *group) key(i int) Key { return Key{Group: g.ID, Sample: i, Attempt: g.samples[i].attempt} }

// admit takes the drawn prompt into the open batch.
func (s *Scheduler) admit(p Prompt) error {
	if !s.drawing {
		return fmt.Errorf("sched: prompt %q without a Draw", p.ID)
	}
	s.drawing = false
	g := newGroup(s.next, p, s.c.GroupSize)
	s.next++
	s.open.groups = append(s.open.groups, g)
	s.counts.Dispatched += int64(s.c.GroupSize)
	if s.halted {
		s.cancelGroup(g)
	}
	return nil
}

func (s *Scheduler) start(g *group, i int) {
	m := &g.samples[i]
	m.state, m.due = running, s.now+s.c.Limits.Time
	s.running++
	s.remind(m.due)
	s.act(Start{g.key(i)})
}

// done takes what a runner returned.
func (s *Scheduler) done(r *traj.Rollout) error {
	g, err := s.find(r)
	if err != nil {
		return err
	}
	if err := vouch(r, s.serving); err != nil {
		return err
	}
	m := &g.samples[r.Sample]
	if m.state == stopping {
		retype(r, m.why, s.stopped(m.why))
	} else if over := s.c.Limits.overLimit(r); over != "" {
		retype(r, traj.Harness, over)
	}
	s.running--
	s.settle(g, r)
	return nil
}

// find gives the group of a rollout whose runner was started and has not returned before.
func (s *Scheduler) find(r *traj.Rollout) (*group, error) {
	if r == nil {
		return nil, fmt.Errorf("sched: a runner returned no rollout")
	}
	for _, groups := range [][]*group{s.eval, s.open.groups} {
		for _, g := range groups {
			if g.ID != r.Group || r.Sample < 0 || r.Sample >= len(g.samples) {
				continue
			}
			if m := &g.samples[r.Sample]; (m.state == running || m.state == stopping) && m.attempt == r.Attempt {
				return g, nil
			}
		}
	}
	return nil, fmt.Errorf("sched: group %d sample %d attempt %d ended, but it is not running", r.Group, r.Sample, r.Attempt)
}

// vouch checks that one version sampled every token.
func vouch(r *traj.Rollout, want traj.Version) error {
	for i := range r.Nodes {
		for t, v := range r.Nodes[i].Version {
			if v != want {
				return fmt.Errorf("sched: group %d sample %d node %d: token %d was sampled by version %d while version %d served",
					r.Group, r.Sample, i, t, v, want)
			}
		}
	}
	return nil
}

// overLimit says which limit the runner let the rollout pass; "" when none.
func (l *Limits) overLimit(r *traj.Rollout) string {
	if n := r.Turns(); n > l.Turns {
		return fmt.Sprintf("%d turns, over the limit of %d: its runner did not stop it", n, l.Turns)
	}
	if n := r.Tokens(); n > l.Tokens {
		return fmt.Sprintf("%d tokens, over the limit of %d: its runner did not stop it", n, l.Tokens)
	}
	return ""
}

// retype gives the rollout the outcome of what ended it; no reward survives.
func retype(r *traj.Rollout, o traj.Outcome, detail string) {
	r.Outcome, r.Detail, r.Reward, r.Score = o, detail, 0, 0
}

func (s *Scheduler) stopped(why traj.Outcome) string {
	if why == traj.Timeout {
		return fmt.Sprintf("not done within %d ms", s.c.Limits.Time)
	}
	return s.end
}

// settle tries a failed sample again, or ends it.
func (s *Scheduler) settle(g *group, r *traj.Rollout) {
	m := &g.samples[r.Sample]
	if !r.Outcome.Retryable() || m.attempt+1 >= s.c.Limits.Attempts || s.halted {
		s.finish(g, r)
		return
	}
	at := s.now + s.c.Limits.RetryDelay<<m.attempt
	*m = sample{state: waiting, attempt: m.attempt + 1, due: at}
	s.remind(at)
	s.counts.Retried++
	s.act(Retry{Rollout: r, At: at})
}

// cancel asks the runner of a sample to return.
func (s *Scheduler) cancel(g *group, i int, why traj.Outcome) {
	m := &g.samples[i]
	m.state, m.why, m.due = stopping, why, s.now+s.c.Limits.Grace
	s.remind(m.due)
	s.act(Cancel{Key: g.key(i), Why: why})
}

// abandon stops waiting for a runner that was cancelled. It is not tried again: its goroutine may still be there.
func (s *Scheduler) abandon(g *group, i int) {
	s.running--
	s.act(Abandon{g.key(i)})
	s.finish(g, lost(g.key(i), traj.Harness,
		fmt.Sprintf("the runner did not return within %d ms of being cancelled", s.c.Limits.Grace)))
}

// lost is the rollout of an attempt that brought none.
func lost(k Key, o traj.Outcome, detail string) *traj.Rollout {
	return &traj.Rollout{Group: k.Group, Sample: k.Sample, Attempt: k.Attempt, Outcome: o, Detail: detail}
}

// finish ends a sample for good; the last one of a group decides it.
func (s *Scheduler) finish(g *group, r *traj.Rollout) {
	g.samples[r.Sample].state = ended
	g.Rollouts[r.Sample] = r
	g.left--
	if !g.eval() {
		s.counts.Outcomes[r.Outcome]++
	}
	if g.left == 0 {
		s.decide(g)
	}
}

// decide accepts the group, or drops it for a reason.
func (s *Scheduler) decide(g *group) {
	switch why := s.verdict(g); {
	case why != "":
		s.forget(g, why)
	case g.eval():
		s.evaluated()
	}
}

// verdict says why the group must not train, or must not be counted; "" when it may.
func (s *Scheduler) verdict(g *group) string {
	switch {
	case s.halted:
		return Halted
	case g.eval():
		return ""
	case len(g.Graded()) < s.c.minGraded():
		return IncompleteGroup
	case s.c.Filter != nil:
		return s.c.Filter(g.Group)
	}
	return ""
}

// forget takes a decided group out of flight.
func (s *Scheduler) forget(g *group, why string) {
	same := func(other *group) bool { return other == g }
	if g.eval() {
		s.eval = slices.DeleteFunc(s.eval, same)
	} else {
		s.open.groups = slices.DeleteFunc(s.open.groups, same)
		s.open.note(why, 1)
	}
	s.drop(g.Group, why)
}

// drop counts the rollouts of a group that does not train.
func (s *Scheduler) drop(g *traj.Group, why string) {
	g.Filtered = why
	s.counts.drop(g, why)
	s.act(Drop{Group: g})
}

// cancelGroup gives a group up: what runs is cancelled, what waits or has ended is done with.
func (s *Scheduler) cancelGroup(g *group) {
	if g.left == 0 {
		s.forget(g, Halted)
		return
	}
	for i := range g.samples {
		switch g.samples[i].state {
		case running:
			s.cancel(g, i, traj.Cancelled)
		case waiting:
			s.finish(g, lost(g.key(i), traj.Cancelled, s.stopped(traj.Cancelled)))
		}
	}
}

// live lists the groups in flight, evaluation first, in order of dispatch: a copy, so that groups may leave meanwhile.
func (s *Scheduler) live() []*group { return slices.Concat(s.eval, s.open.groups) }
