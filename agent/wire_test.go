package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"molt/chat"
)

// What is written is what a reader of OpenAI's spelling reads.
func TestWire(t *testing.T) {
	messages := []chat.Message{
		{Role: chat.System, Content: "s"},
		{Role: chat.User, Content: `say "é"`, Name: "ann"},
		{Role: chat.Assistant, Reasoning: "hm", ToolCalls: []chat.ToolCall{{ID: "1", Name: "add", Arguments: chat.Object(chat.Member{Name: "b", Value: chat.Int(2)}, chat.Member{Name: "a", Value: chat.String("x")})}}},
		{Role: chat.Tool, Content: "3", ToolCallID: "1"},
	}
	want := `[{"role":"system","content":"s"},{"role":"user","content":"say \"é\"","name":"ann"},` +
		`{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"add","arguments":"{\"b\":2,\"a\":\"x\"}"}}]},` +
		`{"role":"tool","content":"3","tool_call_id":"1"}]`
	if diff := cmp.Diff(want, Wire(messages).String()); diff != "" {
		t.Error(diff)
	}
	read, err := chat.DecodeMessages(Wire(messages))
	if err != nil || len(read) != len(messages) {
		t.Fatal(err)
	}
	for i := range read {
		if !read[i].Equal(&messages[i]) {
			t.Errorf("%+v was read as %+v", messages[i], read[i])
		}
	}
	if got := WireTools([]chat.ToolSpec{chat.NewToolSpec("add", "Adds.", chat.Object())}).String(); got != `[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{}}}]` {
		t.Error(got)
	}
	if got := Wire(nil).String() + WireTools(nil).String(); got != "[][]" {
		t.Error(got)
	}
}
