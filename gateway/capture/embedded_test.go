package capture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"molt/chat"
	"molt/chat/parse"
	"molt/chat/shape/shapetest"
	"molt/engine/local"
	"molt/gateway/wire"
	"molt/numeric/model"
	"molt/traj"
)

// TestTheEmbeddedEngineCalls: a model of random weights, which knows nothing, makes calls that parse and conform, of a thousand
// random sets of tools, in several syntaxes.
func TestTheEmbeddedEngineCalls(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 60
	}
	vocab := testTokenizer().VocabSize()
	shape := model.Config{Vocab: vocab, Dim: 32, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 16, FFN: 32, MaxPositions: 2048, NormEps: 1e-6, RopeTheta: 10000, Tied: true}
	weights, err := local.Init(shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	generator, err := local.NewGenerator(shape, weights, local.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = generator.Close() })
	families := []string{"hermes", "qwen3-coder", "glm", "deepseek", "lfm2", "minimax"}
	var mu sync.Mutex
	calls, cut := 0, 0
	for f, name := range families {
		w := newWorld(t, nil, func(c *Config) {
			family, err := parse.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			c.Generator, c.Family = generator, family
		})
		var wg sync.WaitGroup
		slots := make(chan struct{}, 16) // requests at once
		for i := f; i < rounds; i += len(families) {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				tools := shapetest.Tools(rng)
				r := request([]chat.Message{user(fmt.Sprint(i))}, shapetest.Specs(tools))
				for _, tool := range tools {
					r.Names.Add(wire.Tool{Name: tool.Name, Strict: tool.Strict})
				}
				r.Options.Choose.Mode, r.Options.Single, r.Options.MaxTokens, r.Options.Effort = wire.Required, true, 600, "none"
				call, p := w.session.Ask(t.Context(), r, Caller{})
				if p != nil {
					t.Error(p)
					return
				}
				defer call.Close(true)
				reply, p := call.Whole(t.Context())
				if p != nil {
					t.Error(p)
					return
				}
				m := message(reply)
				mu.Lock()
				defer mu.Unlock()
				if reply.Choices[0].End.Finish == traj.FinishLength {
					cut++
					return
				}
				calls += len(m.ToolCalls)
				if err := shapetest.Check(tools, m.ToolCalls); err != nil || len(m.ToolCalls) != 1 || strings.TrimSpace(m.Content) != "" {
					t.Errorf("%s: %+v: %v", name, m, err)
				}
			})
		}
		wg.Wait()
	}
	t.Logf("%d calls, %d replies were cut", calls, cut)
	if calls < rounds/2 || calls+cut != rounds {
		t.Errorf("%d calls and %d replies that were cut, of %d", calls, cut, rounds)
	}
}
