package kernel

import (
	"fmt"
	"math"
)

// AdamW is one optimizer step (Loshchilov and Hutter 2019): decoupled weight decay, bias-corrected moments.
type AdamW struct {
	LR           float64
	Beta1, Beta2 float64
	Eps          float64
	Decay        float64 // weight decay; w shrinks by LR*Decay
	GradScale    float64 // multiplies every gradient first (global-norm clip); 0 means 1
	Step         int     // counts from 1
}

// Update steps the weights w with gradient g and moments m and v in place. Elements are independent, so workers may share
// a tensor.
func (a AdamW) Update(w, m, v, g []float32) {
	checkSame("AdamW.Update", w, m, v, g)
	if a.Step < 1 {
		panic(fmt.Sprintf("kernel: AdamW.Update: step %d: steps count from 1", a.Step))
	}
	f := a.factors()
	adamw(w, m, v, g, &f)
}

// factors are the constants of a step, each rounded once from float64.
type factors struct {
	grad         float32 // GradScale
	beta1, rest1 float32 // Beta1, 1-Beta1
	beta2, rest2 float32
	root         float32 // 1/sqrt(1-Beta2**Step)
	eps          float32
	keep         float32 // 1-LR*Decay
	rate         float32 // LR/(1-Beta1**Step)
}

func (a AdamW) factors() factors {
	scale := a.GradScale
	if scale == 0 {
		scale = 1
	}
	return factors{
		grad:  float32(scale),
		beta1: float32(a.Beta1), rest1: float32(1 - a.Beta1),
		beta2: float32(a.Beta2), rest2: float32(1 - a.Beta2),
		root: float32(1 / math.Sqrt(1-power(a.Beta2, a.Step))),
		eps:  float32(a.Eps),
		keep: float32(1 - float64(a.LR*a.Decay)),
		rate: float32(a.LR / (1 - power(a.Beta1, a.Step))),
	}
}

// power is x**n by squaring: the same operations on every architecture.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

func adamwPlain(w, m, v, g []float32, f *factors) {
	for i := range w {
		d := float32(g[i] * f.grad)
		m[i] = float32(f.beta1*m[i]) + float32(f.rest1*d)
		v[i] = float32(f.beta2*v[i]) + float32(f.rest2*float32(d*d))
		root := float32(math.Sqrt(float64(v[i])))
		step := float32(f.rate*m[i]) / (float32(root*f.root) + f.eps)
		w[i] = float32(w[i]*f.keep) - step
	}
}
