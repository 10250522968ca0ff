package local_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molt/engine"
	"molt/engine/local"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newGenerator(t testing.TB, change func(*local.Config)) *local.Generator {
	config := local.Default()
	config.Threads, config.Running, config.StepTokens = 2, 8, 32
	change(&config)
	g, err := local.NewGenerator(shapes["qwen"], fresh(t, shapes["qwen"]), config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestUnderFire lets requests come, go and be cancelled while weights are published and the generator is closed.
func TestUnderFire(t *testing.T) {
	g := newGenerator(t, func(c *local.Config) { c.Pages = 12 })
	first, second := fresh(t, shapes["qwen"]), fresh(t, shapes["qwen"])
	second.Version, second.Parent = 1, 0
	second.Tensors[0].Data[0] += 1
	second.Fingerprint = local.Fingerprint(second)

	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for range 20 {
				r := engine.Request{
					Prompt:   promptOf(97, 1+rng.IntN(120), rng.IntN(3)),
					Sampling: engine.Sampling{Temperature: 1, MaxTokens: 1 + rng.IntN(60)},
					Key:      engine.Key{Seed: uint64(i)},
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(20))*time.Millisecond)
				emitted := 0
				reply, err := g.Generate(ctx, r, func(engine.Token) { emitted++ })
				cancel()
				if err != nil && !strings.Contains(err.Error(), "closed") {
					t.Error(err)
				}
				if emitted != len(reply.Tokens) || err == nil && reply.Finish == traj.FinishStop {
					t.Errorf("%d tokens emitted; reply %+v", emitted, reply)
				}
			}
		})
	}
	for range 30 {
		for _, w := range []engine.Weights{second, first} {
			if err := g.Publish(context.Background(), w); err != nil {
				t.Error(err)
			}
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	clients.Wait()
	if err := g.Publish(context.Background(), first); err == nil {
		t.Error("a closed generator took weights")
	}
}

func TestIdleGeneratorsHaveNoLoop(t *testing.T) {
	g := newGenerator(t, func(c *local.Config) { c.Threads = 1 })
	defer g.Close()
	ignore := goleak.IgnoreCurrent()
	for range 3 {
		if _, err := g.Generate(t.Context(), engine.Request{Prompt: []int32{1}, Sampling: engine.Sampling{MaxTokens: 3}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := goleak.Find(ignore); err != nil {
			t.Error(err)
		}
	}
}

func TestTemperatureHasBounds(t *testing.T) {
	g := newGenerator(t, func(*local.Config) {})
	defer g.Close()
	for _, temperature := range []float32{1e-5, 1e5} {
		r := engine.Request{Prompt: []int32{1}, Sampling: engine.Sampling{MaxTokens: 3, Temperature: temperature}, Tag: "hot"}
		if _, err := g.Generate(t.Context(), r, nil); err == nil || !strings.Contains(err.Error(), `"hot"`) {
			t.Errorf("temperature %v: error %v; want one that names the request", temperature, err)
		}
	}
	for _, temperature := range []float32{1e-4, 1e4} {
		r := engine.Request{Prompt: []int32{1}, Sampling: engine.Sampling{MaxTokens: 3, Temperature: temperature}}
		if _, err := g.Generate(t.Context(), r, nil); err != nil {
			t.Errorf("temperature %v: %v", temperature, err)
		}
	}
}

func TestPublishUnderAnEndedContext(t *testing.T) {
	g := newGenerator(t, func(*local.Config) {})
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := fresh(t, shapes["qwen"])
	w.Version = 9
	if err := g.Publish(ctx, w); err == nil {
		t.Error("published")
	}
	if v, _ := g.Serving(); v != 0 {
		t.Errorf("serving version %d", v)
	}
}
