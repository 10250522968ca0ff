package local

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"molt/engine"
	"molt/numeric/model"
)

// TestSamplerAgainstSorting compares the sampler with the definition: sort, cut, add up in order of id.
func TestSamplerAgainstSorting(t *testing.T) {
	var s sampler
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float32 {
			return float32(rapid.IntRange(-12, 12).Draw(t, "half")) / 2 // ties are common
		}), 1, 40).Draw(t, "logits")
		o := engine.Sampling{
			Temperature: rapid.SampledFrom([]float32{0, 0.5, 1, 3}).Draw(t, "temperature"),
			TopK:        rapid.IntRange(0, 10).Draw(t, "top_k"),
			TopP:        rapid.SampledFrom([]float32{0, 0.1, 0.5, 0.95, 1}).Draw(t, "top_p"),
			MinP:        rapid.SampledFrom([]float32{0, 0.01, 0.3, 1}).Draw(t, "min_p"),
		}
		key := engine.Key{Seed: rapid.Uint64().Draw(t, "seed")}
		position := rapid.IntRange(0, 1000).Draw(t, "position")
		got := s.sample(slices.Clone(logits), &o, key, position)

		temperature := o.Temperature
		if temperature == 0 {
			temperature = 1
		}
		p := softmax(logits, float64(temperature))
		if off := math.Abs(float64(got.logp) - math.Log(p[got.id])); off > 1e-5 {
			t.Fatalf("log-prob %v of id %d; want %v", got.logp, got.id, math.Log(p[got.id]))
		}
		kept := keep(p, o)
		if o.Temperature == 0 {
			if got.id != kept[0] {
				t.Fatalf("greedy took id %d; want %d of %v", got.id, kept[0], logits)
			}
			return
		}
		if !slices.Contains(kept, got.id) {
			t.Fatalf("sampled id %d of %v under %+v; kept %v", got.id, p, o, kept)
		}
		below, mass := 0.0, 0.0
		for _, id := range kept {
			mass += p[id]
			if id < got.id {
				below += p[id]
			}
		}
		if u := uniform(key, position); u*mass < below-1e-6 || u*mass > below+p[got.id]+1e-6 {
			t.Fatalf("draw %v of %v took id %d between %v and %v", u, mass, got.id, below, below+p[got.id])
		}
	})
}

// mask is a constraint that never changes.
type mask []int32

func (m mask) Allowed(bits []uint64) {
	clear(bits)
	for _, id := range m {
		bits[id/64] |= 1 << (id % 64)
	}
}

func (m mask) Take(int32) {}

// TestSamplerWithinAConstraint compares it with the sampler on the allowed logits alone; the log-prob is of all of them.
func TestSamplerWithinAConstraint(t *testing.T) {
	var s, alone sampler
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-200, 50), 1, 200).Draw(t, "logits")
		o := engine.Sampling{
			Temperature: rapid.SampledFrom([]float32{0, 1}).Draw(t, "temperature"),
			TopK:        rapid.IntRange(0, 5).Draw(t, "top_k"),
			TopP:        rapid.SampledFrom([]float32{0, 0.5, 1}).Draw(t, "top_p"),
			MinP:        rapid.SampledFrom([]float32{0, 0.1}).Draw(t, "min_p"),
		}
		key := engine.Key{Seed: rapid.Uint64().Draw(t, "seed")}
		var allowed mask
		var among []float32
		for id := range logits {
			if rapid.Bool().Draw(t, "allowed") {
				allowed, among = append(allowed, int32(id)), append(among, logits[id])
			}
		}
		got := s.sampleUnder(slices.Clone(logits), &terms{sampling: &o, key: key, position: 3, constraint: allowed})
		if len(allowed) == 0 {
			if got.id != -1 {
				t.Fatalf("id %d where nothing is allowed", got.id)
			}
			return
		}
		want := allowed[alone.sample(slices.Clone(among), &o, key, 3).id]
		logp := logits[want] - model.LogSumExp(logits)
		if got.id != want || math.Float32bits(got.logp) != math.Float32bits(logp) {
			t.Fatalf("%+v; want id %d with %v", got, want, logp)
		}
	})
}

