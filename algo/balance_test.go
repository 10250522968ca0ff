package algo

import (
	"math"
	"testing"
)

func TestBalanceLoss(t *testing.T) {
	for _, c := range []struct {
		name   string
		step   Routing
		loss   float64 // at coefficient 2
		dProb  []float64
		worst  float64
		broken int
	}{
		{"balanced: the coefficient itself", Routing{[]int64{2, 2}, []float64{2, 2}, 4}, 2, []float64{.5, .5}, 1, 0},
		{"all to one of two", Routing{[]int64{4, 0}, []float64{3, 1}, 4}, 2 * 2 * .75, []float64{1, 0}, 2, 0},
		{"two experts a token", Routing{[]int64{4, 3, 1}, []float64{2, 1.5, .5}, 4}, 2 * 3 * (.5*.5 + .375*.375 + .125*.125), []float64{.75, .5625, .1875}, 1.5, 0},
		{"a probability that is no number", Routing{[]int64{1, 1}, []float64{math.NaN(), 1}, 2}, 0, []float64{0, 0}, 0, 1},
		{"an infinite one", Routing{[]int64{1, 1}, []float64{math.Inf(1), 1}, 2}, 0, []float64{0, 0}, 0, 1},
		{"no token", Routing{[]int64{0, 0}, []float64{0, 0}, 0}, 0, []float64{0, 0}, 0, 0},
	} {
		d := make([]float64, len(c.dProb))
		s := BalanceLoss(d, c.step, 2)
		nearly(t, c.name+": loss", s.Loss, c.loss)
		nearly(t, c.name+": worst", s.Worst, c.worst)
		near(t, c.name, d, c.dProb...)
		equal(t, c.name+": not finite", s.NonFinite, c.broken)
	}
	mustPanic(t, "lengths", func() { BalanceLoss(make([]float64, 2), Routing{[]int64{1}, []float64{1}, 1}, 1) })
}

// The derivative against finite differences, and through a router's softmax: pushing along it makes routing more even.
func TestBalanceGradientIsTheDerivative(t *testing.T) {
	step := Routing{[]int64{5, 2, 1}, []float64{4, 3, 1}, 8}
	d := make([]float64, 3)
	BalanceLoss(d, step, .01)
	for e := range d {
		const h = 1e-6
		at := func(by float64) float64 {
			moved := Routing{step.Routed, append([]float64(nil), step.Prob...), step.Tokens}
			moved.Prob[e] += by
			return BalanceLoss(make([]float64, 3), moved, .01).Loss
		}
		nearly(t, "derivative", d[e], (at(h)-at(-h))/(2*h))
	}
	if !(d[0] > d[1] && d[1] > d[2]) {
		t.Errorf("%v: the expert with most tokens is pushed down most", d)
	}
}

// How a step was cut into micro-batches changes nothing.
func TestRoutingAddsUp(t *testing.T) {
	var sum Routing
	sum.Add(Routing{[]int64{3, 1}, []float64{2.5, 1.5}, 4})
	sum.Add(Routing{[]int64{0, 2}, []float64{.5, 1.5}, 2})
	d, whole := make([]float64, 2), make([]float64, 2)
	got, want := BalanceLoss(d, sum, 1), BalanceLoss(whole, Routing{[]int64{3, 3}, []float64{3, 3}, 6}, 1)
	equal(t, "statistics", got, want)
	near(t, "derivative", d, whole...)
	got.Add(want)
	nearly(t, "two layers", got.Loss, 2)
	equal(t, "layers", got.Layers, 2)
}
