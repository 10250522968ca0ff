package model

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"molt/numeric/kernel"
)

// golden is a whole tiny decoder of Hugging Face transformers (scripts/goldens/model).
type golden struct {
	Config Config
	Batch  struct {
		Tokens, Starts, Score []int32
	}
	Temperature             []float32
	DLogp, DEntropy, DValue []float32
	Weights, Gradients      map[string][]float32
	Logp, Entropy, Value    []float64
	AdamW                   struct{ LR, Beta1, Beta2, Eps, Decay float64 }
	Losses                  []float64
}

func readGolden[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var g T
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g golden) model(t *testing.T) *Model {
	m := newModel(t, g.Config, 0)
	for _, p := range m.Params() {
		if n := copy(p.Data, g.Weights[p.Name]); n != len(p.Data) {
			t.Fatalf("%s has %d weights, the golden file %d", p.Name, len(p.Data), n)
		}
	}
	if len(m.Params()) != len(g.Weights) {
		t.Fatalf("%d parameters, the golden file has %d", len(m.Params()), len(g.Weights))
	}
	m.Refresh(nil)
	return m
}

func (g golden) batch(temperature []float32) Batch {
	return Batch{Tokens: g.Batch.Tokens, Starts: g.Batch.Starts, Score: g.Batch.Score, Temperature: temperature}
}

func eachGolden(t *testing.T, f func(t *testing.T, g golden)) {
	for _, name := range []string{"qwen3.json", "llama.json"} {
		t.Run(name, func(t *testing.T) { f(t, readGolden[golden](t, name)) })
	}
}

func TestLanesAndGradientsArePyTorchs(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		m := g.model(t)
		w := newWork(t, m, 2, Budget{Tokens: len(g.Batch.Tokens), Grad: true})
		p := m.Forward(w, g.batch(g.Temperature), Want{Entropy: true, Value: g.Config.ValueHead, Grad: true})
		for i, want := range g.Logp {
			near(t, "logp", i, p.Logp[i], want, 3e-6)
			near(t, "entropy", i, p.Entropy[i], g.Entropy[i], 3e-6)
		}
		for i, want := range g.Value {
			near(t, "value", i, p.Value[i], want, 3e-6)
		}
		grads := newGrads(t, g.Config)
		p.Backward(grads, g.DLogp, g.DEntropy, g.DValue)
		for _, p := range grads.Params() {
			nearAll(t, p.Name, p.Data, g.Gradients[p.Name], 1e-5)
		}
	})
}

// nearAll compares two tensors in the scale of the largest element.
func nearAll(t *testing.T, name string, got, want []float32, tolerance float64) {
	t.Helper()
	largest := scale(want)
	for i, x := range want {
		if !(math.Abs(float64(got[i])-float64(x)) <= tolerance*largest) {
			t.Errorf("%s[%d] = %g, want %g (largest %g)", name, i, got[i], x, largest)
		}
	}
}

func TestTenLossesArePyTorchs(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		m := g.model(t)
		w := newWork(t, m, 2, Budget{Tokens: len(g.Batch.Tokens), Grad: true})
		grads, first, second := newGrads(t, g.Config), newGrads(t, g.Config), newGrads(t, g.Config)
		d := make([]float32, len(g.Batch.Score))
		fill(d, -1/float32(len(d)))
		for step, want := range g.Losses {
			p := m.Forward(w, g.batch(nil), Want{Grad: true})
			loss := 0.0
			for _, x := range p.Logp {
				loss -= float64(x) / float64(len(d))
			}
			if !(math.Abs(loss-want) <= 2e-5) {
				t.Errorf("loss %d = %.7f, PyTorch %.7f", step, loss, want)
			}
			grads.Zero()
			p.Backward(grads, d, nil, nil)
			for i, p := range m.Params() {
				o := kernel.AdamW{LR: g.AdamW.LR, Beta1: g.AdamW.Beta1, Beta2: g.AdamW.Beta2, Eps: g.AdamW.Eps, Step: step + 1}
				if p.Decay {
					o.Decay = g.AdamW.Decay
				}
				o.Update(p.Data, first.Params()[i].Data, second.Params()[i].Data, grads.Params()[i].Data)
			}
			m.Refresh(nil)
		}
	})
}
