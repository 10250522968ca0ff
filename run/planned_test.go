package run

import (
	"testing"

	"molt/run/finetune"
)

// TestPlannedTime: twice the work takes twice the time, and what is known in advance is no bound.
func TestPlannedTime(t *testing.T) {
	c := microRL(t)
	p, err := preflight(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	once := p.effort()
	if once.Trained != 4*12*160 || once.Generated != (4*12+3*3)*15 {
		t.Errorf("%+v: want 4 batches of 12 rollouts of at most 160 tokens, of which 15 are sampled, and three evaluations of 3", once)
	}
	p.steps *= 2
	if twice := p.effort(); twice.Trained != 2*once.Trained {
		t.Errorf("twice as long: %+v after %+v", twice, once)
	}
	if s := once.Seconds(); !(s > 0 && s < 60) {
		t.Errorf("%v s", s)
	}
	plan, err := finetune.Plan(t.Context(), microSFT(t))
	if err != nil || plan.Bound || plan.Seconds <= 0 {
		t.Errorf("%+v, %v", plan, err)
	}
}
