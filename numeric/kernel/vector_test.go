package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// operators calls each operator over slices of one length, with scalars, and returns its scalar results. Every slice is
// compared afterwards, so each is either written or must stay as it was.
var operators = []struct {
	name   string
	slices int
	call   func(x [][]float32, s []float32) []float32
}{
	{"Add", 2, func(x [][]float32, _ []float32) []float32 { Add(x[0], x[1]); return nil }},
	{"Sub", 2, func(x [][]float32, _ []float32) []float32 { Sub(x[0], x[1]); return nil }},
	{"Mul", 2, func(x [][]float32, _ []float32) []float32 { Mul(x[0], x[1]); return nil }},
	{"Scale", 1, func(x [][]float32, s []float32) []float32 { Scale(x[0], s[0]); return nil }},
	{"Axpy", 2, func(x [][]float32, s []float32) []float32 { Axpy(x[0], s[0], x[1]); return nil }},
	{"Dot", 2, func(x [][]float32, _ []float32) []float32 { return []float32{Dot(x[0], x[1])} }},
	{"Max", 1, func(x [][]float32, _ []float32) []float32 { return []float32{Max(x[0])} }},
	{"SumSquares", 1, func(x [][]float32, _ []float32) []float32 {
		bits := math.Float64bits(SumSquares(x[0]))
		return []float32{math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits >> 32))}
	}},
	{"Exp", 2, func(x [][]float32, _ []float32) []float32 { Exp(x[0], x[1]); return nil }},
	{"Softmax", 1, func(x [][]float32, s []float32) []float32 {
		Softmax(x[0], len(x[0]), positive(s[0]))
		return nil
	}},
	{"Softmax of a prefix", 1, func(x [][]float32, s []float32) []float32 {
		Softmax(x[0], len(x[0])*2/3, positive(s[0]))
		return nil
	}},
	{"SoftmaxBackward", 2, func(x [][]float32, s []float32) []float32 {
		SoftmaxBackward(x[0], x[1], len(x[0])*3/4, positive(s[0]))
		return nil
	}},
	{"LogSumExp", 2, func(x [][]float32, _ []float32) []float32 {
		l := NewLogSumExp()
		l.Add(x[0])
		first := l
		l.Add(x[1])
		return []float32{first.max, first.sum, first.dot, l.max, l.sum, l.dot, l.Value(), l.Entropy()}
	}},
	{"LogSumExpBackward", 1, func(x [][]float32, s []float32) []float32 {
		LogSumExpBackward(x[0], s[0], s[1], s[2], s[3], s[4])
		return nil
	}},
	{"SwiGLU", 3, func(x [][]float32, _ []float32) []float32 { SwiGLU(x[0], x[1], x[2]); return nil }},
	{"SwiGLU in place", 2, func(x [][]float32, _ []float32) []float32 { SwiGLU(x[0], x[0], x[1]); return nil }},
	{"SwiGLUBackward", 5, func(x [][]float32, _ []float32) []float32 {
		SwiGLUBackward(x[0], x[1], x[2], x[3], x[4])
		return nil
	}},
	{"SwiGLUBackward in place", 3, func(x [][]float32, _ []float32) []float32 {
		SwiGLUBackward(x[0], x[1], x[2], x[0], x[1])
		return nil
	}},
	{"RMSNorm", 3, func(x [][]float32, s []float32) []float32 {
		var rstd [1]float32
		RMSNorm(x[0], x[1], x[2], rstd[:], 1, len(x[0]), positive(s[0]))
		return rstd[:]
	}},
	{"RMSNormBackward", 4, func(x [][]float32, s []float32) []float32 {
		RMSNormBackward(x[0], x[1], x[2], x[3], s[:1], 1, len(x[0]))
		return nil
	}},
	{"RMSNormBackwardWeight", 3, func(x [][]float32, s []float32) []float32 {
		RMSNormBackwardWeight(x[0], x[1], x[2], s[:1], 1, len(x[0]), len(x[0]))
		return nil
	}},
	{"Rope", 3, func(x [][]float32, _ []float32) []float32 {
		if half := len(x[0]) / 2; half > 0 {
			Rope(x[0][:2*half], x[1][:half], x[2][:half], 2*half)
		}
		return nil
	}},
	{"RopeBackward", 3, func(x [][]float32, _ []float32) []float32 {
		if half := len(x[0]) / 2; half > 0 {
			RopeBackward(x[0][:2*half], x[1][:half], x[2][:half], 2*half)
		}
		return nil
	}},
	{"AdamW", 4, func(x [][]float32, s []float32) []float32 {
		for i, v := range x[2] {
			x[2][i] = positive(v)
		}
		AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1, GradScale: float64(s[0]), Step: 3}.Update(x[0], x[1], x[2], x[3])
		return nil
	}},
}

func positive(x float32) float32 { return float32(math.Abs(float64(x))) }

// hard are the values at which arithmetic changes its ways.
var hard = []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-127, -0x1p-130, math.MaxFloat32, -math.MaxFloat32,
	88.7, 88.73, 89, 90, -87, -88, -100, -103.9, -104, -105, -106, 1e-30, 1e30, 0.5, 3e38}

func TestVectorPathsMatchPlain(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, o := range operators {
			t.Run(o.name, func(t *testing.T) {
				for n := range 150 {
					for _, odds := range []int{0, 30, 3} {
						checkOperator(t, o.call, randomCase(r, o.slices, n, odds), n)
					}
				}
			})
		}
	})
}

// operands are slices with a margin around them that no operator may touch.
type operands struct{ whole, inner [][]float32 }

const margin = 17

// randomCase draws slices of n elements, one in odds of them hard (none for odds 0), and five scalars.
func randomCase(r *rand.Rand, count, n, odds int) operands {
	var o operands
	for i := range count + 1 {
		size := n
		if i == count {
			size = 5
		}
		w := random(r, size+2*margin)
		for j := range w {
			w[j] *= 4
			if odds > 0 && r.IntN(odds) == 0 {
				w[j] = hard[r.IntN(len(hard))]
			}
		}
		o.whole = append(o.whole, w)
		o.inner = append(o.inner, w[margin:][:size:size])
	}
	return o
}

func (o operands) clone() operands {
	var c operands
	for i, w := range o.whole {
		w := slices.Clone(w)
		c.whole = append(c.whole, w)
		c.inner = append(c.inner, w[margin:][:len(o.inner[i]):len(o.inner[i])])
	}
	return c
}

func (o operands) apply(call func([][]float32, []float32) []float32) []float32 {
	last := len(o.inner) - 1
	return call(o.inner[:last], o.inner[last])
}

func checkOperator(t *testing.T, call func([][]float32, []float32) []float32, o operands, n int) {
	t.Helper()
	fast, slow := o.clone(), o.clone()
	got := fast.apply(call)
	restore := SetPath(PathPlain)
	want := slow.apply(call)
	restore()
	if i := diff(got, want); i >= 0 {
		t.Fatalf("n=%d: result %d = %v, plain %v\n%v", n, i, got[i], want[i], o.inner)
	}
	for s := range fast.whole {
		if i := diff(fast.whole[s], slow.whole[s]); i >= 0 {
			t.Fatalf("n=%d: slice %d [%d] = %v, plain %v\nfrom %v", n, s, i-margin, fast.whole[s][i], slow.whole[s][i], o.inner)
		}
	}
}
