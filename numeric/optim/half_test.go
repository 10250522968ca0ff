package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molt/numeric/kernel"
)

func halfConfig() Config {
	c := Default()
	c.Adam.BF16 = true
	return c
}

func TestRoundAt(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float32
		r    uint32
		want float32
	}{
		{"what fits stays", 1.5, 65535, 1.5},
		{"a quarter of the way goes down for three quarters of r", 1 + 1./512, 49151, 1},
		{"and up for the last", 1 + 1./512, 49152, 1 + 1./128},
		{"negative: away from 0 is up", -1 - 1./512, 49152, -1 - 1./128},
		{"0", 0, 65535, 0},
		{"infinity", float32(math.Inf(-1)), 65535, float32(math.Inf(-1))},
	} {
		if got := math.Float32frombits(roundAt(c.x, c.r) << 16); got != c.want {
			t.Errorf("%s: %v becomes %v; want %v", c.name, c.x, got, c.want)
		}
	}
	if got := math.Float32frombits(roundAt(math.Float32frombits(0x7f800001), 65535) << 16); got == got {
		t.Errorf("a NaN became %v", got)
	}
}

// TestRoundingHasNoBias: the mean of many roundings is the number, and a pair of moments keeps to its halves.
func TestRoundingHasNoBias(t *testing.T) {
	const n = 1 << 16
	m, v, mv := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range m {
		m[i], v[i] = -0.7123, 3.3e-9
	}
	pack(mv, m, v, salt(3, 5), 0)
	unpack(m, v, mv)
	var meanM, meanV float64
	for i := range m {
		meanM += float64(m[i]) / n
		meanV += float64(v[i]) / n
	}
	// A rounding is wrong by 2^-8 at most, so the mean of 2^16 by a 2^-16th or so.
	if math.Abs(meanM/-0.7123-1) > 6e-5 || math.Abs(meanV/3.3e-9-1) > 6e-5 {
		t.Errorf("means %v and %v; want -0.7123 and 3.3e-9", meanM, meanV)
	}
	again := make([]float32, n)
	pack(again[:100], m[:100], v[:100], salt(4, 5), 0)
	pack(again[100:], m[100:], v[100:], salt(4, 5), 100)
	pack(mv, m, v, salt(4, 5), 0)
	for i := range mv {
		if math.Float32bits(mv[i]) != math.Float32bits(again[i]) {
			t.Fatalf("element %d depends on how the parameter is cut", i)
		}
	}
}

// exactAdam is AdamW in float64, as its paper writes it.
type exactAdam struct {
	w, m, v []float64
	steps   int
}

func (e *exactAdam) step(g []float32, a Adam, lr float64) {
	e.steps++
	for i, x := range g {
		gradient := float64(x)
		e.m[i] = a.Beta1*e.m[i] + (1-a.Beta1)*gradient
		e.v[i] = a.Beta2*e.v[i] + (1-a.Beta2)*gradient*gradient
		m := e.m[i] / (1 - math.Pow(a.Beta1, float64(e.steps)))
		v := e.v[i] / (1 - math.Pow(a.Beta2, float64(e.steps)))
		e.w[i] -= lr * (a.Decay*e.w[i] + m/(math.Sqrt(v)+a.Eps))
	}
}

// drift measures, after many steps along noisy gradients whose size changes, how far the weights are from those of float64 as
// a share of the way they went, and how far the second moments are off on average: their bias.
func drift(t *testing.T, c Config, steps int) (apart, bias float64) {
	t.Helper()
	const n = 4096
	random := rand.New(rand.NewPCG(1, 2))
	p := Param{Name: "w", Shape: []int{n}, Data: make([]float32, n), Grad: make([]float32, n)}
	exact := exactAdam{w: make([]float64, n), m: make([]float64, n), v: make([]float64, n)}
	trend := gaussian(9, n)
	o := newOptimizer(t, c, p)
	pool := kernel.NewPool(2)
	defer pool.Close()
	for s := range steps {
		size := 1 + 3*float64(s)/float64(steps) // gradients grow fourfold
		for i := range p.Grad {
			p.Grad[i] = float32(size * (float64(trend[i])*.3 + random.NormFloat64()))
		}
		o.Step(pool, 1e-3, 1)
		exact.step(p.Grad, c.Adam, 1e-3)
	}
	var off, way float64
	for i, w := range p.Data {
		off += (float64(w) - exact.w[i]) * (float64(w) - exact.w[i])
		way += exact.w[i] * exact.w[i]
	}
	m, v := make([]float32, n), make([]float32, n)
	if state := o.State(); c.Adam.BF16 {
		unpack(m, v, state[0].Data)
	} else {
		v = state[1].Data
	}
	for i := range v {
		bias += (float64(v[i])/exact.v[i] - 1) / n
	}
	return math.Sqrt(off / way), bias
}

