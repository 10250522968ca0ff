// What became of every rollout, in numbers that add up.

package sched

import (
	"fmt"
	"maps"
	"slices"

	"molt/traj"
)

// Counts follow every rollout that was dispatched; attempts of the same sample count once.
type Counts struct {
	Dispatched int64            // admitted, for training and evaluation
	Trained    int64            // delivered in a batch, graded
	Evaluated  int64            // handed over by an evaluation, with whatever outcome
	Dropped    map[string]int64 // never to train, by reason: an outcome, a reason of the filter, IncompleteGroup, Halted

	Retried  int64                  // attempts that failed and were tried again
	Outcomes map[traj.Outcome]int64 // how rollouts of training ended, after their last attempt
}

func newCounts() Counts {
	return Counts{Dropped: map[string]int64{}, Outcomes: map[traj.Outcome]int64{}}
}

// Reasons lists the reasons of Dropped in alphabetical order.
func (c Counts) Reasons() []string { return slices.Sorted(maps.Keys(c.Dropped)) }

// Share is the part of the training rollouts that ended with the outcome, 0 to 1; 0 when none has ended.
func (c Counts) Share(o traj.Outcome) float64 {
	var all int64
	for _, n := range c.Outcomes {
		all += n
	}
	if all == 0 {
		return 0
	}
	return float64(c.Outcomes[o]) / float64(all)
}

func (c Counts) clone() Counts {
	c.Dropped, c.Outcomes = maps.Clone(c.Dropped), maps.Clone(c.Outcomes)
	return c
}

// train counts a group that trains: its graded rollouts, and by their outcome those that failed.
func (c *Counts) train(g *traj.Group) {
	for _, r := range g.Rollouts {
		if r.Outcome.Graded() {
			c.Trained++
		} else {
			c.Dropped[string(r.Outcome)]++
		}
	}
}

// drop counts a group that does not train: its graded rollouts by why, and by their outcome those that failed.
func (c *Counts) drop(g *traj.Group, why string) {
	for _, r := range g.Rollouts {
		if r.Outcome.Graded() {
			c.Dropped[why]++
		} else {
			c.Dropped[string(r.Outcome)]++
		}
	}
}

// settled is the number of rollouts that have come to their end.
func (c Counts) settled() int64 {
	n := c.Trained + c.Evaluated
	for _, dropped := range c.Dropped {
		n += dropped
	}
	return n
}

// Counts returns the numbers so far.
func (s *Scheduler) Counts() Counts { return s.counts.clone() }

// InFlight counts the rollouts that were dispatched and have come to no end yet: waiting, running, or in a group or
// batch that was not delivered.
func (s *Scheduler) InFlight() int64 {
	n := 0
	for _, g := range s.live() {
		n += len(g.samples)
	}
	for _, b := range s.ready {
		for _, g := range b.Groups {
			n += len(g.Rollouts)
		}
	}
	return int64(n)
}

// Conserve checks that no rollout was lost or counted twice:
// dispatched = trained + dropped + evaluated + in flight.
func (s *Scheduler) Conserve() error {
	if settled, flying := s.counts.settled(), s.InFlight(); s.counts.Dispatched != settled+flying {
		return fmt.Errorf("sched: %d rollouts dispatched, but %d trained, dropped or evaluated and %d in flight",
			s.counts.Dispatched, settled, flying)
	}
	busy := 0
	for _, g := range s.live() {
		for i := range g.samples {
			if st := g.samples[i].state; st == running || st == stopping {
				busy++
			}
		}
	}
	if busy != s.running || busy > s.c.Capacity {
		return fmt.Errorf("sched: %d attempts are running, %d counted, with a capacity of %d", busy, s.running, s.c.Capacity)
	}
	return nil
}
