package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// said writes a turn down for comparison.
func said(t Turn) string {
	var b strings.Builder
	if t.Message.Reasoning != "" {
		fmt.Fprintf(&b, "reasoning %q\n", t.Message.Reasoning)
	}
	if t.Message.Content != "" {
		fmt.Fprintf(&b, "content %q\n", t.Message.Content)
	}
	for _, c := range t.Message.ToolCalls {
		fmt.Fprintf(&b, "call %s %s\n", c.Name, c.Arguments)
	}
	for _, m := range t.Malformed {
		fmt.Fprintf(&b, "malformed %q\n", m.Text)
	}
	if t.Unclosed {
		b.WriteString("unclosed\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	const call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>"
	for _, c := range []struct{ name, text, want string }{
		{"text", "Hello.\n", `content "Hello.\n"` + "\n"},
		{"nothing", "", ""},
		{"one call", call, "call f {\"x\":1}\n"},
		{"text, call", "I look.\n" + call, "content \"I look.\"\ncall f {\"x\":1}\n"},
		{"two calls", call + "\n" + call, "call f {\"x\":1}\ncall f {\"x\":1}\n"},
		{"text behind a call", "a\n" + call + "\nb\n", "content \"a\\nb\\n\"\ncall f {\"x\":1}\n"},
		{"thinking", "<think>\nhm\n\nyes\n</think>\n\n4", "reasoning \"hm\\n\\nyes\"\ncontent \"4\"\n"},
		{"thinking nothing", "<think>\n\n</think>\n\n4", "content \"4\"\n"},
		{"thinking, call", "<think>\nhm\n</think>\n\n" + call, "reasoning \"hm\"\ncall f {\"x\":1}\n"},
		{"thinking to the end", "<think>\nhm " + call, "reasoning " + fmt.Sprintf("%q", "hm "+call) + "\nunclosed\n"},
		{"thinking that is late", "a <think>b</think>", "content \"a <think>b</think>\"\n"},
		{"a call inside thinking", "<think>I could write " + call + " now</think>no", "reasoning " + fmt.Sprintf("%q", "I could write "+call+" now") + "\ncontent \"no\"\n"},
		{"keys keep their order and literals", `<tool_call>{"name":"f","arguments":{"z":1.50,"a":1e3}}</tool_call>`, "call f {\"z\":1.50,\"a\":1e3}\n"},

		// Known bugs of other parsers (reference/wires.md 2.1, vLLM issue numbers).
		{"nested objects stay nested (20824)", `<tool_call>{"name":"f","arguments":{"a":{"b":{"c":[]}}}}</tool_call>`, "call f {\"a\":{\"b\":{\"c\":[]}}}\n"},
		{"array of objects (21360)", `<tool_call>{"name":"f","arguments":{"l":[{"a":1},{"b":2}]}}</tool_call>`, "call f {\"l\":[{\"a\":1},{\"b\":2}]}\n"},
		{"empty arguments (28806)", `<tool_call>{"name":"f","arguments":{}}</tool_call>`, "call f {}\n"},
		{"no arguments", `<tool_call>{"name":"f"}</tool_call>`, "call f {}\n"},
		{"unclosed brace in a string (21544)", `<tool_call>{"name":"sh","arguments":{"cmd":"mkdir -p test/{a,b"}}</tool_call>`, "call sh {\"cmd\":\"mkdir -p test/{a,b\"}\n"},
		{"a closing tag inside a string", `<tool_call>{"name":"w","arguments":{"text":"a</tool_call>\"b"}}</tool_call>`, "call w {\"text\":\"a</tool_call>\\\"b\"}\n"},
		{"an opening tag inside a string", `<tool_call>{"name":"w","arguments":{"text":"<tool_call>{"}}</tool_call>`, "call w {\"text\":\"<tool_call>{\"}\n"},
		{"a tag that is talked about", "Use <tool_call> tags.\n" + call, "content \"Use <tool_call> tags.\"\ncall f {\"x\":1}\nmalformed \"<tool_call> \"\n"},
		{"the XML form is no JSON", "<tool_call>\n<function=f>\n</function>\n</tool_call>", "content \"<tool_call>\\n<function=f>\\n</function>\\n</tool_call>\"\nmalformed \"<tool_call>\\n\"\n"},

		// Malformed calls are kept as text, and counted.
		{"bad JSON", "x\n<tool_call>{\"name\": f}</tool_call>y", "content \"x\\n<tool_call>{\\\"name\\\": f}</tool_call>y\"\nmalformed \"<tool_call>{\\\"name\\\": f}</tool_call>\"\n"},
		{"arguments as text", `<tool_call>{"name":"f","arguments":"{}"}</tool_call>`, `content "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>"` + "\n" + `malformed "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>"` + "\n"},
		{"not closed", `<tool_call>{"name":"f","arguments":{}}`, `content "<tool_call>{\"name\":\"f\",\"arguments\":{}}"` + "\n" + `malformed "<tool_call>{\"name\":\"f\",\"arguments\":{}}"` + "\n"},
		{"cut inside", `<tool_call>{"name":"f","arg`, `content "<tool_call>{\"name\":\"f\",\"arg"` + "\n" + `malformed "<tool_call>{\"name\":\"f\",\"arg"` + "\n"},
		{"cut inside the tag", "a\n<tool_ca", "content \"a\\n<tool_ca\"\n"},
		{"a missing brace", `<tool_call>{"name":"f","arguments":{}</tool_call>` + call, `content "<tool_call>{\"name\":\"f\",\"arguments\":{}</tool_call>"` + "\ncall f {\"x\":1}\n" + `malformed "<tool_call>{\"name\":\"f\",\"arguments\":{}</tool_call>"` + "\n"},
		{"one brace too many", `<tool_call>{"name":"f","arguments":{}}}</tool_call>` + call, `content "<tool_call>{\"name\":\"f\",\"arguments\":{}}}</tool_call>"` + "\ncall f {\"x\":1}\n" + `malformed "<tool_call>{\"name\":\"f\",\"arguments\":{}}}</tool_call>"` + "\n"},
		{"an unclosed string, then a good call", "<tool_call>{\"name\":\"f}\n</tool_call>" + call, `content "<tool_call>{\"name\":\"f}\n</tool_call>"` + "\ncall f {\"x\":1}\n" + `malformed "<tool_call>{\"name\":\"f}\n</tool_call>"` + "\n"},
		{"an unclosed string to the end", `<tool_call>{"name":"f}</tool_call> b`, `content "<tool_call>{\"name\":\"f}</tool_call> b"` + "\n" + `malformed "<tool_call>{\"name\":\"f}</tool_call>"` + "\n"},
		{"a call inside a broken call", `<tool_call>{"name": ` + call, `content "<tool_call>{\"name\": "` + "\ncall f {\"x\":1}\n" + `malformed "<tool_call>{\"name\": "` + "\n"},
		{"duplicate keys", `<tool_call>{"name":"f","name":"g"}</tool_call>`, `content "<tool_call>{\"name\":\"f\",\"name\":\"g\"}</tool_call>"` + "\n" + `malformed "<tool_call>{\"name\":\"f\",\"name\":\"g\"}</tool_call>"` + "\n"},
		{"an unknown key", `<tool_call>{"name":"f","parameters":{}}</tool_call>`, `content "<tool_call>{\"name\":\"f\",\"parameters\":{}}</tool_call>"` + "\n" + `malformed "<tool_call>{\"name\":\"f\",\"parameters\":{}}</tool_call>"` + "\n"},
		{"no name", `<tool_call>{"arguments":{}}</tool_call>`, `content "<tool_call>{\"arguments\":{}}</tool_call>"` + "\n" + `malformed "<tool_call>{\"arguments\":{}}</tool_call>"` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Parse(c.text, false)
			if diff := cmp.Diff(c.want, said(got)); diff != "" {
				t.Error(diff)
			}
			for _, m := range got.Malformed {
				if m.Reason == "" || strings.Contains(m.Reason, "\n") {
					t.Errorf("malformed for the reason %q", m.Reason)
				}
			}
		})
	}
}

func TestParseWhenThePromptOpensThinking(t *testing.T) {
	if got, want := said(Parse("\nhm\n</think>\n\n4", true)), "reasoning \"hm\"\ncontent \"4\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := said(Parse("hm", true)), "reasoning \"hm\"\nunclosed\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// merged joins neighbouring events of one kind.
func merged(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if n := len(out); n > 0 && out[n-1].Kind == e.Kind && e.Kind <= EventContent {
			out[n-1].Text += e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

var fragments = []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "\n", "\n\n", " ", "a", "é", "<", "</", "<t", "{", "}", "[", "]",
	`{"name": "f", "arguments": {"x": [1, {"y": "}"}]}}`, `{"name": "g"}`, `"`, `\`, `\"`, `"</tool_call>"`, "<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>"}

func checkSplits(t interface{ Errorf(string, ...any) }, text string, thinking bool, cuts []int) {
	whole := NewParser(thinking)
	want := merged(append(whole.Write(text), whole.Close()...))
	p := NewParser(thinking)
	var got []Event
	for from, i := 0, 0; from < len(text); i++ {
		to := len(text)
		if len(cuts) > 0 {
			to = min(len(text), from+1+cuts[i%len(cuts)])
		}
		got = append(got, p.Write(text[from:to])...)
		from = to
	}
	got = merged(append(got, p.Close()...))
	if diff := cmp.Diff(want, got, cmp.Comparer(Value.Equal)); diff != "" {
		t.Errorf("%q split by %v: %s", text, cuts, diff)
	}
	if a, b := said(whole.Turn()), said(p.Turn()); a != b {
		t.Errorf("%q split by %v: %s, not %s", text, cuts, b, a)
	}
	// Nothing is lost but line ends and the markers of what was understood.
	kept := ""
	for _, e := range got {
		kept += e.Text
	}
	turn := p.Turn()
	if kept != turn.Message.Reasoning+turn.Message.Content && turn.Message.Reasoning == "" {
		t.Errorf("%q: events say %q, the message %q", text, kept, turn.Message.Content)
	}
	if calls := strings.Count(text, callOpen); len(turn.Message.ToolCalls) > calls {
		t.Errorf("%q: %d calls from %d tags", text, len(turn.Message.ToolCalls), calls)
	}
}

func TestAnySplitGivesTheSameEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, "text"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 6).Draw(t, "cuts")
		checkSplits(t, text, rapid.Bool().Draw(t, "thinking"), cuts)
	})
}

