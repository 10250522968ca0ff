package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molt/numeric/kernel"
)

// network lists parameters of every class, filled from seed: names and shapes as a small model has them.
func network(seed uint64) []Param {
	random := rand.New(rand.NewPCG(seed, 0))
	var params []Param
	add := func(name string, shape ...int) {
		p := Param{Name: name, Shape: shape, Decay: len(shape) == 2}
		p.Data, p.Grad = make([]float32, p.size()), make([]float32, p.size())
		for i := range p.Data {
			p.Data[i], p.Grad[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
		}
		params = append(params, p)
	}
	add("model.embed_tokens.weight", 50, 24)
	add("model.layers.0.self_attn.q_proj.weight", 48, 24)
	add("model.layers.0.self_attn.q_proj.bias", 48)
	add("model.layers.0.self_attn.o_proj.weight", 24, 48)
	add("model.layers.0.input_layernorm.weight", 24)
	add("model.layers.1.mlp.up_proj.weight", 3000, 24) // more than a piece
	add("lm_head.weight", 50, 24)
	add("score.weight", 1, 24)
	return params
}

func muonConfig() Config {
	c := Default()
	c.Name, c.Muon.AdamShare, c.Muon.Decay, c.Adam.Decay = "muon", 0.1, 0.1, 0.2
	return c
}

func bits(params []Param) (all []uint32) {
	for _, p := range params {
		for _, x := range p.Data {
			all = append(all, math.Float32bits(x))
		}
	}
	return all
}

// TestThreadsAndPathsChangeNoBit takes two steps on every kernel path with one to three threads.
func TestThreadsAndPathsChangeNoBit(t *testing.T) {
	for _, c := range []Config{Default(), muonConfig()} {
		var want []uint32
		var norm float64
		for _, path := range kernel.Paths() {
			restore := kernel.SetPath(path)
			for threads := 1; threads <= 3; threads++ {
				pool := kernel.NewPool(threads)
				params := network(1)
				o := newOptimizer(t, c, params...)
				for range 2 {
					o.Step(pool, 0.01, 0.5)
				}
				got := bits(params)
				if want == nil {
					want, norm = got, o.Norm(pool)
				}
				if !slices.Equal(got, want) || o.Norm(pool) != norm {
					t.Errorf("%s, path %s, %d threads: other bits", c.Name, path, threads)
				}
				pool.Close()
			}
			restore()
		}
	}
}

// TestClassesAndRates takes a first step. AdamW then moves every weight by its learning rate, whatever the gradient.
func TestClassesAndRates(t *testing.T) {
	c := Default()
	c.Name, c.Muon.AdamShare = "muon", 0.25
	c.Rates = []Rate{{"*.bias", 4}, {"model.layers.*", 0.5}}
	moved := step(t, c, 0.01)
	head := 0.01 / math.Sqrt(24)
	for name, want := range map[string]float64{
		"model.embed_tokens.weight":             0.0025,
		"model.layers.0.self_attn.q_proj.bias":  0.01,
		"model.layers.0.input_layernorm.weight": 0.00125,
		"lm_head.weight":                        head,
		"score.weight":                          0.0025,
	} {
		for _, d := range moved[name] {
			if math.Abs(math.Abs(d)-want) > 1e-6 {
				t.Fatalf("%s moved by %v; want %v", name, d, want)
			}
		}
	}
	// A matrix [rows, cols] with singular values of about 1 has a Frobenius norm of about sqrt(min).
	for name, shape := range map[string][2]float64{
		"model.layers.0.self_attn.q_proj.weight": {48, 24},
		"model.layers.0.self_attn.o_proj.weight": {24, 48},
		"model.layers.1.mlp.up_proj.weight":      {3000, 24},
	} {
		square := 0.0
		for _, d := range moved[name] {
			square += d * d
		}
		want := 0.005 * math.Sqrt(shape[0]/shape[1]) * math.Sqrt(min(shape[0], shape[1]))
		if ratio := math.Sqrt(square) / want; ratio < 0.68 || ratio > 1.21 {
			t.Errorf("%s moved by a norm of %v; want about %v", name, math.Sqrt(square), want)
		}
	}
}

// step gives by how much each weight moves in one step. Eps is too small to be seen.
func step(t *testing.T, c Config, lr float64) map[string][]float64 {
	c.Adam.Eps = 1e-15
	pool := kernel.NewPool(1)
	defer pool.Close()
	before, params := network(1), network(1)
	newOptimizer(t, c, params...).Step(pool, lr, 1)
	moved := map[string][]float64{}
	for i, p := range params {
		for k, w := range p.Data {
			moved[p.Name] = append(moved[p.Name], float64(w)-float64(before[i].Data[k]))
		}
	}
	return moved
}

func TestAdamStepsEverythingAtOneRate(t *testing.T) {
	for name, moved := range step(t, Default(), 0.01) {
		for _, d := range moved {
			if math.Abs(math.Abs(d)-0.01) > 1e-6 {
				t.Fatalf("%s moved by %v; want 0.01", name, d)
			}
		}
	}
}

// TestDecay steps along no gradient: weights shrink by their method's decay and learning rate alone.
func TestDecay(t *testing.T) {
	pool := kernel.NewPool(1)
	defer pool.Close()
	c := muonConfig()
	before, params := network(1), network(1)
	for _, p := range params {
		clear(p.Grad)
	}
	newOptimizer(t, c, params...).Step(pool, 0.5, 1)
	for i, p := range params {
		keep := map[string]float64{
			"model.embed_tokens.weight":              1 - 0.5*0.1*0.2,
			"model.layers.0.self_attn.q_proj.weight": 1 - 0.5*0.1,
			"model.layers.0.self_attn.o_proj.weight": 1 - 0.5*0.1,
			"model.layers.1.mlp.up_proj.weight":      1 - 0.5*0.1,
			"lm_head.weight":                         1 - 0.5/math.Sqrt(24)*0.2,
			"score.weight":                           1 - 0.5*0.1*0.2,
		}[p.Name]
		if !p.Decay {
			keep = 1
		}
		for k, w := range p.Data {
			if want := float64(before[i].Data[k]) * keep; math.Abs(float64(w)-want) > 1e-6 {
				t.Fatalf("%s went from %v to %v; want %v", p.Name, before[i].Data[k], w, want)
			}
		}
	}
}

// TestFrozen: what is frozen keeps its bits, has no moments, and is no part of the norm, even where its gradient is not finite.
func TestFrozen(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, c := range []Config{Default(), muonConfig()} {
		c.Freeze = []string{"model.embed_tokens.*", "model.layers.0.*"}
		before, params := network(1), network(1)
		square := 0.0
		for i, p := range params {
			if i < 5 {
				p.Grad[0] = float32(math.NaN())
				continue
			}
			for _, g := range p.Grad {
				square += float64(g) * float64(g)
			}
		}
		o := newOptimizer(t, c, params...)
		if norm := o.Norm(pool); math.Abs(norm-math.Sqrt(square)) > 1e-9*norm {
			t.Errorf("%s: norm %v; want %v", c.Name, norm, math.Sqrt(square))
		}
		o.Step(pool, 0.1, 1)
		if !slices.Equal(bits(params[:5]), bits(before[:5])) {
			t.Errorf("%s: frozen parameters changed", c.Name)
		}
		for i, p := range params[5:] {
			if slices.Equal(p.Data, before[5+i].Data) {
				t.Errorf("%s: %s did not change", c.Name, p.Name)
			}
		}
		var names []string
		for _, s := range o.State() {
			names = append(names, s.Name)
		}
		want := []string{"adam.m.model.layers.1.mlp.up_proj.weight", "adam.v.model.layers.1.mlp.up_proj.weight"}
		if c.Name == "muon" {
			want = []string{"muon.m.model.layers.1.mlp.up_proj.weight"}
		}
		want = append(want, "adam.m.lm_head.weight", "adam.v.lm_head.weight", "adam.m.score.weight", "adam.v.score.weight")
		if !slices.Equal(names, want) {
			t.Errorf("%s: state %v; want %v", c.Name, names, want)
		}
	}
}

// TestStateContinues copies weights, state and count to a second optimizer, which goes on with the same bits.
func TestStateContinues(t *testing.T) {
	pool := kernel.NewPool(1)
	defer pool.Close()
	for _, c := range []Config{Default(), muonConfig()} {
		a, b := network(1), network(2)
		first, second := newOptimizer(t, c, a...), newOptimizer(t, c, b...)
		first.Step(pool, 0.01, 1)
		second.Step(pool, 0.01, 1)
		for i := range a {
			copy(b[i].Data, a[i].Data)
			copy(b[i].Grad, a[i].Grad)
		}
		for i, s := range first.State() {
			copy(second.State()[i].Data, s.Data)
		}
		second.Steps = first.Steps
		first.Step(pool, 0.01, 1)
		second.Step(pool, 0.01, 1)
		if !slices.Equal(bits(a), bits(b)) {
			t.Errorf("%s: the copy went elsewhere", c.Name)
		}
	}
}

// TestBytes compares the plan with what was reserved, which comes in blocks of 4 MiB.
func TestBytes(t *testing.T) {
	wide := Param{Name: "w", Shape: []int{900, 3000}, Data: make([]float32, 2700000), Grad: make([]float32, 2700000)}
	for _, c := range []Config{Default(), muonConfig()} {
		for _, params := range [][]Param{network(1), {wide}} {
			o := newOptimizer(t, c, params...)
			plan, real := Bytes(params, c, 3), int64(o.arena.Bytes())
			if plan > real || plan <= real-4<<20 {
				t.Errorf("%s: planned %d bytes, reserved %d", c.Name, plan, real)
			}
		}
	}
}

// BenchmarkStep steps the matrices of four layers, whose products with 1000 tokens take 6 x 1000 operations a weight.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"adam", "adam in bfloat16", "muon"} {
		for _, dim := range []int{128, 512} {
			b.Run(fmt.Sprint(name, dim), func(b *testing.B) {
				c := Default()
				c.Name, c.Adam.BF16 = strings.Fields(name)[0], strings.HasSuffix(name, "bfloat16")
				var params []Param
				weights := 0
				for i := range 4 * 7 {
					shape := [][]int{{dim, dim}, {dim / 2, dim}, {dim / 2, dim}, {dim, dim}, {3 * dim, dim}, {3 * dim, dim}, {dim, 3 * dim}}[i%7]
					p := Param{Name: fmt.Sprint(i), Shape: shape}
					p.Data, p.Grad = make([]float32, p.size()), gaussian(uint64(i), p.size())
					params, weights = append(params, p), weights+p.size()
				}
				o := newOptimizer(b, c, params...)
				pool := kernel.NewPool(2)
				defer pool.Close()
				for b.Loop() {
					o.Step(pool, 1e-3, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(weights), "ns/weight")
			})
		}
	}
}
