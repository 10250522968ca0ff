package capture

import (
	"slices"
	"strings"
	"testing"

	"molt/chat"
)

// TestFirstPromptsAreRenderedOnce: what is remembered is what would be rendered, and only for the same conversation.
func TestFirstPromptsAreRenderedOnce(t *testing.T) {
	tool := func(spec string) []chat.ToolSpec {
		v, err := chat.ParseValue([]byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		return []chat.ToolSpec{{Name: "f", Spec: v}}
	}
	one := []chat.Message{system("be kind"), user("a")}
	cases := []struct {
		messages []chat.Message
		tools    []chat.ToolSpec
	}{
		{one, nil},
		{[]chat.Message{system("be kind"), user("a")}, nil},
		{[]chat.Message{system("be cruel"), user("a")}, nil},
		{[]chat.Message{user("be kind"), user("a")}, nil},
		{one, tool(`{"type":"function","function":{"name":"f","description":"x","parameters":{"a":1,"b":2}}}`)},
		{one, tool(`{"type":"function","function":{"name":"f","description":"x","parameters":{"b":2,"a":1}}}`)},
		{one, tool(`{"type":"function","function":{"name":"f","description":"x","parameters":{"a":1,"b":3}}}`)},
		{[]chat.Message{user("a"), said("b"), user("a")}, nil},
	}
	w := newWorld(t, inOrder(), nil)
	for range 2 {
		for i, c := range cases {
			session, err := w.gateway.Open(Options{})
			if err != nil {
				t.Fatal(err)
			}
			w.session = session
			w.ask(c.messages, c.tools)
			plain, err := testRenderer().Prompt(chat.Conversation{Messages: c.messages, Tools: c.tools})
			if err != nil {
				t.Fatal(err)
			}
			if got := session.Nodes()[0].Observation; !slices.Equal(got, plain.IDs) {
				t.Errorf("case %d: %q", i, testTokenizer().Decode(got))
			}
		}
	}
	if n := len(w.gateway.roots.made); n != 4 { // of the three lists of tools that differ in nothing else the last one
		t.Errorf("%d are remembered", n)
	}
	r := &w.gateway.roots
	before := r.bytes
	v := view{renderer: testRenderer(), items: request([]chat.Message{user(strings.Repeat("x", maxRoot))}, nil).Items}
	if r.keep(v, shown{}); r.bytes != before {
		t.Error("a conversation that is too large is remembered")
	}
	for i := range maxRoots/(maxRoot/2) + 1 {
		v.items = request([]chat.Message{user(strings.Repeat(string(rune('a'+i)), maxRoot/2))}, nil).Items
		r.keep(v, shown{})
	}
	if r.bytes > maxRoots || len(r.made) == 0 {
		t.Errorf("%d bytes are remembered", r.bytes)
	}
}
