package shape

import (
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/chat/grammar"
	"molt/chat/parse"
	"molt/chat/shape/shapetest"
)

// markup are control tokens of some families, as ids from 300 on.
var markup = []string{
	"<tool_call>", "</tool_call>", "<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
	"[TOOL_CALLS]", "[ARGS]", "<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|constrain|>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
	"<|tool_call|>", "<|/tool_call|>", "<|open|>", "<|close|>", "<|sep|>",
}

var pieces = []string{`{"`, `": `, `", "`, `"}`, `}}`, "\n\n", "the ", "<", "</", "parameter>", `"name`, "12", "true", "null", `\u00e9`, "é", "日本", ">\n", "]}", `\"`}

const markupFrom, end = 300, 399

// speech is a model of a family, with control tokens or without.
type speech struct {
	Speech
	words    *grammar.Vocabulary
	controls bool
}

func newSpeech(t testing.TB, family, prompt string, controls bool) speech {
	t.Helper()
	f, err := parse.Named(family)
	if err != nil {
		t.Fatal(err)
	}
	s := speech{Speech: Speech{Family: f, Prompt: prompt, Ends: []int32{end}, Code: func(text string) string { return text }}, controls: controls}
	if controls {
		var pairs []string
		for i, m := range markup {
			pairs = append(pairs, m, grammar.Control(int32(markupFrom+i)))
		}
		s.Code = strings.NewReplacer(pairs...).Replace
	}
	s.words = grammar.NewVocabulary(end+1, func(id int32) []byte {
		if id >= markupFrom {
			return nil
		}
		return []byte(s.spelt(id))
	})
	return s
}

func (s speech) spelt(id int32) string {
	switch {
	case id < 256:
		return string([]byte{byte(id)})
	case int(id) < 256+len(pieces):
		return pieces[id-256]
	case s.controls && id >= markupFrom && int(id) < markupFrom+len(markup):
		return markup[id-markupFrom]
	}
	return "¿" // a control token of no meaning
}

// sampler draws random replies of a grammar, and lets them end.
type sampler struct {
	mask     []uint64
	ids      []int32
	rng      *rand.Rand
	tags     []string // that end free text
	controls bool
}

func (s *sampler) reply(t testing.TB, g *grammar.Grammar, of speech) string {
	t.Helper()
	s.controls = of.controls
	w := g.Walk(of.words, []int32{end}, nil)
	s.mask = make([]uint64, of.words.Words())
	var text strings.Builder
	for n := range 4000 {
		w.Allowed(s.mask)
		s.ids = s.ids[:0]
		for i, word := range s.mask {
			for ; word != 0; word &= word - 1 {
				s.ids = append(s.ids, int32(64*i+bits.TrailingZeros64(word)))
			}
		}
		if len(s.ids) == 0 {
			t.Fatalf("nothing is allowed behind %q", text.String())
		}
		id := s.ids[s.rng.IntN(len(s.ids))]
		if n > 50 || s.rng.IntN(3) == 0 {
			id = s.closing(text.String())
		}
		if id == end {
			return text.String()
		}
		w.Take(id)
		text.WriteString(of.spelt(id))
	}
	t.Fatalf("no end: %q", text.String())
	return ""
}

func (s *sampler) has(id int32) bool { return s.mask[id/64]>>(id%64)&1 == 1 }

// closing goes towards the end.
func (s *sampler) closing(text string) int32 {
	if s.has(end) && !s.has('q') {
		return end
	}
	if s.has('q') && s.has('\n') { // free text
		if s.has(end) && s.rng.IntN(2) == 0 {
			return end
		}
		return s.spelling(text)
	}
	if s.has('q') && s.has('"') && s.has('~') { // inside a string
		return '"'
	}
	for _, c := range `}])"nul` {
		if s.has(c) {
			return c
		}
	}
	return s.ids[s.rng.IntN(len(s.ids))]
}

