package capture

import (
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
)

// thinker is a template that knows what Qwen3's and gpt-oss's know.
const thinker = `{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% if enable_thinking is defined and not enable_thinking %}{{- '<think>\n\n</think>\n\n' }}{% endif %}
{%- if reasoning_effort is defined and reasoning_effort != 'medium' %}{{- reasoning_effort }}{% endif %}{% endif %}`

func thinking(t *testing.T) func(*Config) {
	template, err := chat.NewJinja(thinker, chat.JinjaOptions{EOS: "<|im_end|>"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.NewRenderer(template, testTokenizer())
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Renderer = r }
}

// TestVariables: what a request says of reasoning is what the template shows, by whichever name; what changes nothing is
// the same conversation.
func TestVariables(t *testing.T) {
	yes, no := true, false
	w := newWorld(t, inOrder("a", "b", "c", "d", "e", "f"), thinking(t))
	ask := func(change func(*wire.Options)) string {
		r := request([]chat.Message{user("q")}, nil)
		change(&r.Options)
		w.send(r, Caller{})
		requests := w.engine.Requests()
		_, shown, _ := strings.Cut(testTokenizer().Decode(requests[len(requests)-1].Prompt), "assistant\n")
		return shown
	}
	for _, c := range []struct {
		want   string
		change func(*wire.Options)
	}{
		{"", func(*wire.Options) {}},
		{"<think>\n\n</think>\n\n", func(o *wire.Options) { o.Think = &no }},
		{"", func(o *wire.Options) { o.Think = &yes }},
		{"<think>\n\n</think>\n\n", func(o *wire.Options) { o.Variables = []chat.Member{{Name: "enable_thinking", Value: chat.Bool(false)}} }},
		{"<think>\n\n</think>\n\n", func(o *wire.Options) { o.Effort = "none" }},
		{"high", func(o *wire.Options) { o.Effort = "high" }},
		{"", func(o *wire.Options) { o.Effort = "medium" }},
		{"", func(o *wire.Options) { o.Variables = []chat.Member{{Name: "unknown", Value: chat.Bool(false)}} }},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("shown %q; want %q", got, c.want)
		}
	}
	if n := len(w.session.forest.Nodes()); n != 8 {
		t.Errorf("%d turns", n)
	}
	w.sound()

	r := request([]chat.Message{user("q")}, nil)
	r.Options.Variables = []chat.Member{{Name: "unknown", Value: chat.Bool(true)}}
	if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || p.Class != wire.Bad || !strings.Contains(p.Message, "does not know") {
		t.Errorf("%v", p)
	}
}

// TestVariablesGoOn: a conversation without reasoning goes on behind its own ids, apart from the one with it.
func TestVariablesGoOn(t *testing.T) {
	w := newWorld(t, inOrder("a", "b"), thinking(t))
	no := false
	messages := []chat.Message{user("q")}
	for range 2 {
		r := request(messages, nil)
		r.Options.Think = &no
		messages = append(messages, w.send(r, Caller{}), user("more"))
	}
	if n := len(w.session.Export().Segments); n != 1 {
		t.Errorf("%d segments:\n%s", n, w.tree())
	}
	w.sound()
}

// TestNamedVariablesAreKept: what a variable changes may show in conversations that nobody tried, such as those with images.
func TestNamedVariablesAreKept(t *testing.T) {
	w := newWorld(t, nil, nil)
	known := ""
	for name := range w.gateway.known() {
		known = max(known, name)
	}
	r, variables, p := w.gateway.renderer(&wire.Options{Variables: []chat.Member{{Name: known, Value: chat.Bool(true)}}})
	if p != nil || r == w.gateway.config.Renderer || len(variables) != 1 {
		t.Errorf("%q: %v, %v", known, variables, p)
	}
}
