package run

import (
	"testing"
)

func TestRoughly(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.1: "a few seconds", 12: "about 10 s", 57: "about 60 s", 100: "about 2 min", 3600: "about 60 min", 6000: "about 2 h", 200_000: "about 2 days",
	} {
		if got := roughly(seconds); got != want {
			t.Errorf("%v s: %s, want %s", seconds, got, want)
		}
	}
}

// TestPlannedTime: twice the work takes twice the time, and what is known in advance is no bound.
func TestPlannedTime(t *testing.T) {
	c := microRL(t)
	p, err := preflight(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	once := p.effort()
	if once.trained != 4*12*160 || once.generated != (4*12+3*3)*15 {
		t.Errorf("%+v: want 4 batches of 12 rollouts of at most 160 tokens, of which 15 are sampled, and three evaluations of 3", once)
	}
	p.steps *= 2
	if twice := p.effort(); twice.trained != 2*once.trained {
		t.Errorf("twice as long: %+v after %+v", twice, once)
	}
	if s := once.seconds(); !(s > 0 && s < 60) {
		t.Errorf("%v s", s)
	}
	plan, err := PlanSFT(t.Context(), microSFT(t))
	if err != nil || plan.Bound || plan.Seconds <= 0 {
		t.Errorf("%+v, %v", plan, err)
	}
}
