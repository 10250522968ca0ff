package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFitsNamesTheFault(t *testing.T) {
	c := shapes["head dim 8, 8:4, odd FFN"]
	w := newWork(t, newModel(t, c, 1), 1, Budget{Tokens: 400, Score: 3})
	ids := func(n int) []int32 { return make([]int32, n) }
	for name, tc := range map[string]struct {
		batch Batch
		want  string
	}{
		"fits":              {Batch{Tokens: ids(5), Starts: []int32{0, 3, 5}, Score: []int32{1, 2, 4}}, ""},
		"empty":             {Batch{}, ""},
		"nothing scored":    {Batch{Tokens: ids(5), Starts: []int32{0, 5}}, ""},
		"too many tokens":   {Batch{Tokens: ids(401), Starts: []int32{0, 200, 401}}, "401 tokens"},
		"too many scored":   {Batch{Tokens: ids(9), Starts: []int32{0, 9}, Score: []int32{1, 2, 3, 4}}, "with 4 scored"},
		"unknown token":     {Batch{Tokens: []int32{0, 47}, Starts: []int32{0, 2}}, "token 1 is 47"},
		"negative token":    {Batch{Tokens: []int32{0, -1}, Starts: []int32{0, 2}}, "token 1 is -1"},
		"no starts":         {Batch{Tokens: ids(2)}, "0 starts"},
		"starts past end":   {Batch{Tokens: ids(2), Starts: []int32{0, 3}}, "2 starts"},
		"starts not at 0":   {Batch{Tokens: ids(4), Starts: []int32{1, 4}}, "2 starts"},
		"one token":         {Batch{Tokens: ids(3), Starts: []int32{0, 2, 3}}, "sequence 1 has 1 tokens"},
		"starts fall":       {Batch{Tokens: ids(4), Starts: []int32{0, 5, 4}}, "sequence 1 has -1 tokens"},
		"too long":          {Batch{Tokens: ids(301), Starts: []int32{0, 301}}, "sequence 0 has 301 tokens"},
		"scores the first":  {Batch{Tokens: ids(5), Starts: []int32{0, 3, 5}, Score: []int32{3}}, "first of sequence 1"},
		"scores fall":       {Batch{Tokens: ids(5), Starts: []int32{0, 5}, Score: []int32{2, 2}}, "score 1 is token 2"},
		"score past end":    {Batch{Tokens: ids(5), Starts: []int32{0, 5}, Score: []int32{5}}, "score 0 is token 5"},
		"temperature short": {Batch{Tokens: ids(5), Starts: []int32{0, 5}, Score: []int32{2}, Temperature: []float32{}}, "0 temperatures"},
		"temperature zero":  {Batch{Tokens: ids(5), Starts: []int32{0, 5}, Score: []int32{2}, Temperature: []float32{0}}, "temperature 0 is 0"},
	} {
		err := w.Fits(tc.batch)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A batch of any numbers either has its fault named or is scored.
func TestWhatFitsIsScored(t *testing.T) {
	c := shapes["1:1, untied, all biases"]
	m := newModel(t, c, 1)
	w := newWork(t, m, 1, Budget{Tokens: 12})
	fitted := 0
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(what string, low, high int32) []int32 {
			return rapid.SliceOfN(rapid.Int32Range(low, high), 0, 13).Draw(t, what)
		}
		b := Batch{Tokens: numbers("tokens", -1, int32(c.Vocab)), Starts: numbers("starts", -1, 14), Score: numbers("score", -1, 14)}
		if rapid.Bool().Draw(t, "repair") {
			b.Tokens = make([]int32, len(b.Tokens))
			b.Starts = append(append([]int32{0}, rapid.SampledFrom([][]int32{{}, {2}, {3, 7}}).Draw(t, "inner")...), int32(len(b.Tokens)))
			slices.Sort(b.Score)
			b.Score = slices.DeleteFunc(slices.Compact(b.Score), func(at int32) bool { return slices.Contains(b.Starts, at) || at > int32(len(b.Tokens)) })
		}
		if w.Fits(b) != nil {
			return
		}
		fitted++
		for i, x := range m.Forward(w, b, Want{}).Logp {
			if !(x <= 0) {
				t.Fatalf("log-prob %d is %g", i, x)
			}
		}
	})
	if fitted == 0 {
		t.Error("no batch was scored")
	}
}

// NaN is data: it comes out where it went in, and nothing else breaks.
func TestNaNWeightsGiveNaN(t *testing.T) {
	c := shapes["2:1, qk norm, value head"]
	m := newModel(t, c, 1)
	param(m.Params(), "model.layers.1.mlp.up_proj.weight").Data[5] = float32(math.NaN())
	m.Refresh(nil)
	b := Batch{Tokens: []int32{1, 2, 3}, Starts: []int32{0, 3}, Score: []int32{1, 2}}
	w := newWork(t, m, 2, Budget{Tokens: 3, Grad: true})
	g := newGrads(t, c)
	p := m.Forward(w, b, Want{Entropy: true, Value: true, Grad: true})
	for i := range p.Logp {
		if p.Logp[i] == p.Logp[i] || p.Entropy[i] == p.Entropy[i] || p.Value[i] == p.Value[i] {
			t.Errorf("score %d: log-prob %g, entropy %g, value %g, want NaN", i, p.Logp[i], p.Entropy[i], p.Value[i])
		}
	}
	p.Backward(g, []float32{1, 1}, nil, nil)
	if x := g.embed[c.Dim]; x == x {
		t.Errorf("a gradient of %g, want NaN", x)
	}
}

