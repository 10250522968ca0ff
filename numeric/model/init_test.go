package model

import (
	"math"
	"slices"
	"testing"
)

// The expected draws come from a Python transcription of the recipe in Init's comment.
func TestInitDraws(t *testing.T) {
	m, err := New(shapes["head dim 8, 8:4, odd FFN"])
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	m.Init(42)
	for _, want := range []struct {
		name  string
		index int
		value float32
	}{
		{"model.embed_tokens.weight", 0, 0.0115913395},
		{"model.embed_tokens.weight", 1, -0.00957565289},
		{"model.embed_tokens.weight", 1000, -0.00231857295},
		{"model.layers.1.mlp.down_proj.weight", 0, 0.0136486869},
		{"model.layers.1.mlp.down_proj.weight", 1000, -0.0374579728},
		{"model.layers.0.self_attn.q_proj.weight", 0, 0.0955175683},
		{"model.norm.weight", 31, 1},
	} {
		if got := param(m.Params(), want.name).Data[want.index]; got != want.value {
			t.Errorf("%s[%d] = %.9g, want %.9g", want.name, want.index, got, want.value)
		}
	}
}

func param(params []Param, name string) Param {
	return params[slices.IndexFunc(params, func(p Param) bool { return p.Name == name })]
}

func TestInitIsNormal(t *testing.T) {
	m, err := New(quickstart)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	m.Init(1)
	for name, std := range map[string]float64{
		"model.embed_tokens.weight":              0.05,
		"model.layers.0.self_attn.k_proj.weight": 1 / math.Sqrt(128),
		"model.layers.1.self_attn.o_proj.weight": 1 / math.Sqrt(128*4),
		"model.layers.0.mlp.up_proj.weight":      1 / math.Sqrt(128),
		"model.layers.1.mlp.down_proj.weight":    1 / math.Sqrt(384*4),
	} {
		w := param(m.Params(), name).Data
		var sum, squares, beyond float64
		for _, x := range w {
			z := float64(x) / std
			sum, squares = sum+z, squares+z*z
			if math.Abs(z) > 2 {
				beyond++
			}
		}
		n := float64(len(w))
		if mean := sum / n; math.Abs(mean) > 4/math.Sqrt(n) {
			t.Errorf("%s: mean %g std", name, mean)
		}
		if v := squares / n; math.Abs(v-1) > 6/math.Sqrt(n) {
			t.Errorf("%s: variance %g, want 1", name, v)
		}
		if share := beyond / n; math.Abs(share-0.0455) > 0.01 {
			t.Errorf("%s: %g of the draws are beyond 2 std, want 0.0455", name, share)
		}
	}
}

func TestRefreshPublishesWeights(t *testing.T) {
	c := shapes["1:1, untied, all biases"]
	m := newModel(t, c, 1)
	w := newWork(t, m, 1, Budget{Tokens: 4})
	b := Batch{Tokens: []int32{1, 2, 3, 4}, Starts: []int32{0, 4}, Score: []int32{1, 2, 3}}
	before := slices.Clone(m.Forward(w, b, Want{}).Logp)
	m.Init(2)
	m.Refresh(w.pool)
	fresh := newModel(t, c, 1)
	fresh.Init(2)
	fresh.Refresh(nil)
	after := slices.Clone(m.Forward(w, b, Want{}).Logp)
	want := fresh.Forward(newWork(t, fresh, 1, Budget{Tokens: 4}), b, Want{}).Logp
	if slices.Equal(before, after) || !slices.Equal(after, want) {
		t.Errorf("log-probs %v before, %v after new weights; a new model gives %v", before, after, want)
	}
}
