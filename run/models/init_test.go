package models

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"molt/run/problem"
	"molt/weights"
)

// tinyModel makes a model that says nothing sensible, quickly.
func tinyModel(t *testing.T, change func(*InitConfig)) string {
	t.Helper()
	c := InitConfig{
		Out: filepath.Join(t.TempDir(), "model"), Shape: TinyShape(), Seed: 1, VocabSize: 300,
		Texts: slices.Values([]string{"the cat and the dog and the bird", "the sand and the land"}),
	}
	c.Shape.HiddenSize, c.Shape.IntermediateSize, c.Shape.NumHiddenLayers = 32, 64, 1
	c.Shape.NumAttentionHeads, c.Shape.NumKeyValueHeads, c.Shape.HeadDim, c.Shape.MaxPositionEmbeddings = 2, 1, 16, 256
	if change != nil {
		change(&c)
	}
	if err := Init(c); err != nil {
		t.Fatal(err)
	}
	return c.Out
}

func TestInitModelIsWhole(t *testing.T) {
	dir := tinyModel(t, func(c *InitConfig) { c.Visible = []string{"<answer>", "</answer>"} })
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	end, ok := m.Renderer.EndOfTurn()
	if !ok || m.Tok.Token(end) != "<|im_end|>" || !slices.Equal(m.EOS, []int32{end}) || !slices.Equal(m.Config.EOS, m.EOS) {
		t.Errorf("turns end with %d, text with %v and %v", end, m.EOS, m.Config.EOS)
	}
	if m.Config.VocabSize != m.Tok.VocabSize() {
		t.Errorf("%d rows for %d ids", m.Config.VocabSize, m.Tok.VocabSize())
	}
	for token, special := range map[string]bool{"<|im_start|>": true, "<tool_call>": false, "<answer>": false} {
		if id, ok := m.Tok.ID(token); !ok || m.Tok.IsSpecial(id) != special || !m.Tok.IsControl(id) {
			t.Errorf("%s: id %d %v, special %v, control %v", token, id, ok, m.Tok.IsSpecial(id), m.Tok.IsControl(id))
		}
	}
}

func TestInitModelRefusesAndWritesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "model")
	c := InitConfig{Out: out, Shape: TinyShape(), VocabSize: 300, Texts: slices.Values([]string{"a"})}
	odd := c
	odd.Shape.HiddenSize = 33
	strange := c
	strange.Shape.Architecture = "MambaForCausalLM"
	small := c
	small.VocabSize = 10
	mute := c
	mute.EOS = "<end>"
	foreign := c
	foreign.Tokenizer = []byte("{}")
	for name, c := range map[string]InitConfig{"shape": odd, "architecture": strange, "vocabulary": small, "end": mute, "tokenizer": foreign} {
		var p *problem.Problem
		if err := Init(c); !errors.As(err, &p) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}

// TestInitModelDependsOnTheSeedAlone: the quickstart's bits rest on it.
func TestInitModelDependsOnTheSeedAlone(t *testing.T) {
	print := func(seed uint64) string {
		f, err := weights.ReadFolder(tinyModel(t, func(c *InitConfig) { c.Seed = seed }))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Manifest.Fingerprint
	}
	one, again, two := print(1), print(1), print(2)
	if one != again || one == two {
		t.Errorf("seed 1 gives %s and %s, seed 2 %s", one, again, two)
	}
}
