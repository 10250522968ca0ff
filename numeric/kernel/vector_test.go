package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// results are the numbers that an operator returns.
type results [8]float32

type operator func(x [][]float32, s []float32) results

// operators calls each operator over slices of one length, with scalars, and returns its scalar results. Every slice is
// compared afterwards, so each is either written or must stay as it was.
var operators = []struct {
	name   string
	slices int
	call   operator
}{
	{"Add", 2, func(x [][]float32, _ []float32) results { Add(x[0], x[1]); return results{} }},
	{"Sub", 2, func(x [][]float32, _ []float32) results { Sub(x[0], x[1]); return results{} }},
	{"Mul", 2, func(x [][]float32, _ []float32) results { Mul(x[0], x[1]); return results{} }},
	{"Scale", 1, func(x [][]float32, s []float32) results { Scale(x[0], s[0]); return results{} }},
	{"Axpy", 2, func(x [][]float32, s []float32) results { Axpy(x[0], s[0], x[1]); return results{} }},
	{"Dot", 2, func(x [][]float32, _ []float32) results { return results{Dot(x[0], x[1])} }},
	{"Max", 1, func(x [][]float32, _ []float32) results { return results{Max(x[0])} }},
	{"SumSquares", 1, func(x [][]float32, _ []float32) results {
		sum := SumSquares(x[0])
		return results{float32(sum), float32(sum - float64(float32(sum)))}
	}},
	{"Exp", 2, func(x [][]float32, _ []float32) results { Exp(x[0], x[1]); return results{} }},
	{"Softmax", 1, func(x [][]float32, s []float32) results {
		Softmax(x[0], len(x[0]), positive(s[0]))
		return results{}
	}},
	{"Softmax of a prefix", 1, func(x [][]float32, s []float32) results {
		Softmax(x[0], len(x[0])*2/3, positive(s[0]))
		return results{}
	}},
	{"SoftmaxBackward", 2, func(x [][]float32, s []float32) results {
		SoftmaxBackward(x[0], x[1], len(x[0])*3/4, positive(s[0]))
		return results{}
	}},
	{"LogSumExp", 2, func(x [][]float32, _ []float32) results {
		l := NewLogSumExp()
		l.Add(x[0])
		first := l
		l.Add(x[1])
		return results{first.max, first.sum, first.dot, l.max, l.sum, l.dot, l.Value(), l.Entropy()}
	}},
	{"LogSumExpBackward", 1, func(x [][]float32, s []float32) results {
		LogSumExpBackward(x[0], s[0], s[1], s[2], s[3], s[4])
		return results{}
	}},
	{"SwiGLU", 3, func(x [][]float32, _ []float32) results { SwiGLU(x[0], x[1], x[2]); return results{} }},
	{"SwiGLU in place", 2, func(x [][]float32, _ []float32) results { SwiGLU(x[0], x[0], x[1]); return results{} }},
	{"SwiGLUBackward", 5, func(x [][]float32, _ []float32) results {
		SwiGLUBackward(x[0], x[1], x[2], x[3], x[4])
		return results{}
	}},
	{"SwiGLUBackward in place", 3, func(x [][]float32, _ []float32) results {
		SwiGLUBackward(x[0], x[1], x[2], x[0], x[1])
		return results{}
	}},
	{"RMSNorm", 3, func(x [][]float32, s []float32) results {
		var rstd [1]float32
		RMSNorm(x[0], x[1], x[2], rstd[:], 1, len(x[0]), positive(s[0]))
		return results{rstd[0]}
	}},
	{"RMSNormBackward", 4, func(x [][]float32, s []float32) results {
		RMSNormBackward(x[0], x[1], x[2], x[3], s[:1], 1, len(x[0]))
		return results{}
	}},
	{"RMSNormBackwardWeight", 3, func(x [][]float32, s []float32) results {
		RMSNormBackwardWeight(x[0], x[1], x[2], s[:1], 1, len(x[0]), len(x[0]))
		return results{}
	}},
	{"Rope", 3, func(x [][]float32, _ []float32) results {
		if half := len(x[0]) / 2; half > 0 {
			Rope(x[0][:2*half], x[1][:half], x[2][:half], 2*half)
		}
		return results{}
	}},
	{"RopeBackward", 3, func(x [][]float32, _ []float32) results {
		if half := len(x[0]) / 2; half > 0 {
			RopeBackward(x[0][:2*half], x[1][:half], x[2][:half], 2*half)
		}
		return results{}
	}},
	{"AdamW", 4, func(x [][]float32, s []float32) results {
		Mul(x[2], x[2]) // a second moment is not negative
		AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1, GradScale: float64(s[0]), Step: 3}.Update(x[0], x[1], x[2], x[3])
		return results{}
	}},
	{"GeGLU", 3, func(x [][]float32, _ []float32) results { GeGLU(x[0], x[1], x[2]); return results{} }},
	{"GeGLUBackward", 5, func(x [][]float32, _ []float32) results {
		GeGLUBackward(x[0], x[1], x[2], x[3], x[4])
		return results{}
	}},
	{"GeGLUBackward in place", 3, func(x [][]float32, _ []float32) results {
		GeGLUBackward(x[0], x[1], x[2], x[0], x[1])
		return results{}
	}},
	{"Softcap", 1, func(x [][]float32, s []float32) results { Softcap(x[0], s[0], positive(s[1])); return results{} }},
	{"SoftcapBackward", 2, func(x [][]float32, s []float32) results {
		SoftcapBackward(x[0], x[1], s[0], positive(s[1]))
		return results{}
	}},
	{"Rope of a part", 3, func(x [][]float32, _ []float32) results {
		if half := len(x[0]) / 3; half > 0 {
			Rope(x[0][:3*half], x[1][:half], x[2][:half], 3*half)
			RopeBackward(x[1][:3*half], x[0][:half], x[2][:half], 3*half)
		}
		return results{}
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
		x := random(r, size)
		for j := range x {
			x[j] *= 4
			if odds > 0 && r.IntN(odds) == 0 {
				x[j] = hard[r.IntN(len(hard))]
			}
		}
		o.add(x)
	}
	return o
}