func TestForwardOfNothing(t *testing.T) {
	c := shapes["2:1, qk norm, value head"]
	m := newModel(t, c, 1)
	w := newWork(t, m, 2, Budget{Tokens: 20, Grad: true})
	g := newGrads(t, c)
	for _, b := range []Batch{{}, {Tokens: make([]int32, 5), Starts: []int32{0, 5}}} {
		p := m.Forward(w, b, Want{Entropy: true, Value: true, Grad: true})
		if len(p.Logp) != 0 {
			t.Errorf("%d log-probs of nothing", len(p.Logp))
		}
		p.Backward(g, nil, []float32{}, []float32{})
	}
	for _, x := range g.flat {
		if x != 0 {
			t.Fatal("a batch with nothing scored has a gradient")
		}
	}
}

func TestMisusePanics(t *testing.T) {
	c := shapes["head dim 8, 8:4, odd FFN"]
	m := newModel(t, c, 1)
	plain := newWork(t, m, 1, Budget{Tokens: 40, Score: 1})
	grad := newWork(t, m, 1, Budget{Tokens: 40, Grad: true})
	kv, err := NewKV(c, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Free()
	b := Batch{Tokens: []int32{1, 2}, Starts: []int32{0, 2}, Score: []int32{1}}
	g, d := newGrads(t, c), []float32{1}
	extend := func(seq Seq, ids ...int32) {
		m.Extend(plain, kv, []Span{{&seq, ids}}, []bool{true})
	}
	extend(Seq{Pages: []int32{1}}, 1, 2)
	for name, misuse := range map[string]func(){
		"grad on a Work without":   func() { m.Forward(plain, b, Want{Grad: true}) },
		"value without a head":     func() { m.Forward(grad, b, Want{Value: true}) },
		"bad batch":                func() { m.Forward(grad, Batch{Tokens: []int32{1}}, Want{}) },
		"backward without grad":    func() { m.Forward(grad, b, Want{}).Backward(g, d, nil, nil) },
		"lane of the wrong length": func() { m.Forward(grad, b, Want{Grad: true}).Backward(g, nil, nil, nil) },
		"value lane without a head": func() {
			m.Forward(grad, b, Want{Grad: true}).Backward(g, d, nil, d)
		},
		"entropy lane that was not wanted": func() {
			m.Forward(grad, b, Want{Grad: true}).Backward(g, d, d, nil)
		},
		"KV of another shape": func() {
			other, _ := NewKV(quickstart, 1)
			defer other.Free()
			m.Extend(plain, other, []Span{{&Seq{Pages: []int32{0}}, []int32{1}}}, []bool{true})
		},
		"backward twice": func() {
			p := m.Forward(grad, b, Want{Grad: true})
			p.Backward(g, d, nil, nil)
			p.Backward(g, d, nil, nil)
		},
		"backward after another use": func() {
			p := m.Forward(grad, b, Want{Grad: true})
			m.Extend(grad, kv, nil, nil)
			p.Backward(g, d, nil, nil)
		},
		"no page":            func() { extend(Seq{}, 1) },
		"unknown page":       func() { extend(Seq{Pages: []int32{2}}, 1) },
		"no tokens":          func() { extend(Seq{Pages: []int32{1}}) },
		"unknown token":      func() { extend(Seq{Pages: []int32{1}}, 47) },
		"past the last page": func() { extend(Seq{Pages: []int32{1}, Len: 64}, 1) },
		"over budget":        func() { extend(Seq{Pages: []int32{0}}, make([]int32, 41)...) },
		"too many wanted": func() {
			a, b := Seq{Pages: []int32{0}}, Seq{Pages: []int32{1}}
			m.Extend(plain, kv, []Span{{&a, []int32{1}}, {&b, []int32{1}}}, []bool{true, true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			misuse()
		})
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	c := shapes["2:1, qk norm, value head"]
	m := newModel(t, c, 1)
	l := newLoss(rand.New(rand.NewPCG(1, 1)), c, 30, 50)
	w := newWork(t, m, 2, Budget{Tokens: 80, Grad: true})
	g := newGrads(t, c)
	kv, err := NewKV(c, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Free()
	spans := []Span{{&Seq{Pages: []int32{1}}, []int32{1, 2, 3}}, {&Seq{Pages: []int32{0}, Len: 5}, []int32{4}}}
	want, logits := []bool{true, true}, make([]float32, 2*c.Vocab)
	for name, f := range map[string]func(){
		"train":  func() { m.Forward(w, l.batch, l.want(c)).Backward(g, l.dLogp, l.dEntropy, l.dValue) },
		"decode": func() { m.Logits(w, logits, m.Extend(w, kv, spans, want), 2) },
		"sync":   func() { m.Refresh(w.pool); m.refreshBackward(w.pool) },
	} {
		if n := testing.AllocsPerRun(5, f); n != 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
}