// spelling goes on with the tag of which most has come, any of those.
func (s *sampler) spelling(text string) int32 {
	tag, most := "", -1
	for _, i := range s.rng.Perm(len(s.tags)) {
		t := s.tags[i]
		for n := len(t) - 1; n > most; n-- {
			if strings.HasSuffix(text, t[:n]) && s.has(int32(t[n])) {
				tag, most = t, n
			}
		}
	}
	if i := slices.Index(markup, tag); most == 0 && i >= 0 && s.controls && s.has(int32(markupFrom+i)) {
		return int32(markupFrom + i)
	}
	return int32(tag[most])
}

func read(s speech, text, prompt string, tools []chat.ToolSpec) chat.Message {
	reply := s.Family.Read(text, prompt, tools)
	return reply.Message()
}

// promptOf opens a turn as a family's template does.
func promptOf(family string, thinks bool) string {
	f, _ := parse.Named(family)
	if open, _ := f.Think(); thinks && open != "" {
		return "assistant\n" + open + "\n"
	}
	return "assistant\n"
}

// TestCallsThatMust: whatever a model of any family samples is calls of offered tools with arguments of their schemas, and
// perhaps reasoning before them.
func TestCallsThatMust(t *testing.T) {
	for family := range forms {
		total, thought := 0, 0
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 1))
			tools := shapetest.Tools(rng)
			prompt := promptOf(family, seed%3 == 0)
			s := newSpeech(t, family, prompt, seed%2 == 0)
			single := seed%4 == 1
			g, err := Reply(s.Speech, Demand{Tools: offered(tools), Must: true, Single: single})
			if err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			draw := sampler{rng: rng, tags: closers(s.Family)}
			for range 2 {
				text := draw.reply(t, g, s)
				reply := s.Family.Read(text, prompt, shapetest.Specs(tools))
				m := reply.Message()
				total += len(m.ToolCalls)
				thought += len(m.Reasoning)
				if err := shapetest.Check(tools, m.ToolCalls); err != nil || len(m.ToolCalls) == 0 || single && len(m.ToolCalls) > 1 || strings.TrimSpace(m.Content) != "" || reply.Unclosed {
					t.Fatalf("%s: %q is %+v, %v", family, text, m, err)
				}
			}
		}
		if total < 120 || thought == 0 && family != "harmony" {
			t.Errorf("%s: %d calls, %d bytes of reasoning", family, total, thought)
		}
	}
}

// closers are tags that end free text of a family.
func closers(f *parse.Family) []string {
	_, thought := f.Think()
	if t, ok := thoughts[f.Name]; ok {
		thought = t[1]
	}
	tags := []string{thought}
	for _, form := range forms[f.Name] {
		if form.style != nil {
			tags = append(tags, form.style.Stops...)
		}
	}
	return tags
}

// TestCallsThatMay: in free text a call begins as it always could, and is then one of the offered tools, with arguments of
// their schemas. Nothing else is kept out.
func TestCallsThatMay(t *testing.T) {
	calling := 0
	for family, ways := range forms {
		if slices.ContainsFunc(ways, func(f form) bool { return f.once }) {
			s := newSpeech(t, family, "assistant\n", false)
			if _, err := Reply(s.Speech, Demand{Tools: []Tool{{Name: "f"}}}); err == nil {
				t.Errorf("%s tells calls from text", family)
			}
			continue
		}
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 2))
			tools := shapetest.Tools(rng)
			prompt := promptOf(family, seed%5 == 0)
			s := newSpeech(t, family, prompt, seed%2 == 0)
			g, err := Reply(s.Speech, Demand{Tools: offered(tools)})
			if err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			draw := sampler{rng: rng, tags: append(closers(s.Family), s.Family.Openings()...)}
			text := draw.reply(t, g, s)
			m := read(s, text, prompt, shapetest.Specs(tools))
			if err := shapetest.Check(tools, m.ToolCalls); err != nil {
				t.Fatalf("%s: %q: %v", family, text, err)
			}
			calling += len(m.ToolCalls)
		}
	}
	if calling < 60 {
		t.Errorf("%d calls", calling)
	}
}

