package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"molt/chat"
)

// fragments are what replies of each family are made of, besides those that all share.
var fragments = map[string][]string{
	"plain": {"<tool_call>", "[TOOL_CALLS]", "<tools>"},
	"hermes": {"<tool_call>", "</tool_call>", `{"name": "f", "arguments": {"x": [1, {"y": "}"}]}}`, `{"name": "g"}`, `"</tool_call>"`,
		"<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>", `{"arguments": {}, "name": "f"}`, `, "arguments": `},
	"qwen3-coder": {"<tool_call>", "</tool_call>", "<function=", "<function=f>\n", "</function>", "<parameter=", "<parameter=x>\n1\n</parameter>\n", "<parameter=s>", "</parameter>", ">",
		"<tool_call>\n<function=g>\n</function>\n</tool_call>"},
	"seed-oss":       {"<seed:tool_call>", "</seed:tool_call>", "<function=", "<function=f>\n", "</function>", "<parameter=x>1</parameter>\n", "<parameter=s>", "</parameter>", "<seed:think>", "</seed:think>"},
	"llama3-json":    {"<|python_tag|>", `{"name": "f", "parameters": {"x": 1}}`, `{"type": "function", "name": "g", "parameters": {}}`, ";", `{"name": "`, `", "parameters": {`, `{"a": 1}`},
	"llama-pythonic": {"<|python_start|>", "<|python_end|>", "[f(", "f(x=1)", "g()", "s='a'", `s="b\n"`, "=", "[f(x=1), g(l=[1, {'a': None}])]", "True", "(1, 2)"},
	"lfm2":           {"<|tool_call_start|>", "<|tool_call_end|>", "[f(", "f(x=1)", "g()", "s='a'", "=", "<|tool_call_start|>[f(x=1), g()]<|tool_call_end|>"},
	"olmo3":          {"<function_calls>", "</function_calls>", "f(x=1)\n", "g()", "s='a'", "=", "<function_calls>f(x=1)\ng()</function_calls>"},
	"mistral": {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "f", "abcdefghi", `{"x": 1}`, `[{"name": "f", "arguments": {"x": 1}, "id": "123456789"}]`, "[TOOL_CALLS]f[ARGS]{}", "[THINK]", "[/THINK]",
		`{"name": "f", "arguments": {}}`},
	"deepseek": {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "f<｜tool▁sep｜>", "function<｜tool▁sep｜>f\n```json\n", "<｜tool▁sep｜>", `{"x": 1}`, "\n```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"},
	"deepseek-dsml": {"<｜DSML｜function_calls>\n", "<｜DSML｜tool_calls>\n", `<｜DSML｜invoke name="f">` + "\n", `<｜DSML｜invoke name="`, `">`, `<｜DSML｜parameter name="x" string="false">1</｜DSML｜parameter>` + "\n",
		`<｜DSML｜parameter name="s" string="true">`, "</｜DSML｜parameter>", "</｜DSML｜invoke>\n", "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
	"deepseek-v4.1": {"<｜DSML｜ calls>\n", `<｜DSML｜ invoke name="f">` + "\n", `<｜DSML｜ invoke name="`, `">`, `<｜DSML｜ parameter name="x" string="false">1</｜DSML｜ parameter>` + "\n",
		`<｜DSML｜ parameter name="s" string="true">`, "</｜DSML｜ parameter>", "</｜DSML｜ invoke>\n", "</｜DSML｜ calls>"},
	"minimax": {"<minimax:tool_call>\n", `<invoke name="f">` + "\n", `<invoke name="`, `">`, `<parameter name="x">1</parameter>` + "\n", `<parameter name="s">`, "</parameter>", "</invoke>\n", "</minimax:tool_call>"},
	"glm": {"<tool_call>", "</tool_call>", "<tool_call>f\n", "f", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n",
		"<tool_call>g<arg_key>s</arg_key><arg_value>a</arg_value></tool_call>"},
	"kimi-k2": {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.f:0", "<|tool_call_argument_begin|>", `{"x": 1}`, "<|tool_call_end|>", "<|tool_calls_section_end|>",
		"<|tool_call_begin|>functions.f:1<|tool_call_argument_begin|>{}<|tool_call_end|>"},
	"kimi-k3": {"<|open|>call ", `<|open|>call tool="f" index="1"<|sep|>`, "<|sep|>", `<|open|>argument key="x" type="number"<|sep|>1<|close|>argument<|sep|>`, `<|open|>argument key="s" type="string"<|sep|>`,
		"<|close|>argument<|sep|>", "<|close|>call<|sep|>", `<|open|>json type="object"<|sep|>`, `{"x": 1}`, "<|close|>json<|sep|>", "<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|open|>think<|sep|>", "<|close|>think<|sep|>"},
	"harmony": {"<|channel|>", "analysis", "final", "commentary to=functions.f", "<|message|>", " <|constrain|>json", `{"x": 1}`, "<|call|>", "<|end|>", "<|return|>", "<|start|>assistant", " to=functions.g",
		"<|channel|>analysis<|message|>hm<|end|>", "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}"},
	"gemma4":    {"<|tool_call>", "<tool_call|>", "call:f{", "}", `s:<|"|>a<|"|>`, "x:1", "l:[1,2]", "o:{k:null}", "<|channel>thought\n", "<channel|>", "<|tool_call>call:f{x:1}<tool_call|>"},
	"granite":   {"<|tool_call|>", "<tool_call>", "</tool_call>", `[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]`, `{"name": "f", "arguments": {}}`, `[{"name": "f"`},
	"phi4-mini": {"<|tool_call|>", "<|/tool_call|>", `[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]`, `{"name": "f", "arguments": {}}`, `[{"name": "f"`},
	"nemotron":  {"<TOOLCALL>", "</TOOLCALL>", `[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]`, `{"name": "f", "arguments": {}}`, `[{"name": "f"`},
	"jamba":     {"<tool_calls>", "</tool_calls>", `[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]`, `{"name": "f", "arguments": {}}`, `[{"name": "f"`},
	"command": {"<|START_ACTION|>", "<|END_ACTION|>", `[{"tool_call_id": "0", "tool_name": "f", "parameters": {"x": 1}}]`, `{"tool_name": "f"}`, "<|START_RESPONSE|>", "<|END_RESPONSE|>",
		"<|START_THINKING|>", "<|END_THINKING|>"},
}

var shared = []string{"<think>", "</think>", "\n", "\n\n", " ", "a", "é", "<", "</", "<t", "<|", "{", "}", "[", "]", "(", ")", ",", ":", `"`, `\`, `\"`, "'", "1", "true"}

// merged joins neighbouring events of one kind.
func merged(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if n := len(out); n > 0 && out[n-1].Kind == e.Kind && (e.Kind <= Content || e.Kind == CallDelta) {
			out[n-1].Text += e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

type failer interface{ Errorf(string, ...any) }

// checkSplits compares the text read at once with the text read in pieces.
func checkSplits(t failer, f *Family, text, prompt string, cuts []int) {
	whole := f.New(prompt, offered)
	want := merged(append(whole.Write(text, 1), whole.Close()...))
	p := f.New(prompt, offered)
	var got []Event
	for from, i := 0, 0; from < len(text); i++ {
		to := len(text)
		if len(cuts) > 0 {
			to = min(len(text), from+1+cuts[i%len(cuts)])
		}
		got = append(got, p.Write(text[from:to], 1)...)
		from = to
	}
	got = merged(append(got, p.Close()...))
	if diff := cmp.Diff(want, got, cmp.Comparer(chat.Value.Equal)); diff != "" {
		t.Errorf("%s: %q split by %v: %s", f.Name, text, cuts, diff)
	}
	if p.rest != "" {
		t.Errorf("%s: %q split by %v: %q is left over", f.Name, text, cuts, p.rest)
	}
	reply := p.Reply()
	if a, b := said(whole.Reply()), said(reply); a != b {
		t.Errorf("%s: %q split by %v: %s, not %s", f.Name, text, cuts, b, a)
	}
	checkItems(t, f, text, reply)
	checkEvents(t, f, text, got, reply)
}

// checkItems: token counts never fall, and never exceed the turn.
func checkItems(t failer, f *Family, text string, r Reply) {
	last := 0
	for i, item := range r.Items {
		if item.Tokens < last || item.Tokens > r.Tokens || item.Tokens == 0 {
			t.Errorf("%s: %q: item %d ends behind %d tokens of %d, the one before behind %d", f.Name, text, i, item.Tokens, r.Tokens, last)
		}
		last = item.Tokens
		if i > 0 && item.Kind == r.Items[i-1].Kind && item.Kind <= Content {
			t.Errorf("%s: %q: items %d and %d are both %s", f.Name, text, i-1, i, item.Kind)
		}
	}
}

// checkEvents: events and message say the same, and the deltas of a call are its arguments.
func checkEvents(t failer, f *Family, text string, events []Event, r Reply) {
	var reasoning, content, deltas strings.Builder
	begun, calls := 0, 0
	for _, e := range events {
		switch e.Kind {
		case Reasoning:
			reasoning.WriteString(e.Text)
		case Content, Malformed:
			content.WriteString(e.Text)
		case CallStart:
			if e.Index != begun || e.Name == "" {
				t.Errorf("%s: %q: call %d begins as %d, named %q", f.Name, text, begun, e.Index, e.Name)
			}
			begun++
			deltas.Reset()
		case CallDelta:
			deltas.WriteString(e.Text)
		case CallEnd:
			calls++
			v, err := chat.ParseValue([]byte(deltas.String()))
			if err != nil || !v.Equal(e.Call.Arguments) || e.Index != begun-1 {
				t.Errorf("%s: %q: deltas of call %d say %q, the call %s", f.Name, text, e.Index, deltas.String(), e.Call.Arguments)
			}
		}
	}
	m := r.Message()
	if reasoning.String() != m.Reasoning || content.String() != m.Content || calls != len(m.ToolCalls) {
		t.Errorf("%s: %q: events say %q, %q and %d calls, the message %q, %q and %d", f.Name, text, reasoning.String(), content.String(), calls, m.Reasoning, m.Content, len(m.ToolCalls))
	}
}

// offered are the tools on offer in tests.
var offered = []chat.ToolSpec{chat.NewToolSpec("f", "does f", mustValue(`{"type": "object", "properties": {"x": {"type": "integer"}, "s": {"type": "string"}, "o": {"type": "object"}, "l": {"type": "array"}, "b": {"type": "boolean"}, "n": {"type": "number"}}}`))}

func mustValue(text string) chat.Value {
	v, err := chat.ParseValue([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

func TestAnySplitGivesTheSameReply(t *testing.T) {
	for _, f := range Families() {
		t.Run(f.Name, func(t *testing.T) {
			own := fragments[f.Name]
			if len(own) == 0 {
				t.Fatal("the family has no fragments")
			}
			pieces := append(append([]string(nil), shared...), own...)
			for range 2 { // what a family consists of is drawn more often
				pieces = append(pieces, own...)
			}
			rapid.Check(t, func(t *rapid.T) {
				text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 14).Draw(t, "text"), "")
				cuts := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 6).Draw(t, "cuts")
				prompt := rapid.SampledFrom([]string{"", "<think>\n", "<|start|>assistant"}).Draw(t, "prompt")
				checkSplits(t, f, text, prompt, cuts)
			})
		})
	}
}

func FuzzParser(f *testing.F) {
	for _, family := range Families() {
		for _, text := range fragments[family.Name] {
			f.Add(text, uint16(1))
		}
	}
	f.Fuzz(func(t *testing.T, text string, how uint16) {
		all := Families()
		prompt := ""
		if how%2 == 1 {
			prompt = "<think>"
		}
		checkSplits(t, all[int(how/128)%len(all)], text, prompt, []int{int(how/2) % 7, int(how/16) % 3})
	})
}
