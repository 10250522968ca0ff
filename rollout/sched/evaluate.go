// Evaluation: held-out prompts run beside training, under the weights that serve, with ordinals of their own.

package sched

import "fmt"

// evaluate admits the groups of an evaluation. Prompt i becomes group -1-i, in every evaluation: two evaluations of the
// same prompts draw the same random numbers and differ by their weights alone.
func (s *Scheduler) evaluate(e Evaluate) error {
	switch {
	case len(s.eval) > 0:
		return fmt.Errorf("sched: an evaluation while another is running")
	case len(e.Prompts) == 0 || e.Samples < 1:
		return fmt.Errorf("sched: an evaluation of %d prompts, %d samples each; want 1 or more of both", len(e.Prompts), e.Samples)
	case s.halted:
		return fmt.Errorf("sched: an evaluation after the run was stopped: %s", s.end)
	}
	for i, p := range e.Prompts {
		s.eval = append(s.eval, newGroup(int64(-1-i), p, e.Samples))
	}
	s.counts.Dispatched += int64(len(e.Prompts) * e.Samples)
	return nil
}

// evaluated hands the evaluation over once its last group has ended.
func (s *Scheduler) evaluated() {
	if busy(s.eval) {
		return
	}
	a := Evaluated{Version: s.serving}
	for _, g := range s.eval {
		a.Groups = append(a.Groups, g.Group)
		s.counts.Evaluated += int64(len(g.Rollouts))
	}
	s.eval = nil
	s.act(a)
}
