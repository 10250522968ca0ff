package model

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"molt/weights"
)

const storiesFolder = "../../../shared/models/stories260K"

// storiesModel is a real Llama checkpoint: head dim 8, 8 query heads on 4 key/value heads, an FFN of 172.
func storiesModel(t *testing.T) *Model {
	t.Helper()
	file, err := weights.Open(storiesFolder + "/model.safetensors")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("shared/models/stories260K is not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m := newModel(t, Config{Vocab: 512, Dim: 64, Layers: 5, Heads: 8, KVHeads: 4, HeadDim: 8, FFN: 172, MaxPositions: 512,
		NormEps: 1e-5, RopeTheta: 10000, Tied: true}, 0)
	for _, p := range m.Params() {
		if err := file.Read(p.Name, p.Data); err != nil {
			t.Fatal(err)
		}
	}
	m.Refresh(nil)
	return m
}

func TestStoriesLogProbsAreTransformers(t *testing.T) {
	m := storiesModel(t)
	g := readGolden[struct {
		IDs []int32
		Top []struct {
			IDs  []int32
			Logp []float64
		}
	}](t, "stories260k.json")
	w := newWork(t, m, 2, Budget{Tokens: len(g.IDs)})
	kv, err := NewKV(m.config, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Free()
	seq := &Seq{Pages: []int32{0}}
	row := make([]float32, m.config.Vocab)
	for i := range g.IDs {
		m.Logits(w, row, m.Extend(w, kv, []Span{{seq, g.IDs[i : i+1]}}, []bool{true}), 1)
		seq.Len++
		lse := LogSumExp(row)
		for rank, id := range likeliest(row, 5) {
			if id != g.Top[i].IDs[rank] {
				t.Errorf("position %d: rank %d is token %d, transformers says %d", i, rank, id, g.Top[i].IDs[rank])
			}
			near(t, "logp", i, row[id]-lse, g.Top[i].Logp[rank], 1e-5)
		}
	}
}

func likeliest(logits []float32, n int) []int32 {
	ids := make([]int32, len(logits))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortFunc(ids, func(a, b int32) int {
		if logits[a] > logits[b] {
			return -1
		}
		return 1
	})
	return ids[:n]
}