// TestHalfMomentsAreNearFloat64 is the measurement of docs/results/optimizers.md: 1000 steps, and float32 beside it.
func TestHalfMomentsAreNearFloat64(t *testing.T) {
	for _, beta2 := range []float64{.95, .99, .999} {
		whole, half := Default(), halfConfig()
		whole.Adam.Beta2, half.Adam.Beta2 = beta2, beta2
		apart32, bias32 := drift(t, whole, 1000)
		apart, bias := drift(t, half, 1000)
		t.Logf("beta2 %v: weights off by %.2e of their way (float32 %.1e), second moments by %+.1e on average (float32 %+.1e)", beta2, apart, apart32, bias, bias32)
		if !(apart < 1e-2) || !(apart32 < 1e-5) || !(math.Abs(bias) < 2e-3) {
			t.Errorf("beta2 %v: weights off by %v of their way (float32: %v), second moments by %v", beta2, apart, apart32, bias)
		}
	}
}

// TestNearestWouldStopMoving: with gradients twice as large, a second moment that is rounded to the nearest stays where it is.
func TestNearestWouldStopMoving(t *testing.T) {
	const n = 256
	nearest, m, v, mv := float32(1), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	exact := 1.0
	for step := range 1000 {
		const square = 4
		exact = .999*exact + .001*square
		nearest = math.Float32frombits((math.Float32bits(.999*nearest+.001*square) + 0x8000) &^ 0xffff)
		for i := range v {
			v[i] = .999*v[i] + .001*square
		}
		pack(mv, m, v, salt(step, 0), 0)
		unpack(m, v, mv)
	}
	var mean float64
	for _, x := range v {
		mean += float64(x) / n
	}
	if nearest != 1 || !(math.Abs(mean/exact-1) < .005) {
		t.Errorf("to the nearest %v, at random %v on average, in float64 %v", nearest, mean, exact)
	}
}

// TestHalfMomentsChangeNoBit: what TestThreadsAndPathsChangeNoBit and TestStateContinues promise holds here too.
func TestHalfMomentsChangeNoBit(t *testing.T) {
	muon := muonConfig()
	muon.Adam.BF16 = true
	for _, c := range []Config{halfConfig(), muon} {
		halfChangesNoBit(t, c)
	}
}

func halfChangesNoBit(t *testing.T, c Config) {
	t.Helper()
	var want []uint32
	for threads := 1; threads <= 3; threads++ {
		pool := kernel.NewPool(threads)
		params, other := network(1), network(2)
		o, resumed := newOptimizer(t, c, params...), newOptimizer(t, c, other...)
		o.Step(pool, .01, .5)
		for i := range params {
			copy(other[i].Data, params[i].Data)
			copy(other[i].Grad, params[i].Grad)
		}
		for i, s := range o.State() {
			copy(resumed.State()[i].Data, s.Data)
		}
		resumed.Steps = o.Steps
		o.Step(pool, .01, .5)
		resumed.Step(pool, .01, .5)
		if want == nil {
			want = bits(params)
		}
		if !slices.Equal(bits(params), want) || !slices.Equal(bits(other), want) {
			t.Errorf("%s, %d threads, or a checkpoint in between: other bits", c.Name, threads)
		}
		pool.Close()
	}
}

func TestHalfMomentsTakeHalf(t *testing.T) {
	wide := Param{Name: "w", Shape: []int{1000, 4000}}
	scratch := int64(2 * 2 * 4 * kernel.SumChunk) // of two threads
	whole, half := Bytes([]Param{wide}, Default(), 2), Bytes([]Param{wide}, halfConfig(), 2)
	if whole != 2*(half-scratch) || whole != 8*4_000_000 {
		t.Errorf("%d bytes, %d in bfloat16; want half and %d of scratch", whole, half, scratch)
	}
}
