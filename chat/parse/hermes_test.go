package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func family(t testing.TB, name string) *Family {
	t.Helper()
	f, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// said writes a turn down for comparison.
func said(r Reply) string {
	var b strings.Builder
	m := r.Message()
	if m.Reasoning != "" {
		fmt.Fprintf(&b, "reasoning %q\n", m.Reasoning)
	}
	if m.Content != "" {
		fmt.Fprintf(&b, "content %q\n", m.Content)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "call %s %s\n", strings.TrimSpace(c.Name+" "+c.ID), c.Arguments)
	}
	for _, item := range r.Items {
		if item.Kind == Malformed {
			fmt.Fprintf(&b, "malformed %q\n", strings.TrimLeft(item.Text, "\n"))
		}
	}
	if r.Unclosed {
		b.WriteString("unclosed\n")
	}
	return b.String()
}

func TestHermes(t *testing.T) {
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
			got := family(t, "hermes").Read(c.text, "", nil)
			if diff := cmp.Diff(c.want, said(got)); diff != "" {
				t.Error(diff)
			}
			for _, item := range got.Items {
				if item.Kind == Malformed && (item.Reason == "" || strings.Contains(item.Reason, "\n")) {
					t.Errorf("malformed for the reason %q", item.Reason)
				}
			}
		})
	}
}

func TestThePromptOpensThinking(t *testing.T) {
	f := family(t, "hermes")
	if got, want := said(f.Read("\nhm\n</think>\n\n4", "<|im_start|>assistant\n<think>\n", nil)), "reasoning \"hm\"\ncontent \"4\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := said(f.Read("hm", "<think>", nil)), "reasoning \"hm\"\nunclosed\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := said(f.Read("4", "<think>\n\n</think>\n\n", nil)), "content \"4\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEventsOfACall: what a client that streams is told, token by token.
func TestEventsOfACall(t *testing.T) {
	p := family(t, "hermes").New("", nil)
	var got []string
	for _, token := range []string{"Hi", ".\n", "<tool_call>", "\n{\"na", "me\": \"f", "\", \"argum", "ents\": {\"x\": ", "\"1}", "\"}", "}", "\n", "</tool_call>"} {
		for _, e := range p.Write(token, 1) {
			got = append(got, fmt.Sprintf("%s %d %s|%s", e.Kind, e.Index, e.Name, e.Text+e.Call.Arguments.String()))
		}
	}
	for _, e := range p.Close() {
		t.Errorf("Close says %v", e)
	}
	want := []string{"content 0 |Hinull", "content 0 |.null", "call start 0 f|null", `call delta 0 |{"x": null`, `call delta 0 |"1}null`, `call delta 0 |"}null`, `call end 0 |{"x":"1}"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r := p.Reply()
	if len(r.Items) != 2 || r.Items[0].Tokens != 2 || r.Items[1].Tokens != 12 || r.Tokens != 12 {
		t.Errorf("items %+v of %d tokens", r.Items, r.Tokens)
	}
}
