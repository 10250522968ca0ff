package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Lane 0 holds 2^24, to which 1 is lost; lanes 1 and 2 hold 1 each. Folding at distance 2 adds lane 2 to lane 0 (lost), at
// distance 1 lane 1 (lost). In a plain running sum both would be lost too; in pairs of neighbours neither.
func TestDotFoldsLanesInOrder(t *testing.T) {
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		one := make([]float32, 18)
		for i := range one {
			one[i] = 1
		}
		for _, c := range []struct {
			x    map[int]float32
			want float32
		}{
			{map[int]float32{0: 1 << 24, 1: 1, 2: 1}, 1 << 24},
			{map[int]float32{0: 1 << 24, 1: 1, 9: 1}, 1<<24 + 2},  // lanes 1 and 9 meet first
			{map[int]float32{0: 1 << 24, 1: 1, 17: 1}, 1<<24 + 2}, // both are lane 1
			{map[int]float32{0: 1 << 24, 1: 1, 3: 1}, 1<<24 + 2},
			{map[int]float32{0: 1 << 24, 4: 1, 8: 1}, 1 << 24},
		} {
			x := make([]float32, 18)
			for i, v := range c.x {
				x[i] = v
			}
			if got := Dot(x, one); got != c.want {
				t.Errorf("sum of %v = %v, want %v", c.x, got, c.want)
			}
		}
	})
}

func TestMaxSkipsNaN(t *testing.T) {
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		nan := float32(math.NaN())
		x := make([]float32, 40)
		for i := range x {
			x[i] = nan
		}
		if got := Max(x); got != negInf {
			t.Errorf("Max of nothing but NaN = %v", got)
		}
		x[3], x[19], x[38] = -7, -5, -6
		if got := Max(x); got != -5 {
			t.Errorf("Max = %v, want -5", got)
		}
	})
}

func TestSumSquaresInChunks(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		x := random(r, 2*SumChunk+1000)
		whole, parts, exact := SumSquares(x), 0.0, 0.0
		for c := 0; c < len(x); c += SumChunk {
			parts += SumSquares(x[c:min(c+SumChunk, len(x))])
		}
		for _, v := range x {
			exact += float64(v) * float64(v)
		}
		if whole != parts {
			t.Errorf("whole %v, the chunks' sum %v", whole, parts)
		}
		if math.Abs(whole-exact) > 1e-9*exact {
			t.Errorf("sum of squares %v, want %v", whole, exact)
		}
	})
}

func TestRowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defer SetPath(rapid.SampledFrom(Paths()).Draw(t, "path"))()
		x := rapid.SliceOfN(rapid.Float32Range(-30, 30), 1, 200).Draw(t, "x")
		p := append([]float32(nil), x...)
		Softmax(p, len(p), 1)
		sum := 0.0
		for i, v := range p {
			if v < 0 || v > 1 {
				t.Fatalf("p[%d] = %v", i, v)
			}
			sum += float64(v)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("the probabilities add up to %v", sum)
		}
		cut := rapid.IntRange(0, len(x)).Draw(t, "cut")
		whole, parts := NewLogSumExp(), NewLogSumExp()
		whole.Add(x)
		parts.Add(x[:cut])
		parts.Add(x[cut:])
		for _, pair := range [][2]float32{{whole.Value(), parts.Value()}, {whole.Entropy(), parts.Entropy()}} {
			if math.Abs(float64(pair[0]-pair[1])) > 1e-4 {
				t.Fatalf("cut at %d of %d: %v and %v", cut, len(x), pair[0], pair[1])
			}
		}
		if top := Max(x); whole.Value() < top || whole.Value() > top+float32(math.Log(float64(len(x))))+1e-4 {
			t.Fatalf("log-sum-exp %v with the largest %v of %d", whole.Value(), top, len(x))
		}
	})
}

func TestOperatorsRefuseWrongSizes(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	for name, call := range map[string]func(){
		"Add":                   func() { Add(f(3), f(4)) },
		"Sub":                   func() { Sub(f(3), f(2)) },
		"Mul":                   func() { Mul(f(3), f(2)) },
		"Axpy":                  func() { Axpy(f(3), 1, f(2)) },
		"Dot":                   func() { Dot(f(3), f(2)) },
		"Exp":                   func() { Exp(f(3), f(2)) },
		"Softmax":               func() { Softmax(f(3), 4, 1) },
		"SoftmaxBackward":       func() { SoftmaxBackward(f(3), f(3), -1, 1) },
		"SwiGLU":                func() { SwiGLU(f(3), f(3), f(2)) },
		"SwiGLUBackward":        func() { SwiGLUBackward(f(3), f(3), f(3), f(3), f(2)) },
		"RMSNorm":               func() { RMSNorm(f(6), f(6), f(3), f(1), 2, 3, 0) },
		"RMSNormBackward":       func() { RMSNormBackward(f(5), f(6), f(6), f(3), f(2), 2, 3) },
		"RMSNormBackwardWeight": func() { RMSNormBackwardWeight(f(3), f(5), f(6), f(2), 2, 3, 3) },
		"Rope":                  func() { Rope(f(12), f(2), f(2), 5) },
		"RopeBackward":          func() { RopeBackward(f(13), f(2), f(2), 4) },
		"AdamW":                 func() { AdamW{Step: 1}.Update(f(3), f(3), f(3), f(2)) },
		"AdamW before step 1":   func() { AdamW{}.Update(f(3), f(3), f(3), f(3)) },
		"Pack":                  func() { Pack(f(15), f(9), 3, 3, 3) },
		"PackT":                 func() { PackT(f(48), f(8), 3, 3, 3) },
		"PackColumn":            func() { PackColumn(f(48), f(3), 16) },
	} {
		if text := panicText(call); len(text) < 10 || text[:8] != "kernel: " {
			t.Errorf("%s: %q", name, text)
		}
	}
}
