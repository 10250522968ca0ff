package local

import (
	"math"
	"strings"
	"testing"
)

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want []float64 // of steps 0, 1, 2, …
	}{
		{Schedule{Kind: "constant", LR: 8}, []float64{8, 8, 8}},
		{Schedule{Kind: "constant", LR: 8, Warmup: 4}, []float64{2, 4, 6, 8, 8, 8}},
		{Schedule{Kind: "linear", LR: 8, Steps: 4}, []float64{8, 6, 4, 2, 0, 0}},
		{Schedule{Kind: "linear", LR: 10, Warmup: 2, Steps: 6, MinRatio: 0.2}, []float64{5, 10, 10, 8, 6, 4, 2, 2}},
		{Schedule{Kind: "cosine", LR: 8, Steps: 4}, []float64{8, 4 + 2*math.Sqrt2, 4, 4 - 2*math.Sqrt2, 0, 0}},
		{Schedule{Kind: "cosine", LR: 10, Warmup: 1, Steps: 3, MinRatio: 0.1}, []float64{10, 10, 5.5, 1, 1}},
		{Schedule{Kind: "wsd", LR: 8, Steps: 8, Decay: 0.5}, []float64{8, 8, 8, 8, 8, 4, 8 - 4*math.Sqrt2, 8 - 4*math.Sqrt(3), 0, 0}},
		{Schedule{Kind: "wsd", LR: 10, Warmup: 2, Steps: 7, Decay: 4.0 / 7, MinRatio: 0.2}, []float64{5, 10, 10, 10, 6, 10 - 4*math.Sqrt2, 10 - 4*math.Sqrt(3), 2, 2}},
	} {
		if err := c.s.Validate(); err != nil {
			t.Error(err)
		}
		for step, want := range c.want {
			if got := c.s.At(int64(step)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%+v: step %d takes %v; want %v", c.s, step, got, want)
			}
		}
	}
}

func TestScheduleValidate(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want string
	}{
		{Schedule{Kind: "step", LR: 1, Steps: 1}, `"step" is unknown; use one of constant, linear, cosine, wsd`},
		{Schedule{Kind: "wsd", LR: 1, Steps: 10}, "goes down over 0 of its steps"},
		{Schedule{Kind: "wsd", LR: 1, Steps: 10, Decay: math.NaN()}, "goes down over NaN of its steps"},
		{Schedule{Kind: "wsd", LR: 1, Steps: 10, Warmup: 6, Decay: 0.5}, "goes down from step 5 on, but warms up until step 6"},

		{Schedule{Kind: "linear", LR: math.NaN(), Steps: 1}, "learning rate NaN"},
		{Schedule{Kind: "linear", LR: math.Inf(1), Steps: 1}, "learning rate +Inf"},
		{Schedule{Kind: "linear", LR: -1, Steps: 1}, "learning rate -1"},
		{Schedule{Kind: "cosine", LR: 1, Warmup: 5, Steps: 5}, "5 steps, 5 of them warm-up"},
		{Schedule{Kind: "constant", LR: 1, Warmup: -1}, "-1 steps"},
		{Schedule{Kind: "constant", LR: 1, MinRatio: 1.5}, "1.5 of the learning rate"},
	} {
		if err := c.s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v; want %q", c.s, err, c.want)
		}
	}
}
