package capture

import (
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
)

func number(x float64) *float64 { return &x }

// TestWhatIsNoFreeSample: a turn trains at any temperature, and not where ids were drawn otherwise than the policy says.
func TestWhatIsNoFreeSample(t *testing.T) {
	three := 3
	for _, c := range []struct {
		want   string
		change func(*wire.Options)
	}{
		{"", func(*wire.Options) {}},
		{"", func(o *wire.Options) { o.Temperature = number(0.5) }},
		{"", func(o *wire.Options) { o.TopP = number(1) }},
		{"", func(o *wire.Options) { o.Repetition, o.Frequency, o.Presence = number(1), number(0), number(0) }},
		{"", func(o *wire.Options) { o.StopTokens, o.Top, o.Logprobs = []int32{9}, 2, true }},
		{"temperature 0", func(o *wire.Options) { o.Temperature = number(0) }},
		{"top_p", func(o *wire.Options) { o.TopP = number(0.9) }},
		{"top_k", func(o *wire.Options) { o.TopK = &three }},
		{"min_p", func(o *wire.Options) { o.MinP = number(0.1) }},
		{"logit_bias", func(o *wire.Options) { o.Bias = []wire.Bias{{ID: 1, Value: 1}} }},
		{"frequency_penalty", func(o *wire.Options) { o.Frequency = number(1) }},
		{"presence_penalty", func(o *wire.Options) { o.Presence = number(1) }},
		{"repetition_penalty", func(o *wire.Options) { o.Repetition = number(1.1) }},
		{"min_tokens", func(o *wire.Options) { o.MinTokens = 2 }},
	} {
		w := newWorld(t, nil, nil)
		r := request([]chat.Message{user("q")}, nil)
		r.Options.MaxTokens = 8
		c.change(&r.Options)
		w.send(r, Caller{})
		node := w.session.Export().Tree[0]
		trains := w.session.Export().Segments[0].Action[len(node.Observation)]
		if node.Untrained != c.want || trains != (c.want == "") {
			t.Errorf("untrained for %q, trains %v; want %q", node.Untrained, trains, c.want)
		}
		w.sound()
		if c.want == "" {
			continue
		}
		for _, policy := range []Policy{Refuse, Keep} {
			w := newWorld(t, nil, func(c *Config) { c.Policy = policy })
			r := request([]chat.Message{user("q")}, nil)
			r.Options.MaxTokens = 8
			c.change(&r.Options)
			_, p := w.whole(r)
			if policy == Refuse {
				if p == nil || p.Param != strings.TrimSuffix(c.want, " 0") {
					t.Errorf("%s is not refused: %v", c.want, p)
				}
				continue
			}
			if p != nil {
				t.Fatal(p)
			}
			if node := w.session.Export().Tree[0]; node.Untrained != "" || w.gateway.Counts().Overridden != 1 {
				t.Errorf("%s is not overridden: %+v", c.want, node.Sampling)
			}
		}
	}
}

// TestEnds: a request may end its turns at other tokens, or at none.
func TestEnds(t *testing.T) {
	comma, _ := testTokenizer().ID(",")
	w := newWorld(t, inOrder("one, two", "a<|im_end|>b"), nil)
	r := request([]chat.Message{user("q")}, nil)
	r.Options.StopTokens = []int32{comma}
	if got := w.send(r, Caller{}); got.Content != "one" {
		t.Errorf("%q", got.Content)
	}
	r = request([]chat.Message{user("r")}, nil)
	r.Options.IgnoreEnd = true
	if got := w.send(r, Caller{}); got.Content != "ab" {
		t.Errorf("%q", got.Content)
	}
	r.Options.StopTokens = []int32{1 << 30}
	if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || p.Param != "stop_token_ids" {
		t.Errorf("%v", p)
	}
}

// TestAlternatives: as many as were asked for, likeliest first, spelt.
func TestAlternatives(t *testing.T) {
	w := newWorld(t, nil, nil)
	r := request([]chat.Message{user("q")}, nil)
	r.Options.Logprobs, r.Options.Top, r.Options.MaxTokens = true, 5, 4
	reply, p := w.whole(r)
	if p != nil {
		t.Fatal(p)
	}
	for _, token := range reply.Choices[0].Tokens {
		if len(token.Top) != 5 || token.Top[0].Logp < token.Top[4].Logp || token.Top[0].Text == "" {
			t.Errorf("%+v", token)
		}
	}
	if len(reply.Choices[0].Tokens) == 0 {
		t.Error("no tokens")
	}
}
