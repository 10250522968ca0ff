// A snapshot holds what a run must remember to go on exactly where it was.

package sched

import (
	"fmt"
	"maps"
	"slices"

	"molt/traj"
)

// Snapshot is the scheduler between two events, as plain data that survives JSON. Rollouts that have ended are in it;
// those that run or wait are started again by the restored scheduler, under the same key. An evaluation in flight is
// lost, and counted as Dropped. Deadlines start afresh.
type Snapshot struct {
	Next      int64 // ordinal of the next group: the number of prompts drawn
	Sealed    int64
	Taken     int64
	Published int64
	Serving   traj.Version // the weights that must serve before the restored scheduler starts anything
	End       string
	Counts    Counts
	Ready     []Batch // made, not taken
	Open      []OpenGroup
	Dropped   map[string]int // groups that the open batch lost, by reason
}

// OpenGroup is a group of the open batch. A rollout that has not ended is nil in Group.Rollouts.
type OpenGroup struct {
	Group    *traj.Group
	Attempts []int // [GroupSize] the attempt that each sample is at
}

// Snapshot describes the run at a step boundary: not while weights are being switched, a prompt is being drawn, or after
// Halt. It shares the rollouts that have ended with the scheduler; nobody may change them.
func (s *Scheduler) Snapshot() (Snapshot, error) {
	switch {
	case s.broken != nil:
		return Snapshot{}, s.broken
	case s.halted:
		return Snapshot{}, fmt.Errorf("sched: no snapshot after the run was stopped: %s", s.end)
	case s.pending:
		return Snapshot{}, fmt.Errorf("sched: no snapshot while version %d waits to be served", s.learner)
	case s.drawing:
		return Snapshot{}, fmt.Errorf("sched: no snapshot while a prompt is being drawn")
	}
	snap := Snapshot{
		Next: s.next, Sealed: s.sealed, Taken: s.taken, Published: s.published, Serving: s.serving, End: s.end,
		Counts: s.counts.clone(), Ready: slices.Clone(s.ready), Dropped: maps.Clone(s.open.reasons),
	}
	for _, g := range s.open.groups {
		snap.Open = append(snap.Open, g.snapshot())
	}
	for _, g := range s.eval {
		snap.Counts.Dropped[Halted] += int64(len(g.samples))
	}
	return snap, nil
}

func (g *group) snapshot() OpenGroup {
	kept := *g.Group
	kept.Rollouts = slices.Clone(g.Rollouts)
	o := OpenGroup{Group: &kept}
	for i := range g.samples {
		o.Attempts = append(o.Attempts, g.samples[i].attempt)
	}
	return o
}

// Restore makes the scheduler that a snapshot describes. Its configuration must be the one that the snapshot was taken
// with, and its engines must serve snap.Serving.
func Restore(c Config, snap Snapshot) (*Scheduler, error) {
	s, err := New(c, snap.Serving)
	if err != nil {
		return nil, err
	}
	s.next, s.sealed, s.taken, s.published, s.end = snap.Next, snap.Sealed, snap.Taken, snap.Published, snap.End
	for _, restore := range []func(Snapshot) error{s.restoreCounts, s.restoreReady, s.restoreOpen, s.restoreDropped} {
		if err := restore(snap); err != nil {
			return nil, fmt.Errorf("sched: restore: %w", err)
		}
	}
	if err := s.Conserve(); err != nil {
		return nil, fmt.Errorf("sched: restore: %w", err)
	}
	return s, nil
}

func (s *Scheduler) restoreCounts(snap Snapshot) error {
	c := snap.Counts.clone()
	if c.Dropped == nil || c.Outcomes == nil {
		return fmt.Errorf("the counts are missing")
	}
	lowest := min(c.Dispatched, c.Trained, c.Evaluated, c.Retried)
	for _, n := range c.Dropped {
		lowest = min(lowest, n)
	}
	if lowest < 0 {
		return fmt.Errorf("a count is %d", lowest)
	}
	s.counts = c
	return nil
}

func (s *Scheduler) restoreReady(snap Snapshot) error {
	ready := snap.Ready
	if s.published < 0 || s.published > s.taken || s.taken+int64(len(ready)) != s.sealed {
		return fmt.Errorf("%d batches made, %d taken, %d waiting, weights published %d times: these do not fit", s.sealed, s.taken, len(ready), s.published)
	}
	for i, b := range ready {
		if b.Index != s.taken+int64(i) {
			return fmt.Errorf("batch %d where batch %d belongs", b.Index, s.taken+int64(i))
		}
		for _, g := range b.Groups {
			if err := s.restorable(g, b.Version, true); err != nil {
				return err
			}
		}
	}
	s.ready = slices.Clone(ready)
	return nil
}

func (s *Scheduler) restoreDropped(snap Snapshot) error {
	for _, why := range slices.Sorted(maps.Keys(snap.Dropped)) {
		n := snap.Dropped[why]
		if n < 1 || int64(n) > s.next {
			return fmt.Errorf("%d of %d groups dropped for %q", n, s.next, why)
		}
		s.open.note(why, n)
	}
	return nil
}

func (s *Scheduler) restoreOpen(snap Snapshot) error {
	open := snap.Open
	if len(open) > s.c.BatchGroups {
		return fmt.Errorf("%d groups in a batch of %d", len(open), s.c.BatchGroups)
	}
	last := int64(-1)
	for _, o := range open {
		if err := s.restorable(o.Group, s.serving, false); err != nil {
			return err
		}
		if o.Group.ID <= last {
			return fmt.Errorf("group %d after group %d", o.Group.ID, last)
		}
		if len(o.Attempts) != s.c.GroupSize {
			return fmt.Errorf("group %d has %d attempts for %d samples", o.Group.ID, len(o.Attempts), s.c.GroupSize)
		}
		last = o.Group.ID
		g, err := s.reopen(o)
		if err != nil {
			return err
		}
		s.open.groups = append(s.open.groups, g)
	}
	return nil
}

// restorable checks a stored group against its place: its ordinal, its rollouts' keys, and the version that sampled them.
func (s *Scheduler) restorable(g *traj.Group, v traj.Version, whole bool) error {
	switch {
	case g == nil:
		return fmt.Errorf("a group is missing")
	case g.ID < 0 || g.ID >= s.next:
		return fmt.Errorf("group %d of %d dispatched", g.ID, s.next)
	case len(g.Rollouts) != s.c.GroupSize:
		return fmt.Errorf("group %d has %d rollouts; the run is configured for groups of %d", g.ID, len(g.Rollouts), s.c.GroupSize)
	}
	for i, r := range g.Rollouts {
		if r == nil {
			if whole {
				return fmt.Errorf("group %d sample %d is missing from a batch that was made", g.ID, i)
			}
			continue
		}
		if r.Group != g.ID || r.Sample != i {
			return fmt.Errorf("group %d sample %d holds group %d sample %d", g.ID, i, r.Group, r.Sample)
		}
		if err := vouch(r, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scheduler) reopen(o OpenGroup) (*group, error) {
	g := newGroup(o.Group.ID, Prompt{ID: o.Group.Prompt, Source: o.Group.Source}, s.c.GroupSize)
	for i, r := range o.Group.Rollouts {
		attempt := o.Attempts[i]
		if attempt < 0 || attempt >= s.c.Limits.Attempts {
			return nil, fmt.Errorf("group %d sample %d is at attempt %d of %d", g.ID, i, attempt, s.c.Limits.Attempts)
		}
		g.samples[i].attempt = attempt
		if r != nil {
			g.Rollouts[i], g.samples[i].state = r, ended
			g.left--
		}
	}
	return g, nil
}
