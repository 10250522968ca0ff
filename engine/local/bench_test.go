package local_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
)

var quickstart = model.Config{Vocab: 461, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
	NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true}

// BenchmarkGenerate runs 128 requests at once: 16 prompts of 120 tokens, 8 samples each, 64 tokens for each sample.
func BenchmarkGenerate(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("quickstart/threads=%d", threads), func(b *testing.B) {
			config := local.Default()
			config.Threads = threads
			g, err := local.NewGenerator(quickstart, fresh(b, quickstart), config)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			const tokens = 64
			requests := make([]engine.Request, 128)
			for i := range requests {
				requests[i] = engine.Request{
					Prompt:   promptOf(quickstart.Vocab, 120, i/8),
					Sampling: engine.Sampling{Temperature: 1, MaxTokens: tokens},
					Key:      engine.Key{Group: int64(i / 8), Sample: int32(i % 8)},
				}
			}
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				round++
				var wg sync.WaitGroup
				for _, r := range requests {
					r.Key.Seed = uint64(round)
					r.Prompt = promptOf(quickstart.Vocab, 120, round*16+int(r.Key.Group))
					wg.Go(func() {
						if _, err := g.Generate(context.Background(), r, nil); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			b.ReportMetric(float64(len(requests)*tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkTrain is one optimizer step over 8 episodes of 112 tokens, half of them scored, and one of 128 such episodes in
// micro-batches.
func BenchmarkTrain(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, sequences := range []int{8, 32} {
			b.Run(fmt.Sprintf("quickstart/sequences=%d/threads=%d", sequences, threads), func(b *testing.B) {
				config := local.Default()
				config.Threads = threads
				l, err := local.NewLearner(quickstart, fresh(b, quickstart), config)
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				batch := engine.Batch{Starts: []int32{0}}
				for s := range sequences {
					for t, id := range promptOf(quickstart.Vocab, 112, s) {
						if t >= 56 {
							batch.Score = append(batch.Score, int32(len(batch.Tokens)))
						}
						batch.Tokens = append(batch.Tokens, id)
					}
					batch.Starts = append(batch.Starts, int32(len(batch.Tokens)))
				}
				d := make([]float32, len(batch.Score))
				for i := range d {
					d[i] = -1 / float32(len(d))
				}
				ctx := context.Background()
				b.ReportAllocs()
				for b.Loop() {
					pass, err := l.Forward(ctx, batch, engine.Want{Grad: true})
					if err != nil {
						b.Fatal(err)
					}
					if err := pass.Backward(ctx, d, nil, nil); err != nil {
						b.Fatal(err)
					}
					if _, err := l.Step(ctx, engine.StepOptions{LR: 1e-3, Clip: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(batch.Tokens)*b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// promptOf makes ids that repeat with no short period; another salt gives another prompt.
func promptOf(vocab, n, salt int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32((i*i*7 + i*(31+salt) + salt*5 + 1) % vocab)
	}
	return p
}