// TestFreeIsFree: nothing is kept out before a call opens, and again behind it.
func TestFreeIsFree(t *testing.T) {
	s := newSpeech(t, "hermes", "assistant\n", true)
	g, err := Reply(s.Speech, Demand{Tools: []Tool{{Name: "f", Schema: []byte(`{"type":"object","properties":{}}`), Strict: true}}})
	if err != nil {
		t.Fatal(err)
	}
	w := g.Walk(s.words, []int32{end}, nil)
	mask := make([]uint64, s.words.Words())
	full := func() bool {
		w.Allowed(mask)
		n := 0
		for _, word := range mask {
			n += bits.OnesCount64(word)
		}
		return n == end+1
	}
	take := func(text string, controls ...string) {
		for _, c := range controls {
			w.Take(int32(markupFrom + slices.Index(markup, c)))
		}
		for _, c := range []byte(text) {
			w.Take(int32(c))
		}
	}
	if !full() {
		t.Error("the beginning is narrow")
	}
	if take("hm <tool", "<think>"); !full() {
		t.Error("reasoning is narrow")
	}
	if take("<tool_call>{", "<tool_call>"); !full() {
		t.Error("a call that is only thought of is narrow")
	}
	if take("ok <", "</think>"); !full() {
		t.Error("text is narrow")
	}
	if take("", "<tool_call>"); full() {
		t.Error("a call is free")
	}
	if take(`{"name": "f", "arguments": {}}`); full() {
		t.Error("the end of a call is free")
	}
	if take("\nmore", "</tool_call>"); !full() {
		t.Error("text behind a call is narrow")
	}
}

// TestFormats: reasoning may come before a value, which conforms.
func TestFormats(t *testing.T) {
	const schema = `{"type":"object","properties":{"k":{"enum":["a","b"]},"n":{"type":["integer","null"]}},"required":["k","n"],"additionalProperties":false}`
	thought := 0
	for _, f := range parse.Families() {
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 3))
			prompt := promptOf(f.Name, seed%2 == 0)
			s := newSpeech(t, f.Name, prompt, seed%4 < 2)
			g, err := Reply(s.Speech, Demand{Format: true, Schema: []byte(schema)})
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			draw := sampler{rng: rng, tags: closers(s.Family)}
			text := draw.reply(t, g, s)
			m := f.Read(text, prompt, nil)
			var v any
			var of map[string]any
			_ = json.Unmarshal([]byte(schema), &of)
			said := m.Message()
			if err := json.Unmarshal([]byte(said.Content), &v); err != nil || !shapetest.Conforms(of, v) {
				t.Errorf("%s: %q is %+v, %v", f.Name, text, said, err)
			}
			thought += min(1, len(said.Reasoning))
		}
	}
	if thought < 200 {
		t.Errorf("%d replies reason first", thought)
	}
}

// TestFormatsAndTools: the reply is a value or calls.
func TestFormatsAndTools(t *testing.T) {
	values, calls := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		tools := shapetest.Tools(rng)
		s := newSpeech(t, "hermes", "assistant\n", seed%2 == 0)
		g, err := Reply(s.Speech, Demand{Tools: offered(tools), Format: true})
		if err != nil {
			t.Fatal(err)
		}
		draw := sampler{rng: rng, tags: closers(s.Family)}
		text := draw.reply(t, g, s)
		m := read(s, text, "assistant\n", shapetest.Specs(tools))
		if err := shapetest.Check(tools, m.ToolCalls); err != nil || len(m.ToolCalls) == 0 && !json.Valid([]byte(m.Content)) {
			t.Fatalf("%q: %+v %v", text, m, err)
		}
		values, calls = values+min(1, len(m.Content)), calls+len(m.ToolCalls)
	}
	if values == 0 || calls == 0 {
		t.Errorf("%d values, %d calls", values, calls)
	}
}

