package local_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/chat/grammar"
	"molt/engine"
	"molt/engine/local"
)

// TestSchemaOnTheModel samples under a schema from a model that knows none, at several thread counts, alone and in a batch:
// the same bits, log-probs of the whole distribution, and values that parse.
func TestSchemaOnTheModel(t *testing.T) {
	shape := shapes["llama"]
	end := int32(shape.Vocab - 1)
	spell := func(id int32) []byte {
		switch {
		case id < 256:
			return []byte{byte(id)}
		case id == end:
			return nil
		}
		return fmt.Appendf(nil, "%c%d", 'a'+id%26, id)
	}
	words := grammar.NewVocabulary(shape.Vocab, spell)
	g, err := grammar.Schema([]byte(`{"type":"object","properties":{"kind":{"enum":["ab12","cd"]},"n":{"type":"integer"},"yes":{"type":"array","items":{"type":"boolean"},"maxItems":3}},"required":["kind","n","yes"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var requests []engine.Request
	for i := range int32(12) {
		requests = append(requests, engine.Request{
			Prompt:    promptOf(shape.Vocab, 20, int(i)),
			Sampling:  engine.Sampling{Temperature: []float32{1, 0.7, 0}[i%3], TopP: 0.95, MaxTokens: 200, StopTokens: []int32{end}},
			Key:       engine.Key{Sample: i},
			Constrain: func() engine.Constraint { return g.Walk(words, []int32{end}, nil) },
		})
	}
	var want []engine.Reply
	for _, threads := range []int{1, 2, 5} {
		config := local.Default()
		config.Threads = threads
		s := subject(t, shape, config)
		replies := make([]engine.Reply, len(requests))
		var wg sync.WaitGroup
		for i, r := range requests {
			wg.Go(func() {
				var err error
				if replies[i], err = s.Generator.Generate(t.Context(), r, nil); err != nil {
					t.Error(err)
				}
			})
			if threads == 1 {
				wg.Wait() // one after the other
			}
		}
		wg.Wait()
		for i := range replies {
			replies[i].Cached = 0
		}
		if want == nil {
			want = replies
		}
		if diff := cmp.Diff(want, replies); diff != "" {
			t.Errorf("%d threads differ from 1:\n%s", threads, diff)
		}
		s.Generator.Close()
		s.Learner.Close()
	}
	for _, reply := range want {
		var text []byte
		for _, token := range reply.Tokens {
			text = append(text, spell(token.ID)...)
		}
		var v struct {
			Kind string
			N    *int64
			Yes  *[]bool
		}
		if err := json.Unmarshal(text, &v); err != nil || v.Kind != "ab12" && v.Kind != "cd" || v.N == nil || v.Yes == nil || reply.Tokens[len(reply.Tokens)-1].ID != end {
			t.Errorf("%s: %v", text, err)
		}
	}
}