func FuzzParser(f *testing.F) {
	f.Add("<think>\na</think>b<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", uint8(1))
	f.Add("<tool_call>{\"a\": \"</tool_call>", uint8(3))
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		checkSplits(t, text, cut%2 == 1, []int{int(cut) % 7, int(cut) % 3})
	})
}

// TestParseReadsWhatTheTemplateWrites: an assistant's message survives rendering and parsing.
func TestParseReadsWhatTheTemplateWrites(t *testing.T) {
	for _, m := range []Message{
		{Role: Assistant, Content: "Hello."},
		{Role: Assistant, Content: "a\n\nb"},
		{Role: Assistant, Reasoning: "hm\n\nhm", Content: "4"},
		{Role: Assistant, ToolCalls: []ToolCall{{Name: "f", Arguments: parse(t, `{"b":[1.5,"</x>"],"a":{}}`)}}},
		{Role: Assistant, Reasoning: "r", Content: "c", ToolCalls: []ToolCall{{Name: "f", Arguments: Object()}, {Name: "g", Arguments: parse(t, `{"x":"\"{\n"}`)}}},
	} {
		for _, tmpl := range []*Jinja{Builtin(), readTemplate(t, "testdata/templates/qwen3.jinja", JinjaOptions{})} {
			text, err := tmpl.Render(Conversation{Messages: []Message{{Role: User, Content: "x"}, m}}, false)
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ = strings.Cut(text, "<|im_start|>assistant\n")
			got := Parse(strings.TrimSuffix(text, "<|im_end|>\n"), false).Message
			if diff := cmp.Diff(m, got, cmp.Comparer(Value.Equal)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func BenchmarkParser(b *testing.B) {
	text := "<think>\n" + strings.Repeat("some words ", 200) + "</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": \"" + strings.Repeat("y", 500) + "\"}}\n</tool_call>"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p := NewParser(false)
		for i := 0; i < len(text); i += 4 {
			p.Write(text[i:min(len(text), i+4)])
		}
		p.Close()
	}
}