// TestRefusals: what a family cannot keep is said.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		family string
		tool   Tool
		want   string
	}{
		{"plain", Tool{Name: "f"}, "cannot be demanded"},
		{"gemma4", Tool{Name: "f"}, "cannot be demanded"},
		{"qwen3-coder", Tool{Name: "a b"}, `cannot name the tool "a b"`},
		{"hermes", Tool{Name: "f", Strict: true, Schema: []byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`)}, `the tool "f": `},
		{"qwen3-coder", Tool{Name: "f", Strict: true, Schema: []byte(`{"type":"object","properties":{"a":{"type":["string","object"]}}}`)}, "told apart"},
	} {
		s := newSpeech(t, c.family, "", false)
		if _, err := Reply(s.Speech, Demand{Tools: []Tool{c.tool}, Must: true}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.family, err, c.want)
		}
	}
	s := newSpeech(t, "hermes", "", false)
	loose := Tool{Name: "f", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`)}
	if _, err := Reply(s.Speech, Demand{Tools: []Tool{loose, loose}, Must: true}); err != nil {
		t.Error(err)
	}
}

func offered(tools []shapetest.Tool) []Tool {
	out := make([]Tool, len(tools))
	for i, t := range tools {
		out[i] = Tool(t)
	}
	return out
}

// FuzzReply: whatever tools and prompts are, a reply can always go on, and nothing panics.
func FuzzReply(f *testing.F) {
	f.Add(uint8(1), "f", `{"type":"object","properties":{"a":{"type":"string"}}}`, "<think>", true, true, uint64(1))
	f.Add(uint8(3), "get_all", `{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"</parameter>":{"enum":["<"]}}}}}`, "", false, false, uint64(2))
	f.Fuzz(func(t *testing.T, family uint8, name, schema, prompt string, must, strict bool, seed uint64) {
		if len(schema) > 2000 {
			return
		}
		all := parse.Families()
		s := newSpeech(t, all[int(family)%len(all)].Name, prompt, seed%2 == 0)
		g, err := Reply(s.Speech, Demand{Tools: []Tool{{Name: name, Schema: []byte(schema), Strict: strict}, {Name: "ls"}}, Must: must, Format: seed%3 == 0})
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 5))
		w := g.Walk(s.words, []int32{end}, nil)
		mask := make([]uint64, s.words.Words())
		for range 60 {
			w.Allowed(mask)
			var ids []int32
			for i, word := range mask {
				for ; word != 0; word &= word - 1 {
					ids = append(ids, int32(64*i+bits.TrailingZeros64(word)))
				}
			}
			if len(ids) == 0 {
				t.Fatalf("%s: nothing is allowed", s.Family.Name)
			}
			id := ids[rng.IntN(len(ids))]
			if id == end {
				return
			}
			w.Take(id)
		}
	})
}

// TestCallsWithoutATag: what begins like a call is one; anything else is text.
func TestCallsWithoutATag(t *testing.T) {
	tool := Tool{Name: "f", Schema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`), Strict: true}
	for _, c := range []struct{ family, yes, no string }{
		{"llama3-json", ` | Hello {"x": 1} | {"name": "f", "parameters": {"x": 1}} |  {"name": "f", "parameters": {"x": 1}}; {"name":"f","parameters":{"x":2}} | <think>{hm</think>` + "\n" + `{"name": "f", "parameters": {"x": 1}} | <|python_tag|>{"name": "f", "parameters": {"x": 1}}`,
			`{"x": 1} |  {"x": 1} | {"name": "f", "parameters": {}} | {"name": "g", "parameters": {"x": 1}} | <think>hm</think>{"x": 1} | <|python_tag|>print(1)`},
		{"llama-pythonic", `Hello | [f(x=1)] | [f(x=1), f(x=2)] | a [1]`, `[1] | [f()] | {"name": "f"} |  [g(x=1)]`},
	} {
		s := newSpeech(t, c.family, "", false)
		g, err := Reply(s.Speech, Demand{Tools: []Tool{tool}})
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(c.yes, " | ") {
			if _, conforms := g.Match(text); !conforms {
				t.Errorf("%s: refuses %q", c.family, text)
			}
		}
		for text := range strings.SplitSeq(c.no, " | ") {
			if _, conforms := g.Match(text); conforms {
				t.Errorf("%s: accepts %q", c.family, text)
			}
		}
	}
}
