package model

import (
	"math"
	"strings"
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
		r := newRope(c.RopeTheta, c.Scaling, c.HeadDim/2, c.MaxPositions, func(n int) []float32 { return make([]float32, n) })
		for i := range c.HeadDim / 2 {
			frequency := 1 / float32(math.Pow(c.RopeTheta, float64(float32(2*i)/float32(c.HeadDim))))
			for p := range c.MaxPositions {
				cos, sin := r.at(p)
				near(t, "cos", i, cos[i], math.Cos(float64(float32(p)*frequency)), 1e-7)
				near(t, "sin", i, sin[i], math.Sin(float64(float32(p)*frequency)), 1e-7)
			}
		}
	}
}

// The scalings that no shape uses, and the sentences about those that make no sense. The values are those of transformers'
// ROPE_INIT_FUNCTIONS, to six digits.
func TestScalings(t *testing.T) {
	short := []float64{1, 2, 4, 8}
	for _, c := range []struct {
		scaling   Scaling
		want      [4]float64 // frequencies
		attention float64
	}{
		{Scaling{Type: "dynamic", Factor: 4}, [4]float64{1, 0.1, 0.01, 0.001}, 1},
		{Scaling{Type: "linear", Factor: 4}, [4]float64{0.25, 0.025, 0.0025, 0.00025}, 1},
		{Scaling{Type: "longrope", Factor: 32, Original: 64, Short: short}, [4]float64{1, 0.05, 0.0025, 0.000125}, 1.354006},
		{Scaling{Type: "longrope", Factor: 1, Original: 64, Short: short, Attention: 1.5}, [4]float64{1, 0.05, 0.0025, 0.000125}, 1.5},
		{Scaling{Type: "yarn", Factor: 4, Original: 4096, BetaFast: 32, BetaSlow: 1, Exact: true},
			[4]float64{1, 0.1, 0.00655697, 0.00025}, 1.138629},
	} {
		if err := c.scaling.validate(4); err != nil {
			t.Error(err)
		}
		got := c.scaling.frequencies(10000, 4)
		for i, want := range c.want {
			if math.Abs(float64(got[i])-want) > 2e-6*want {
				t.Errorf("%+v: frequency %d is %g, want %g", c.scaling, i, got[i], want)
			}
		}
		if got := float64(c.scaling.attention()); math.Abs(got-c.attention) > 1e-6 {
			t.Errorf("%+v: attention factor %g, want %g", c.scaling, got, c.attention)
		}
	}
	for want, s := range map[string]Scaling{
		"is none of":              {Type: "ntk", Factor: 2},
		"factor 0.5":              {Type: "linear", Factor: 0.5},
		"original positions 0":    {Type: "yarn", Factor: 2},
		"low frequency factor 4":  {Type: "llama3", Factor: 2, Original: 9, LowFreq: 4, HighFreq: 1},
		"slow beta 0":             {Type: "yarn", Factor: 2, Original: 9},
		"attention factor -1":     {Type: "linear", Factor: 2, Attention: -1},
		"1 short factors":         {Type: "longrope", Factor: 2, Original: 9, Short: short[:1]},
		"must be above 0 and at ": {Type: "longrope", Factor: 2, Original: 9, Short: make([]float64, 4)},
	} {
		if err := s.validate(4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", s, err, want)
		}
	}
}
