// Batches: assembled from accepted groups in order of dispatch, sealed when nothing of them is in flight, delivered when
// training asks; and the weights, which change only between them.

package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"molt/traj"
)

// assembly is a batch in the making.
type assembly struct {
	groups  []*group       // accepted or in flight, in order of dispatch
	dropped int            // groups that were replaced, or could not be
	reasons map[string]int // dropped, by reason
}

// busy reports whether a rollout of the groups is still to end.
func busy(groups []*group) bool {
	return slices.ContainsFunc(groups, func(g *group) bool { return g.left > 0 })
}

func (a *assembly) note(why string, n int) {
	if a.reasons == nil {
		a.reasons = map[string]int{}
	}
	a.reasons[why] += n
	a.dropped += n
}

// spent says in a sentence that the batch cost too many groups.
func (a *assembly) spent(batch int64, budget int) string {
	var by []string
	for _, why := range slices.Sorted(maps.Keys(a.reasons)) {
		by = append(by, fmt.Sprintf("%s %d", why, a.reasons[why]))
	}
	return fmt.Sprintf("batch %d dropped more groups than the drop budget of %d: %s", batch, budget, strings.Join(by, ", "))
}

// needs reports whether the batch lacks a group and may still have one. Every dropped group is replaced, up to the budget:
// a batch of B with a budget of D consists of the accepted ones among the first B+D groups, or fewer, in any order of
// events.
func (a *assembly) needs(c *Config) bool {
	return len(a.groups)+a.dropped < c.BatchGroups+min(a.dropped, c.DropBudget)
}

// seal closes the open batch when all its groups are decided and no further one will come.
func (s *Scheduler) seal() {
	if s.drawing || busy(s.open.groups) || (s.open.needs(&s.c) && s.end == "") {
		return
	}
	short := s.short()
	groups := s.open.groups
	s.open = assembly{}
	if len(groups) == 0 {
		return
	}
	s.ready = append(s.ready, s.batch(groups, short))
	s.sealed++
	if s.sealed == s.c.Batches {
		s.stop(fmt.Sprintf("all %d batches are made", s.c.Batches))
	}
}

// short says why the open batch is closed without being full, and ends the run if that must not go on.
func (s *Scheduler) short() string {
	switch {
	case len(s.open.groups) == s.c.BatchGroups:
		return ""
	case s.halted || s.open.dropped <= s.c.DropBudget:
		return s.end
	}
	why := s.open.spent(s.sealed, s.c.DropBudget)
	if !s.c.GoOnShort || len(s.open.groups) == 0 {
		s.stop(why)
	}
	return why
}

func (s *Scheduler) batch(groups []*group, short string) Batch {
	b := Batch{Index: s.sealed, Version: s.serving, Published: s.published, Short: short}
	for _, g := range groups {
		b.Groups = append(b.Groups, g.Group)
	}
	return b
}

// request notes that training asks for a batch.
func (s *Scheduler) request() error {
	switch {
	case s.taking:
		return fmt.Errorf("sched: a second Take while the first waits")
	case len(s.ready) == 0 && s.end == "" && s.behind() && !s.pending:
		return fmt.Errorf("sched: batch %d waits for weights that were never published: publish after each batch, then take the next", s.sealed)
	}
	s.taking = true
	return nil
}

// deliver answers a Take.
func (s *Scheduler) deliver() error {
	if !s.taking {
		return nil
	}
	if len(s.ready) == 0 {
		if s.end != "" && len(s.open.groups) == 0 && !s.drawing {
			s.taking = false
			s.act(End{Why: s.end})
		}
		return nil
	}
	b := s.ready[0]
	if err := s.fresh(b); err != nil {
		return err
	}
	b.Lag = int64(s.learner - b.Version)
	s.ready = slices.Delete(s.ready, 0, 1)
	s.taking = false
	s.taken++
	for _, g := range b.Groups {
		s.counts.train(g)
	}
	s.act(Deliver{Batch: b})
	return nil
}

// fresh checks the bound on lag, in published versions.
func (s *Scheduler) fresh(b Batch) error {
	newest := s.published
	if s.pending {
		newest++
	}
	if lag := newest - b.Published; lag > int64(s.c.MaxLag) {
		return fmt.Errorf("sched: batch %d is %d published versions behind the learner; the bound is %d", b.Index, lag, s.c.MaxLag)
	}
	return nil
}

// publish notes that training made new weights.
func (s *Scheduler) publish(v traj.Version) error {
	switch {
	case s.pending:
		return fmt.Errorf("sched: version %d published while version %d waits to be served", v, s.learner)
	case v < s.learner:
		return fmt.Errorf("sched: version %d published after version %d", v, s.learner)
	case s.published >= s.taken:
		return fmt.Errorf("sched: version %d published, but no batch was taken since version %d", v, s.learner)
	}
	s.pending, s.learner = true, v
	return nil
}

// switchWeights lets new weights be served when every batch that must be sampled by the old ones is made.
func (s *Scheduler) switchWeights() {
	if !s.pending || s.switching || s.drawing || len(s.eval) > 0 || busy(s.open.groups) {
		return
	}
	if s.sealed < s.published+1+int64(s.c.MaxLag) && s.end == "" {
		return
	}
	s.switching = true
	s.act(Switch{Version: s.learner})
}

// servingNew notes that the engines serve what Switch named.
func (s *Scheduler) servingNew() error {
	if !s.switching {
		return fmt.Errorf("sched: new weights are served without a Switch")
	}
	s.pending, s.switching = false, false
	s.serving = s.learner
	s.published++
	return nil
}
