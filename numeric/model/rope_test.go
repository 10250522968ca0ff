package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSincos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1<<20).Draw(t, "x")
		sin, cos := sincos(x)
		wantSin, wantCos := math.Sincos(x)
		if math.Abs(sin-wantSin) > 4e-16 || math.Abs(cos-wantCos) > 4e-16 {
			t.Fatalf("sincos(%v) = %v, %v, want %v, %v", x, sin, cos, wantSin, wantCos)
		}
	})
}

func TestRopeTable(t *testing.T) {
	for _, c := range []Config{
		{HeadDim: 128, MaxPositions: 40, RopeTheta: 1e6}, {HeadDim: 8, MaxPositions: 40, RopeTheta: 10000},
		{HeadDim: 2, MaxPositions: 40, RopeTheta: 500}, {HeadDim: 64, MaxPositions: 40, RopeTheta: 1},
	} {
		r := newRope(c, func(n int) []float32 { return make([]float32, n) })
		for i := range c.HeadDim / 2 {
			frequency := float32(math.Pow(c.RopeTheta, -float64(2*i)/float64(c.HeadDim)))
			for p := range c.MaxPositions {
				cos, sin := r.at(p)
				near(t, "cos", i, cos[i], math.Cos(float64(float32(p)*frequency)), 1e-7)
				near(t, "sin", i, sin[i], math.Sin(float64(float32(p)*frequency)), 1e-7)
			}
		}
	}
}
