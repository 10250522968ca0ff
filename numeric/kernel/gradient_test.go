package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every forward against its formula, and every backward against finite differences of the formula. The loss is sum(dy*y).

func TestSoftmaxAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n, padded, scale = 21, 32, 0.7
		x, dp := random(r, padded), random(r, padded)
		p := slices.Clone(x)
		Softmax(p, n, scale)
		near(t, "p", p[:n], refSoftmax(wide(x[:n]), scale))
		dx := slices.Clone(dp)
		SoftmaxBackward(dx, p, n, scale)
		near(t, "dx", dx[:n], gradient(func(x []float64) float64 { return refDot(wide(dp[:n]), refSoftmax(x, scale)) }, x[:n]))
		for i := n; i < padded; i++ {
			if math.Float32bits(p[i]) != 0 || math.Float32bits(dx[i]) != 0 {
				t.Errorf("past the row: p[%d] = %v, dx = %v", i, p[i], dx[i])
			}
		}
	})
}

func TestSoftmaxOfNaNAndNothing(t *testing.T) {
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		p := make([]float32, 20)
		p[18] = float32(math.NaN())
		Softmax(p, 19, 1)
		for i, v := range p[:19] {
			if v == v {
				t.Errorf("beside a NaN p[%d] = %v", i, v)
			}
		}
		Softmax(p, 0, 1)
		if i := diff(p, make([]float32, 20)); i >= 0 {
			t.Errorf("with n = 0, p[%d] = %v", i, p[i])
		}
	})
}

func TestLogSumExpAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n, target, temperature, dLogp, dEntropy = 37, 5, 1.3, 0.8, -0.4
		z := random(r, n)
		x := slices.Clone(z)
		Scale(x, 1/temperature)
		s := NewLogSumExp()
		s.Add(x[:16])
		s.Add(x[16:])
		near(t, "value, entropy", []float32{s.Value(), s.Entropy()}, []float64{refLogSumExp(wide(x)), refEntropy(wide(x))})
		dz := slices.Clone(x)
		LogSumExpBackward(dz, s.Value(), s.Entropy(), dLogp, dEntropy, 1/temperature)
		dz[target] += dLogp / temperature
		near(t, "dz", dz, gradient(func(z []float64) float64 {
			x := slices.Clone(z)
			for i := range x {
				x[i] /= temperature
			}
			return dLogp*(x[target]-refLogSumExp(x)) + dEntropy*refEntropy(x)
		}, z))
	})
}

func TestLogSumExpOfImpossibleTokens(t *testing.T) {
	inf := float32(math.Inf(1))
	s := NewLogSumExp()
	s.Add([]float32{-inf, -inf})
	s.Add([]float32{-inf, 2, 2})
	s.Add([]float32{-inf})
	near(t, "value, entropy", []float32{s.Value(), s.Entropy()}, []float64{2 + math.Ln2, math.Ln2})
	s.Add([]float32{float32(math.NaN()), 1})
	if v := s.Value(); v == v {
		t.Errorf("with a NaN among the logits the value is %v", v)
	}
}

func TestSwiGLUAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n = 19
		gate, up, dy := random(r, n), random(r, n), random(r, n)
		y, dgate, dup := make([]float32, n), make([]float32, n), make([]float32, n)
		SwiGLU(y, gate, up)
		near(t, "y", y, refSwiGLU(wide(gate), wide(up)))
		SwiGLUBackward(dgate, dup, dy, gate, up)
		near(t, "dgate", dgate, gradient(func(g []float64) float64 { return refDot(wide(dy), refSwiGLU(g, wide(up))) }, gate))
		near(t, "dup", dup, gradient(func(u []float64) float64 { return refDot(wide(dy), refSwiGLU(wide(gate), u)) }, up))
	})
}

func TestGeGLUAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n = 19
		gate, up, dy := random(r, n), random(r, n), random(r, n)
		y, dgate, dup := make([]float32, n), make([]float32, n), make([]float32, n)
		GeGLU(y, gate, up)
		near(t, "y", y, refGeGLU(wide(gate), wide(up)))
		GeGLUBackward(dgate, dup, dy, gate, up)
		near(t, "dgate", dgate, gradient(func(g []float64) float64 { return refDot(wide(dy), refGeGLU(g, wide(up))) }, gate))
		near(t, "dup", dup, gradient(func(u []float64) float64 { return refDot(wide(dy), refGeGLU(wide(gate), u)) }, up))
	})
}

func TestSoftcapAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n, scale, limit = 21, 0.7, 3
		x, dy := random(r, n), random(r, n)
		Scale(x, 3)
		y := slices.Clone(x)
		Softcap(y, scale, limit)
		near(t, "y", y, refSoftcap(wide(x), scale, limit))
		dx := slices.Clone(dy)
		SoftcapBackward(dx, y, scale, limit)
		near(t, "dx", dx, gradient(func(x []float64) float64 { return refDot(wide(dy), refSoftcap(x, scale, limit)) }, x))
	})
}