func softmax(logits []float32, temperature float64) []float64 {
	p, total := make([]float64, len(logits)), 0.0
	for i, z := range logits {
		p[i] = math.Exp(float64(z) / temperature)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

// keep lists the ids that every filter keeps, the likeliest first.
func keep(p []float64, o engine.Sampling) []int32 {
	order := make([]int32, len(p))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch { // equal logits make equal probabilities, in any precision
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	mass := 0.0
	for n, id := range order {
		if n > 0 && (n == o.TopK || o.TopP > 0 && o.TopP < 1 && mass >= float64(o.TopP)-1e-7 || p[id] < float64(o.MinP)*p[order[0]]*(1-1e-6)) {
			return order[:n]
		}
		mass += p[id]
	}
	return order
}

func TestLogpIsTheLearners(t *testing.T) {
	var s sampler
	logits := []float32{0.25, -1.5, 3, 0.125, 2}
	got := s.sample(slices.Clone(logits), &engine.Sampling{Temperature: 0.75, TopK: 1}, engine.Key{}, 0)
	model.Temper(logits, 0.75)
	if want := logits[2] - model.LogSumExp(logits); got.id != 2 || math.Float32bits(got.logp) != math.Float32bits(want) {
		t.Errorf("%+v; want id 2 with %v", got, want)
	}
}

func TestLogitsWithoutNumbersAreReported(t *testing.T) {
	var s sampler
	inf := float32(math.Inf(1))
	for _, logits := range [][]float32{{0, float32(math.NaN()), 1}, {inf, 0, 0}, {-inf, -inf, -inf}} {
		for _, temperature := range []float32{0, 1} {
			if got := s.sample(slices.Clone(logits), &engine.Sampling{Temperature: temperature}, engine.Key{}, 0); !math.IsNaN(float64(got.logp)) {
				t.Errorf("logits %v at temperature %v gave %+v", logits, temperature, got)
			}
		}
	}
}

func TestInvertAtTheEdges(t *testing.T) {
	s := sampler{p: []float32{0, 0.5, 0, 0.25, 0.25, 0}}
	for _, c := range []struct {
		target float64
		id     int32
	}{{0, 1}, {0.49, 1}, {0.5, 3}, {0.75, 4}, {0.99, 4}, {1, 4}, {1.1, 4}} {
		if got := s.invert(c.target); got != c.id {
			t.Errorf("target %v gave id %d; want %d", c.target, got, c.id)
		}
	}
}

// TestUniform fixes the draws: recorded runs replay only as long as these stay.
func TestUniform(t *testing.T) {
	for _, c := range []struct {
		key      engine.Key
		position int
		want     float64
	}{
		{engine.Key{}, 0, 0.1296456182997474},
		{engine.Key{}, 1, 0.16526896395580137},
		{engine.Key{Seed: 1}, 0, 0.8847898165349132},
		{engine.Key{Group: 1}, 0, 0.8193382636014529},
		{engine.Key{Sample: 1}, 0, 0.6436823271556098},
		{engine.Key{Turn: 1}, 0, 0.8513026201288322},
		{engine.Key{Seed: math.MaxUint64, Group: -1, Sample: -1, Turn: -1}, math.MaxInt32, 0.009552198348984575},
	} {
		if got := uniform(c.key, c.position); got != c.want {
			t.Errorf("draw %d of %+v is %v; want %v", c.position, c.key, got, c.want)
		}
	}
}

// TestUniformIsUniform counts draws in 64 bins, along each word of the key: chi-square with 63 degrees of freedom stays
// below 120 with a chance of 1 in 50,000.
func TestUniformIsUniform(t *testing.T) {
	for name, at := range map[string]func(i int) (engine.Key, int){
		"seed":     func(i int) (engine.Key, int) { return engine.Key{Seed: uint64(i)}, 0 },
		"group":    func(i int) (engine.Key, int) { return engine.Key{Group: int64(i)}, 0 },
		"sample":   func(i int) (engine.Key, int) { return engine.Key{Sample: int32(i)}, 0 },
		"turn":     func(i int) (engine.Key, int) { return engine.Key{Turn: int32(i)}, 0 },
		"position": func(i int) (engine.Key, int) { return engine.Key{}, i },
	} {
		const n, bins = 1 << 16, 64
		var count [bins]float64
		for i := range n {
			k, position := at(i)
			u := uniform(k, position)
			if !(u >= 0 && u < 1) {
				t.Fatalf("%s: draw %v", name, u)
			}
			count[int(u*bins)]++
		}
		chi := 0.0
		for _, c := range count {
			chi += (c - n/bins) * (c - n/bins) / (n / bins)
		}
		if chi > 120 {
			t.Errorf("%s: chi-square %.1f", name, chi)
		}
	}
}
