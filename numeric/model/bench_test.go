package model

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var (
	quickstart = Config{Vocab: 461, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true}
	llama28M = Config{Vocab: 8192, Dim: 512, Layers: 8, Heads: 8, KVHeads: 4, HeadDim: 64, FFN: 1408, MaxPositions: 1024,
		NormEps: 1e-5, RopeTheta: 10000, Tied: true}
)

// scoreHalf scores the second half of each sequence, as in training on replies.
func scoreHalf(rng *rand.Rand, c Config, sequences, length int) Batch {
	b := Batch{Starts: []int32{0}}
	for s := range sequences {
		for i := range length {
			b.Tokens = append(b.Tokens, int32(rng.IntN(c.Vocab)))
			if i >= length/2 {
				b.Score = append(b.Score, int32(s*length+i))
			}
		}
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
	}
	return b
}

func scoreAll(rng *rand.Rand, c Config, sequences, length int) Batch {
	b := scoreHalf(rng, c, sequences, length)
	b.Score = b.Score[:0]
	for i := range b.Tokens {
		if i%length > 0 {
			b.Score = append(b.Score, int32(i))
		}
	}
	return b
}

func benchmarkTrain(b *testing.B, c Config, threads int, batch Batch) {
	m := newModel(b, c, 1)
	w := newWork(b, m, threads, Budget{Tokens: len(batch.Tokens), Score: len(batch.Score), Grad: true})
	g := newGrads(b, c)
	dLogp := randomLane(rand.New(rand.NewPCG(1, 1)), len(batch.Score))
	step := func() { m.Forward(w, batch, Want{Grad: true}).Backward(g, dLogp, nil, nil) }
	step()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(len(batch.Tokens)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkTrain is one forward and backward.
func BenchmarkTrain(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, threads := range []int{1, 2} {
		for _, sequences := range []int{8, 32} {
			b.Run(fmt.Sprintf("quickstart/%dx125/threads=%d", sequences, threads), func(b *testing.B) {
				benchmarkTrain(b, quickstart, threads, scoreHalf(rng, quickstart, sequences, 125))
			})
		}
		b.Run(fmt.Sprintf("28M/4x256/threads=%d", threads), func(b *testing.B) {
			benchmarkTrain(b, llama28M, threads, scoreAll(rng, llama28M, 4, 256))
		})
	}
}

// BenchmarkDecode is one token for each row, logits included, at positions around 100.
func BenchmarkDecode(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, rows := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("quickstart/rows=%d/threads=%d", rows, threads), func(b *testing.B) {
				benchmarkDecode(b, quickstart, threads, rows)
			})
		}
		for _, rows := range []int{1, 32} {
			b.Run(fmt.Sprintf("28M/rows=%d/threads=%d", rows, threads), func(b *testing.B) {
				benchmarkDecode(b, llama28M, threads, rows)
			})
		}
	}
}

func benchmarkDecode(b *testing.B, c Config, threads, rows int) {
	const position, perRow = 100, 2
	m := newModel(b, c, 1)
	w := newWork(b, m, threads, Budget{Tokens: max(rows, position)})
	kv, err := NewKV(c, rows*perRow)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(kv.Free)
	spans, want := make([]Span, rows), make([]bool, rows)
	for i := range spans {
		seq := &Seq{Pages: []int32{int32(i * perRow), int32(i*perRow + 1)}}
		prompt := make([]int32, position)
		for t := range prompt {
			prompt[t] = int32((t*7 + i) % c.Vocab)
		}
		m.Extend(w, kv, []Span{{seq, prompt}}, []bool{false})
		seq.Len = position
		spans[i], want[i] = Span{seq, []int32{int32(i % c.Vocab)}}, true
	}
	logits := make([]float32, rows*c.Vocab)
	for b.Loop() {
		m.Logits(w, logits, m.Extend(w, kv, spans, want), rows)
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkPrefill is a prompt of 512 tokens in one call.
func BenchmarkPrefill(b *testing.B) {
	const n = 512
	m := newModel(b, llama28M, 1)
	w := newWork(b, m, 2, Budget{Tokens: n})
	kv, err := NewKV(llama28M, n/PageTokens)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(kv.Free)
	seq := &Seq{Pages: []int32{0, 1, 2, 3, 4, 5, 6, 7}}
	spans := []Span{{seq, make([]int32, n)}}
	for b.Loop() {
		m.Extend(w, kv, spans, []bool{true})
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkRefresh copies the weights to both kinds of operands, as once for each optimizer step.
func BenchmarkRefresh(b *testing.B) {
	m := newModel(b, llama28M, 1)
	pool := newPool(b, 2)
	for b.Loop() {
		m.Refresh(pool)
		m.refreshBackward(pool)
	}
	b.SetBytes(int64(8 * llama28M.ParamCount()))
}
