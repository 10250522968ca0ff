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

var (
	quickstart = model.Config{Vocab: 461, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true}
	llama28M = model.Config{Vocab: 8192, Dim: 512, Layers: 8, Heads: 8, KVHeads: 4, HeadDim: 64, FFN: 1408, MaxPositions: 1024,
		NormEps: 1e-5, RopeTheta: 10000, Tied: true}
)

// BenchmarkGenerate runs groups of 8 samples at once. Prompts are new in each round; the tokens that it counts are the
// sampled ones.
func BenchmarkGenerate(b *testing.B) {
	for _, c := range []struct {
		name           string
		shape          model.Config
		groups         int
		prompt, tokens int
	}{
		{"quickstart", quickstart, 16, 120, 64},
		{"28M", llama28M, 4, 64, 32},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/requests=%d/threads=%d", c.name, 8*c.groups, threads), func(b *testing.B) {
				benchmarkGenerate(b, c.shape, threads, c.groups, c.prompt, c.tokens)
			})
		}
	}
}

func benchmarkGenerate(b *testing.B, shape model.Config, threads, groups, prompt, tokens int) {
	config := local.Default()
	config.Threads = threads
	g, err := local.NewGenerator(shape, fresh(b, shape), config)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	b.ReportAllocs()
	rounds := 0
	for b.Loop() {
		rounds++
		var wg sync.WaitGroup
		for group := range groups {
			ids := promptOf(shape.Vocab, prompt, rounds*groups+group)
			for sample := range int32(8) {
				r := engine.Request{
					Prompt:   ids,
					Sampling: engine.Sampling{Temperature: 1, MaxTokens: tokens},
					Key:      engine.Key{Seed: uint64(rounds), Group: int64(group), Sample: sample},
				}
				wg.Go(func() {
					if _, err := g.Generate(context.Background(), r, nil); err != nil {
						b.Error(err)
					}
				})
			}
		}
		wg.Wait()
	}
	b.ReportMetric(float64(8*groups*tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkTurns runs 128 sessions at once, four turns each: what the session is shown grows by 24 tokens a turn, and what
// was computed for the last turn is found again.
func BenchmarkTurns(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("quickstart/sessions=128/threads=%d", threads), func(b *testing.B) {
			config := local.Default()
			config.Threads = threads
			g, err := local.NewGenerator(quickstart, fresh(b, quickstart), config)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			rounds := 0
			for b.Loop() {
				rounds++
				var wg sync.WaitGroup
				for i := range 128 {
					wg.Go(func() { session(b, g, rounds, i) })
				}
				wg.Wait()
			}
			b.ReportMetric(float64(128*turns*turnTokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

const turns, turnTokens = 4, 16

func session(b *testing.B, g *local.Generator, round, i int) {
	r := engine.Request{
		Prompt:   promptOf(quickstart.Vocab, 120, round*16+i/8),
		Sampling: engine.Sampling{Temperature: 1, MaxTokens: turnTokens},
		Key:      engine.Key{Seed: uint64(round), Group: int64(i / 8), Sample: int32(i % 8)},
	}
	for turn := range int32(turns) {
		r.Key.Turn = turn
		reply, err := g.Generate(context.Background(), r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		for _, t := range reply.Tokens {
			r.Prompt = append(r.Prompt, t.ID)
		}
		r.Prompt = append(r.Prompt, promptOf(quickstart.Vocab, 24, int(turn))...)
	}
}

// BenchmarkTrain is one optimizer step over packed sequences of which the second half is scored.
func BenchmarkTrain(b *testing.B) {
	for _, c := range []struct {
		name              string
		shape             model.Config
		sequences, length int
	}{
		{"quickstart", quickstart, 8, 112},
		{"quickstart", quickstart, 32, 112},
		{"28M", llama28M, 4, 256},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%dx%d/threads=%d", c.name, c.sequences, c.length, threads), func(b *testing.B) {
				benchmarkTrain(b, c.shape, threads, c.sequences, c.length)
			})
		}
	}
}

func benchmarkTrain(b *testing.B, shape model.Config, threads, sequences, length int) {
	config := local.Default()
	config.Threads = threads
	l, err := local.NewLearner(shape, fresh(b, shape), config)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	batch := engine.Batch{Starts: []int32{0}}
	for s := range sequences {
		for t, id := range promptOf(shape.Vocab, length, s) {
			if t >= length/2 {
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
}

// promptOf makes ids that repeat with no short period; another salt gives another prompt.
func promptOf(vocab, n, salt int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32((i*i*7 + i*(31+salt) + salt*5 + 1) % vocab)
	}
	return p
}
