package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The plan that a user sees is what is reserved, up to the arena's rounding to 4 MiB.
func TestBytesAreWhatIsReserved(t *testing.T) {
	const rounding = 4 << 20
	check := func(what string, planned int64, reserved int) {
		t.Helper()
		if int64(reserved) < planned || int64(reserved) > planned+rounding {
			t.Errorf("%s: %d bytes planned, %d reserved", what, planned, reserved)
		}
	}
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 1)
		check("model", ModelBytes(c, false), m.arena.Bytes())
		for _, b := range []Budget{{Tokens: 1}, {Tokens: 33, Score: 7, Grad: true}, {Tokens: 500, Grad: true}, {Tokens: 500}} {
			check("work", WorkBytes(c, 3, b), newWork(t, m, 3, b).arena.Bytes())
		}
		check("grads", GradsBytes(c), newGrads(t, c).arena.Bytes())
		m.refreshBackward(nil)
		check("trained model", ModelBytes(c, true), m.arena.Bytes()+m.backArena.Bytes()-rounding)
		kv, err := NewKV(c, 5)
		if err != nil {
			t.Fatal(err)
		}
		defer kv.Free()
		check("kv", KVBytes(c, 5), kv.arena.Bytes())
	})
}

func TestParamCount(t *testing.T) {
	if n := quickstart.ParamCount(); n != 452_992 {
		t.Errorf("the quickstart shape has %d parameters, want 452992", n)
	}
	if n := llama28M.ParamCount(); n != 27_795_968 {
		t.Errorf("the 28M shape has %d parameters, want 27795968", n)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	if err := quickstart.Validate(); err != nil {
		t.Error(err)
	}
	err := Config{Vocab: 1, Dim: 24, Layers: 1, Heads: 3, KVHeads: 2, HeadDim: 7, FFN: 1, MaxPositions: 1, RopeTheta: 0.5}.Validate()
	for _, field := range []string{"Vocab is 1", "Dim is 24", "HeadDim is 7", "Heads is 3", "NormEps is 0", "RopeTheta is 0.5"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not say %q", err, field)
		}
	}
	c := quickstart
	c.QKNormWide, c.Fused, c.MLPBias, c.Rotary, c.AttentionCap, c.Norms = true, true, true, 33, -1, 9
	c.Kinds = []Kind{{Window: -1}, {NoRope: true, LocalRope: true}, {}}
	err = c.Validate()
	for _, field := range []string{"Norms is 9", "QKNorm and QKNormWide", "Fused has no names for biases", "Rotary is 33", "AttentionCap is -1",
		"Kinds has 3 layers of 2", "Window of -1", "layer 1 has both", "LocalTheta is 0"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not say %q", err, field)
		}
	}
	c = quickstart
	c.Scaling = Scaling{Type: "longrope", Factor: 2, Original: c.MaxPositions - 1, Short: make([]float64, c.HeadDim/2)}
	for i := range c.Scaling.Short {
		c.Scaling.Short[i] = 1
	}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "longrope changes beyond") {
		t.Errorf("longrope past its original length: %v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a model of the zero config")
	}
	if _, err := NewKV(quickstart, 0); err == nil {
		t.Error("a pool of no pages")
	}
}

// TestLayout: the list without data is the list of a model.
func TestLayout(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		want := slices.Clone(newModel(t, c, 1).Params())
		for i := range want {
			want[i].Data = nil
		}
		if diff := cmp.Diff(want, Layout(c)); diff != "" {
			t.Error(diff)
		}
	})
}