// add appends a copy of x with a margin.
func (o *operands) add(x []float32) {
	w := make([]float32, len(x)+2*margin)
	for i := range w {
		w[i] = float32(i)
	}
	copy(w[margin:], x)
	o.whole = append(o.whole, w)
	o.inner = append(o.inner, w[margin:][:len(x):len(x)])
}

func (o operands) clone() operands {
	var c operands
	for _, x := range o.inner {
		c.add(x)
	}
	return c
}

func (o operands) apply(call operator) results {
	last := len(o.inner) - 1
	return call(o.inner[:last], o.inner[last])
}

func checkOperator(t *testing.T, call operator, o operands, n int) {
	t.Helper()
	fast, slow := o.clone(), o.clone()
	got := fast.apply(call)
	restore := SetPath(PathPlain)
	want := slow.apply(call)
	restore()
	if i := diff(got[:], want[:]); i >= 0 {
		t.Fatalf("n=%d: result %d = %v, plain %v\n%v", n, i, got[i], want[i], o.inner)
	}
	for s := range fast.whole {
		if i := diff(fast.whole[s], slow.whole[s]); i >= 0 {
			t.Fatalf("n=%d: slice %d [%d] = %v, plain %v\nfrom %v", n, s, i-margin, fast.whole[s][i], slow.whole[s][i], o.inner)
		}
	}
}

// FuzzOperators reads the operands as bits, so that it finds any value.
func FuzzOperators(f *testing.F) {
	f.Add(uint8(0), []byte("some bytes that are not many floats"))
	f.Add(uint8(12), make([]byte, 400))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		o := operators[int(which)%len(operators)]
		var values []float32
		for ; len(data) >= 4; data = data[4:] {
			values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		if len(values) < 5 {
			return
		}
		var in operands
		n := min((len(values)-5)/o.slices, 100)
		for i := range o.slices {
			in.add(values[i*n:][:n])
		}
		in.add(values[len(values)-5:])
		for _, path := range Paths()[1:] {
			restore := SetPath(path)
			checkOperator(t, o.call, in, n)
			restore()
		}
	})
}