// A cap far above the argument changes it by little, and what it changes must not drown in rounding: tanh near 0 and at its
// ends.
func TestSoftcapIsAccurateEverywhere(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		for e := -120; e < 12; e++ {
			x := float32(math.Ldexp(1+r.Float64(), e))
			y := []float32{x, -x}
			Softcap(y, 1, 1)
			want := math.Tanh(float64(x))
			if math.Abs(float64(y[0])-want) > 4e-7*want || math.Abs(float64(y[1])+want) > 4e-7*want {
				t.Errorf("tanh(%g) = %g and %g, want %g", x, y[0], y[1], want)
			}
		}
	})
}

func TestRMSNormAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const rows, n, eps = 3, 18, 1e-3
		x, w, dy := random(r, rows*n), random(r, n), random(r, rows*n)
		y, rstd := make([]float32, rows*n), make([]float32, rows)
		RMSNorm(y, x, w, rstd, rows, n, eps)
		near(t, "y", y, refRMSNorm(wide(x), wide(w), eps))

		dx, dw := random(r, rows*n), random(r, n)
		wantX := gradient(func(x []float64) float64 { return refDot(wide(dy), refRMSNorm(x, wide(w), eps)) }, x)
		wantW := gradient(func(w []float64) float64 { return refDot(wide(dy), refRMSNorm(wide(x), w, eps)) }, w)
		for i, v := range dx {
			wantX[i] += float64(v)
		}
		for i, v := range dw {
			wantW[i] += float64(v)
		}
		RMSNormBackward(dx, dy, x, w, rstd, rows, n)
		near(t, "dx", dx, wantX)
		const cut = 7 // by columns, as two workers would
		RMSNormBackwardWeight(dw, dy, x, rstd, rows, cut, n)
		RMSNormBackwardWeight(dw[cut:], dy[cut:], x[cut:], rstd, rows, n-cut, n)
		near(t, "dw", dw, wantW)
	})
}

func TestRopeAndGradient(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		for _, hd := range []int{2, 8, 32, 36, 128} {
			const heads = 3
			x, dy, angle := random(r, heads*hd), random(r, heads*hd), random(r, hd/2)
			cos, sin := make([]float32, hd/2), make([]float32, hd/2)
			for i, a := range angle {
				cos[i], sin[i] = float32(math.Cos(float64(a))), float32(math.Sin(float64(a)))
			}
			y := slices.Clone(x)
			Rope(y, cos, sin, hd)
			near(t, "y", y, refRope(wide(x), wide(cos), wide(sin)))
			dx := slices.Clone(dy)
			RopeBackward(dx, cos, sin, hd)
			near(t, "dx", dx, gradient(func(x []float64) float64 { return refDot(wide(dy), refRope(x, wide(cos), wide(sin))) }, x))
			RopeBackward(y, cos, sin, hd)
			near(t, "rotated there and back", y, wide(x))
			if hd > 2 {
				part := slices.Clone(x)
				Rope(part, cos[:1], sin[:1], hd)
				near(t, "rotated in part", append([]float32{part[0], part[1]}, part[2:hd]...),
					append(refRope(wide(x[:2]), wide(cos[:1]), wide(sin[:1])), wide(x[2:hd])...))
			}
		}
	})
}

func TestAdamWSteps(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const n = 23
		a := AdamW{LR: 0.01, Beta1: 0.9, Beta2: 0.99, Eps: 1e-6, Decay: 0.1, GradScale: 0.5}
		w, m, v := random(r, n), make([]float32, n), make([]float32, n)
		rw, rm, rv := wide(w), make([]float64, n), make([]float64, n)
		for a.Step = 1; a.Step <= 4; a.Step++ {
			g := random(r, n)
			a.Update(w, m, v, g)
			for i := range rw {
				d := float64(g[i]) * a.GradScale
				rm[i] = a.Beta1*rm[i] + (1-a.Beta1)*d
				rv[i] = a.Beta2*rv[i] + (1-a.Beta2)*d*d
				mean, square := rm[i]/(1-math.Pow(a.Beta1, float64(a.Step))), rv[i]/(1-math.Pow(a.Beta2, float64(a.Step)))
				rw[i] -= a.LR*a.Decay*rw[i] + a.LR*mean/(math.Sqrt(square)+a.Eps)
			}
			near(t, "w", w, rw)
			near(t, "m", m, rm)
			near(t, "v", v, rv)
		}
	})
}

// One step by hand: both corrected moments are the gradient itself, so the step is LR*g/(|g|+Eps) after the decay.
func TestAdamWFirstStep(t *testing.T) {
	w, m, v := []float32{1}, []float32{0}, []float32{0}
	AdamW{LR: 0.1, Beta1: 0.9, Beta2: 0.999, Decay: 0.5, Step: 1}.Update(w, m, v, []float32{-4})
	near(t, "w, m, v", []float32{w[0], m[0], v[0]}, []float64{1 - 0.1*0.5 + 0.1, -0.4, 0.016})
}
