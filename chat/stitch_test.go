package chat

import "testing"

func TestStitch(t *testing.T) {
	user := func(s string) Message { return Message{Role: User, Content: s} }
	tool := func(s string) Message { return Message{Role: Tool, Content: s, ToolCallID: "c1"} }
	turn := Message{Role: Assistant, Content: "I look. ", Reasoning: "hm", ToolCalls: []ToolCall{{"c1", "f", parse(t, `{"a":1,"b":2}`)}}}
	with := func(change func(m *Message)) Message {
		m := turn
		change(&m)
		return m
	}
	path := Conversation{Messages: []Message{user("x"), turn}, Tools: shopTools}
	for _, c := range []struct {
		name    string
		request []Message
		next    int // messages, when it extends
		reason  Reason
	}{
		{"a result", []Message{user("x"), turn, tool("4")}, 1, ""},
		{"two results", []Message{user("x"), turn, tool("4"), tool("5")}, 2, ""},
		{"again at once", []Message{user("x"), turn}, 0, ""},
		{"reasoning dropped", []Message{user("x"), with(func(m *Message) { m.Reasoning = "" }), tool("4")}, 1, ""},
		{"text trimmed", []Message{user("x"), with(func(m *Message) { m.Content = "I look." }), tool("4")}, 1, ""},
		{"arguments reordered", []Message{user("x"), with(func(m *Message) { m.ToolCalls = []ToolCall{{"c9", "f", parse(t, `{"b":2,"a":1}`)}} }), tool("4")}, 1, ""},
		{"text changed", []Message{user("x"), with(func(m *Message) { m.Content = "I see." }), tool("4")}, 0, HistoryEdit},
		{"arguments changed", []Message{user("x"), with(func(m *Message) { m.ToolCalls = []ToolCall{{"c1", "f", parse(t, `{"a":2,"b":2}`)}} }), tool("4")}, 0, HistoryEdit},
		{"turn replaced", []Message{user("x"), user("y")}, 0, HistoryEdit},
		{"history shortened", []Message{user("x")}, 0, Compaction},
		{"another conversation", []Message{user("y"), turn, tool("4")}, 0, NewRoot},
	} {
		got := Stitch(path, Conversation{c.request, shopTools})
		if got.Reason != c.reason || len(got.Next) != c.next {
			t.Errorf("%s: reason %q, %d next; want %q, %d", c.name, got.Reason, len(got.Next), c.reason, c.next)
		}
	}
	if got := Stitch(path, Conversation{Messages: []Message{user("x"), turn, tool("4")}}); got.Reason != ToolsChanged {
		t.Errorf("without tools: %q", got.Reason)
	}
	if got := Stitch(Conversation{}, path); got.Reason != NewRoot {
		t.Errorf("the first request: %q", got.Reason)
	}
}
