package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"molt/numeric/kernel"
)

// shapes are small decoders that differ in everything the code branches on.
var shapes = map[string]Config{
	"head dim 8, 8:4, odd FFN": {Vocab: 47, Dim: 32, Layers: 2, Heads: 8, KVHeads: 4, HeadDim: 8, FFN: 43, MaxPositions: 300,
		NormEps: 1e-5, RopeTheta: 10000, Tied: true},
	"1:1, untied, all biases": {Vocab: 61, Dim: 16, Layers: 3, Heads: 3, KVHeads: 3, HeadDim: 6, FFN: 40, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 500, QKVBias: true, OBias: true, ValueHead: true},
	"2:1, qk norm, value head": {Vocab: 530, Dim: 16, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, FFN: 20, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true, ValueHead: true},
	"6:2, one layer, wide heads": {Vocab: 33, Dim: 32, Layers: 1, Heads: 6, KVHeads: 2, HeadDim: 34, FFN: 16, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 10000, QKNorm: true, QKVBias: true},
	"MLP biases": {Vocab: 31, Dim: 16, Layers: 2, Heads: 2, KVHeads: 2, HeadDim: 8, FFN: 21, MaxPositions: 300,
		NormEps: 1e-5, RopeTheta: 10000, OBias: true, MLPBias: true},
	"norms after, wide qk norm (OLMo 2)": {Vocab: 40, Dim: 16, Layers: 3, Heads: 4, KVHeads: 2, HeadDim: 6, FFN: 24, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 500, Norms: PostNorm, QKNormWide: true},
	"caps, sandwich, a window on every other layer (Gemma 2)": {Vocab: 700, Dim: 32, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 8, FFN: 36,
		MaxPositions: 300, NormEps: 1e-6, RopeTheta: 10000, Tied: true, Norms: Sandwich, NormPlusOne: true, GELU: true, EmbedScale: 5.656854,
		AttentionScale: 0.3, AttentionCap: 2, LogitCap: 3, Kinds: []Kind{{Window: 7}, {}}},
	"two rotations, windows (Gemma 3)": {Vocab: 50, Dim: 16, Layers: 3, Heads: 2, KVHeads: 1, HeadDim: 10, FFN: 20, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 50000, Tied: true, Norms: Sandwich, NormPlusOne: true, GELU: true, EmbedScale: 4, QKNorm: true,
		LocalTheta: 100, Kinds: []Kind{{Window: 33, LocalRope: true}, {Window: 2, LocalRope: true}, {}}, ValueHead: true},
	"fused, partial rotation, windows (Phi-3)": {Vocab: 64, Dim: 16, Layers: 2, Heads: 3, KVHeads: 1, HeadDim: 16, FFN: 25, MaxPositions: 300,
		NormEps: 1e-5, RopeTheta: 10000, Fused: true, Rotary: 12, Kinds: []Kind{{Window: 16}, {Window: 70}},
		Scaling: Scaling{Type: "longrope", Factor: 4, Original: 300, Short: []float64{1, 1.5, 2, 4, 6, 8}}},
	"layers that do not rotate (SmolLM3)": {Vocab: 45, Dim: 32, Layers: 2, Heads: 4, KVHeads: 1, HeadDim: 8, FFN: 32, MaxPositions: 300,
		NormEps: 1e-6, RopeTheta: 5e6, Tied: true, Kinds: []Kind{{}, {NoRope: true}}, Scaling: Scaling{Type: "yarn", Factor: 4, Original: 64,
			BetaFast: 32, BetaSlow: 1}},
	"scales (Granite)": {Vocab: 530, Dim: 16, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 8, FFN: 24, MaxPositions: 300, NormEps: 1e-5,
		RopeTheta: 10000, Tied: true, EmbedScale: 12, AttentionScale: 0.0625, ResidualScale: 0.22, LogitScale: 0.125, MLPBias: true,
		Scaling: Scaling{Type: "llama3", Factor: 8, Original: 64, LowFreq: 1, HighFreq: 4}},
}

// eachShape runs a test for every shape.
func eachShape(t *testing.T, f func(t *testing.T, c Config)) {
	for name, c := range shapes {
		t.Run(name, func(t *testing.T) { f(t, c) })
	}
}

// newModel has every weight random, biases, norms and value head too.
func newModel(t testing.TB, c Config, seed uint64) *Model {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	m.Init(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, p := range m.Params() {
		if !p.Decay || p.Name == "score.weight" {
			for i := range p.Data {
				p.Data[i] += float32(rng.NormFloat64() * 0.3)
			}
		}
	}
	m.Refresh(nil)
	return m
}

func newGrads(t testing.TB, c Config) *Grads {
	t.Helper()
	g, err := NewGrads(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Free)
	return g
}

func newPool(t testing.TB, threads int) *kernel.Pool {
	p := kernel.NewPool(threads)
	t.Cleanup(p.Close)
	return p
}

// newWork's memory is full of NaN in a test: a pass reads nothing that it has not written.
func newWork(t testing.TB, m *Model, threads int, b Budget) *Work {
	w := NewWork(m, newPool(t, threads), b)
	t.Cleanup(w.Free)
	if _, bench := t.(*testing.B); !bench {
		poison(w)
	}
	return w
}

func poison(w *Work) {
	w.carve(w.c, w.pool.Threads(), w.budget, func(n int) []float32 {
		buffer := make([]float32, n)
		fill(buffer, float32(math.NaN()))
		return buffer
	})
}

// randomBatch has sequences of the given lengths; about two thirds of what can be scored is.
func randomBatch(rng *rand.Rand, c Config, lengths ...int) Batch {
	b := Batch{Starts: []int32{0}}
	for _, n := range lengths {
		start := len(b.Tokens)
		for i := range n {
			b.Tokens = append(b.Tokens, int32(rng.IntN(c.Vocab)))
			if i > 0 && rng.IntN(3) > 0 {
				b.Score = append(b.Score, int32(start+i))
				b.Temperature = append(b.Temperature, []float32{1, 0.5, 0.7, 1.3}[rng.IntN(4)])
			}
		}
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
	}
	return b
}

func randomLane(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}
