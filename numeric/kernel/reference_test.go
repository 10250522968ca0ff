package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The operators once more, as the formula says, in float64. They judge the values and, by finite differences, the gradients.

func refSoftmax(x []float64, scale float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		y[i] = math.Exp(scale * v)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func refLogSumExp(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v)
	}
	return math.Log(sum)
}

func refEntropy(x []float64) float64 {
	h := 0.0
	for _, p := range refSoftmax(x, 1) {
		h -= p * math.Log(p)
	}
	return h
}

func refSwiGLU(gate, up []float64) []float64 {
	y := make([]float64, len(gate))
	for i, g := range gate {
		y[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return y
}

func refGeGLU(gate, up []float64) []float64 {
	y := make([]float64, len(gate))
	for i, g := range gate {
		y[i] = g / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g))) * up[i]
	}
	return y
}

func refSoftcap(x []float64, scale, limit float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = limit * math.Tanh(scale*v/limit)
	}
	return y
}

func refRMSNorm(x, w []float64, eps float64) []float64 {
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += len(w) {
		sum := 0.0
		for _, v := range x[r:][:len(w)] {
			sum += v * v
		}
		for i, g := range w {
			y[r+i] = x[r+i] / math.Sqrt(sum/float64(len(w))+eps) * g
		}
	}
	return y
}

func refRope(x, cos, sin []float64) []float64 {
	half := len(cos)
	y := make([]float64, len(x))
	for h := 0; h < len(x); h += 2 * half {
		for i := range half {
			a, b := x[h+i], x[h+i+half]
			y[h+i], y[h+i+half] = a*cos[i]-b*sin[i], b*cos[i]+a*sin[i]
		}
	}
	return y
}

func refDot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// gradient is the central difference of f at x.
func gradient(f func(x []float64) float64, x []float32) []float64 {
	const h = 1e-5
	at, g := wide(x), make([]float64, len(x))
	for i, v := range at {
		at[i] = v + h
		up := f(at)
		at[i] = v - h
		g[i] = (up - f(at)) / (2 * h)
		at[i] = v
	}
	return g
}

// near fails unless got is want to a relative 1e-5, or to 1e-5 where want is small.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if e := math.Abs(float64(got[i]) - w); !(e <= 1e-5*max(1, math.Abs(w))) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], w)
		}
	}
}

// onEveryPath runs f with a seeded source on each path of this machine, the plain one included.
func onEveryPath(t *testing.T, f func(t *testing.T, r *rand.Rand)) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			defer SetPath(path)()
			f(t, rand.New(rand.NewPCG(11, 12)))
		})
	}
}
