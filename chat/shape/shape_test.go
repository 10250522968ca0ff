package shape

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/chat/grammar"
	"molt/chat/parse"
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

// randomTools makes tools with schemas of their own.
func randomTools(rng *rand.Rand) []Tool {
	tools := []Tool{{Name: "get"}, {Name: "get_all"}, {Name: "ls_1"}}[:1+rng.IntN(3)]
	for i := range tools {
		var properties, required []string
		for k := range rng.IntN(5) {
			name := []string{"a", "ab", "text", "n_1", "Z"}[k]
			properties = append(properties, fmt.Sprintf("%q:%s", name, randomSchema(rng, 2)))
			if rng.IntN(2) == 0 {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
		tools[i].Strict = rng.IntN(2) == 0
		tools[i].Schema = fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`, strings.Join(properties, ","), strings.Join(required, ","))
	}
	return tools
}

func randomSchema(rng *rand.Rand, depth int) string {
	kinds := []string{`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{"type":"null"}`, `{"type":["string","null"]}`, `{"enum":["x y","12","é"]}`, `{"const":3}`, `{"type":["integer","null"]}`}
	if depth > 0 && rng.IntN(3) == 0 {
		inner := randomSchema(rng, depth-1)
		return []string{
			fmt.Sprintf(`{"type":"array","items":%s,"maxItems":2}`, inner),
			fmt.Sprintf(`{"type":"object","properties":{"k":%s},"required":["k"],"additionalProperties":false}`, inner),
		}[rng.IntN(2)]
	}
	return kinds[rng.IntN(len(kinds))]
}

// conforms checks a value against one of these schemas, by their definition.
func conforms(schema map[string]any, v any) bool {
	if list, ok := schema["enum"].([]any); ok {
		return slices.Contains(list, v)
	}
	if c, ok := schema["const"]; ok {
		return c == v
	}
	types, ok := schema["type"].([]any)
	if !ok {
		types = []any{schema["type"]}
	}
	return slices.ContainsFunc(types, func(t any) bool { return typed(t.(string), schema, v) })
}

func typed(name string, schema map[string]any, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		items := schema["items"].(map[string]any)
		return name == "array" && len(v) <= 2 && !slices.ContainsFunc(v, func(e any) bool { return !conforms(items, e) })
	case map[string]any:
		if name != "object" {
			return false
		}
		properties := schema["properties"].(map[string]any)
		for _, r := range schema["required"].([]any) {
			if _, ok := v[r.(string)]; !ok {
				return false
			}
		}
		for key, member := range v {
			if s, ok := properties[key].(map[string]any); !ok || !conforms(s, member) {
				return false
			}
		}
		return true
	}
	return false
}

// check finds what is wrong with the calls of a reply.
func check(tools []Tool, calls []chat.ToolCall) error {
	for _, c := range calls {
		at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == c.Name })
		if at < 0 {
			return fmt.Errorf("%s is not offered", c.Name)
		}
		var schema map[string]any
		var v any
		if err := json.Unmarshal(tools[at].Schema, &schema); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(c.Arguments.String()), &v); err != nil {
			return err
		}
		if !conforms(schema, v) {
			return fmt.Errorf("%s does not conform to %s", c.Arguments, tools[at].Schema)
		}
	}
	return nil
}

func specs(t testing.TB, tools []Tool) []chat.ToolSpec {
	var out []chat.ToolSpec
	for _, tool := range tools {
		v, err := chat.ParseValue(tool.Schema)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, chat.NewToolSpec(tool.Name, "", v))
	}
	return out
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
			tools := randomTools(rng)
			prompt := promptOf(family, seed%3 == 0)
			s := newSpeech(t, family, prompt, seed%2 == 0)
			single := seed%4 == 1
			g, err := Reply(s.Speech, Demand{Tools: tools, Must: true, Single: single})
			if err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			draw := sampler{rng: rng, tags: closers(s.Family)}
			for range 2 {
				text := draw.reply(t, g, s)
				reply := s.Family.Read(text, prompt, specs(t, tools))
				m := reply.Message()
				total += len(m.ToolCalls)
				thought += len(m.Reasoning)
				if err := check(tools, m.ToolCalls); err != nil || len(m.ToolCalls) == 0 || single && len(m.ToolCalls) > 1 || strings.TrimSpace(m.Content) != "" || reply.Unclosed {
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
		if slices.ContainsFunc(ways, func(f form) bool { return f.begins || f.once }) {
			s := newSpeech(t, family, "assistant\n", false)
			if _, err := Reply(s.Speech, Demand{Tools: []Tool{{Name: "f"}}}); err == nil {
				t.Errorf("%s tells calls from text", family)
			}
			continue
		}
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 2))
			tools := randomTools(rng)
			prompt := promptOf(family, seed%5 == 0)
			s := newSpeech(t, family, prompt, seed%2 == 0)
			g, err := Reply(s.Speech, Demand{Tools: tools})
			if err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			draw := sampler{rng: rng, tags: append(closers(s.Family), s.Family.Openings()...)}
			text := draw.reply(t, g, s)
			m := read(s, text, prompt, specs(t, tools))
			if err := check(tools, m.ToolCalls); err != nil {
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
			if err := json.Unmarshal([]byte(said.Content), &v); err != nil || !conforms(of, v) {
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
		tools := randomTools(rng)
		s := newSpeech(t, "hermes", "assistant\n", seed%2 == 0)
		g, err := Reply(s.Speech, Demand{Tools: tools, Format: true})
		if err != nil {
			t.Fatal(err)
		}
		draw := sampler{rng: rng, tags: closers(s.Family)}
		text := draw.reply(t, g, s)
		m := read(s, text, "assistant\n", specs(t, tools))
		if err := check(tools, m.ToolCalls); err != nil || len(m.ToolCalls) == 0 && !json.Valid([]byte(m.Content)) {
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
