package chat

import (
	"fmt"
	"strings"
	"testing"
)

// TestBudgetGrowsWithTheInput: long conversations are no attack.
func TestBudgetGrowsWithTheInput(t *testing.T) {
	tmpl := readTemplate(t, "testdata/templates/qwen3.jinja", JinjaOptions{})
	var c Conversation
	for i := range 2000 {
		c.Messages = append(c.Messages, Message{Role: User, Content: fmt.Sprint("question ", i, strings.Repeat(" word", 300))},
			Message{Role: Assistant, Reasoning: "hm", Content: strings.Repeat("answer ", 200)})
	}
	if _, err := tmpl.Render(c, true); err != nil {
		t.Errorf("4,000 messages, 6 MB: %v", err)
	}
	c.Messages = []Message{{Role: User, Content: "x"}}
	for range 5000 {
		c.Messages = append(c.Messages, Message{Role: Assistant, ToolCalls: []ToolCall{{Name: "f", Arguments: Object()}}}, Message{Role: Tool})
	}
	if _, err := tmpl.Render(c, true); err != nil {
		t.Errorf("10,000 short messages: %v", err)
	}
}

func BenchmarkRender(b *testing.B) {
	tmpl := Builtin()
	c := Conversation{Messages: []Message{
		{Role: User, Content: "What do 3 pens and 2 cups cost?"},
		{Role: Assistant, ToolCalls: []ToolCall{{Name: "lookup", Arguments: Object(Member{"item", String("pen")})}}},
		{Role: Tool, Content: "4"},
	}}
	for b.Loop() {
		if _, err := tmpl.Render(c, true); err != nil {
			b.Fatal(err)
		}
	}
}
