package grammar

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// synthetic is a vocabulary of n ids: bytes, then words of 2 to 12 letters of which some begin with a space or end with
// punctuation, as byte-level vocabularies have them.
func synthetic(n int) *Vocabulary {
	rng := rand.New(rand.NewPCG(1, 1))
	tails := []string{"", "", "", "", "", "", "", "", "\"", "\",", ".", ":", "\":", "}", "\n"}
	return NewVocabulary(n, func(id int32) []byte {
		switch {
		case int(id) < len(pieces):
			return []byte(pieces[id])
		case int(id) == n-1:
			return nil
		}
		word := make([]byte, 2+rng.IntN(11))
		for i := range word {
			word[i] = byte('a' + rng.IntN(26))
		}
		if rng.IntN(2) == 0 {
			word[0] = ' '
		}
		return append(word, tails[rng.IntN(len(tails))]...)
	})
}

const order = `{"type":"object","properties":{"name":{"type":"string"},"lines":{"type":"array","items":{"type":"object",
	"properties":{"sku":{"type":"string"},"n":{"type":"integer"},"unit":{"enum":["piece","box","kg"]},"price":{"type":"number"}},
	"required":["sku","n"],"additionalProperties":false}},"note":{"type":["string","null"]}},"required":["name","lines","note"],"additionalProperties":false}`

func BenchmarkAllowed(b *testing.B) {
	for _, size := range []int{512, 49_152, 151_936} {
		began := time.Now()
		v := synthetic(size)
		made := time.Since(began)
		g := compile(b, order)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(2, 2))
			ends := []int32{int32(size - 1)}
			w := g.Walk(v, ends, nil)
			mask := make([]uint64, v.Words())
			for b.Loop() {
				w.Allowed(mask)
				ids := list(mask)
				id := ids[rng.IntN(len(ids))]
				if w.Take(id); id == ends[0] {
					w = g.Walk(v, ends, nil)
				}
			}
			b.ReportMetric(float64(made.Milliseconds()), "ms/vocabulary")
		})
	}
}

func BenchmarkString(b *testing.B) {
	v := synthetic(151_936)
	w := compile(b, order).Walk(v, nil, nil)
	for _, c := range []byte(`{"name": "abc`) {
		w.Take(int32(c))
	}
	mask := make([]uint64, v.Words())
	for b.Loop() {
		w.Allowed(mask)
	}
}

func BenchmarkSchema(b *testing.B) {
	for b.Loop() {
		compile(b, order)
	}
}

// BenchmarkFree is the first token of free text with a call in it, and the next ones.
func BenchmarkFree(b *testing.B) {
	v := synthetic(151_936)
	g := build(b, Free(FreeText{Ends: true, Stops: []Stop{{Texts: []string{"<tool_call>"}, Then: Value([]byte(order), false), Back: true}}}))
	mask := make([]uint64, v.Words())
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			g.Walk(v, nil, nil).Allowed(mask)
		}
	})
	b.Run("next", func(b *testing.B) {
		w := g.Walk(v, nil, nil)
		for b.Loop() {
			w.Allowed(mask)
			w.Take('a')
		}
	})
}
