package chat

import (
	"errors"
	"testing"
)

// TestBorders: what a bridge shows behind each token that can end a turn, and behind a turn that was cut off (-1).
func TestBorders(t *testing.T) {
	tok := delimitedTokenizer(t)
	answer, call := Message{Role: Assistant, Content: "y"}, Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "abcdefghi", Name: "f", Arguments: Object()}}}
	question, result := Message{Role: User, Content: "z"}, Message{Role: Tool, Content: "4", ToolCallID: "abcdefghi"}
	for _, c := range []struct {
		template   string
		said, next Message
		last, want string // last is "" for none
	}{
		{"qwen2.5", answer, question, "<|im_end|>", "\n<|im_start|>user\nz<|im_end|>\n<|im_start|>assistant\n"},
		{"qwen2.5", answer, question, "", "<|im_end|>\n<|im_start|>user\nz<|im_end|>\n<|im_start|>assistant\n"},
		{"gpt-oss", answer, question, "<|return|>", "<|start|>user<|message|>z<|end|><|start|>assistant"},
		{"gpt-oss", answer, question, "<|end|>", "<|start|>user<|message|>z<|end|><|start|>assistant"},
		{"gpt-oss", answer, question, "", "<|end|><|start|>user<|message|>z<|end|><|start|>assistant"},
		{"gpt-oss", call, result, "<|call|>", "<|start|>functions.f to=assistant<|channel|>commentary<|message|>\"4\"<|end|><|start|>assistant"},
		{"gpt-oss", call, result, "", "<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>\"4\"<|end|><|start|>assistant"},
		{"glm-4.6", answer, question, "<|user|>", "\nz<|assistant|>"},
		{"glm-4.6", answer, question, "", "<|user|>\nz<|assistant|>"},
		{"glm-4.6", call, result, "<|observation|>", "\n<tool_response>\n4\n</tool_response><|assistant|>"},
		{"glm-4.6", call, result, "<|user|>", "<|observation|>\n<tool_response>\n4\n</tool_response><|assistant|>"},
		{"phi-4-mini", answer, question, "<|end|>", "<|user|>z<|end|><|assistant|>"},
		{"mistral-nemo", call, result, "</s>", "[TOOL_RESULTS]{\"content\": 4, \"call_id\": \"abcdefghi\"}[/TOOL_RESULTS]"},
	} {
		r, err := NewRenderer(readTemplate(t, "testdata/templates/"+c.template+".jinja", JinjaOptions{BOS: "<s>", EOS: "</s>", Now: pinned}), tok)
		if err != nil {
			t.Fatal(err)
		}
		last := int32(-1)
		if c.last != "" {
			last, _ = tok.ID(c.last)
		}
		o, err := r.Bridge(Conversation{Messages: []Message{{Role: User, Content: "x"}}}, c.said, []Message{c.next}, last)
		if got := tok.Decode(o.IDs); err != nil || got != c.want {
			t.Errorf("%s behind %q: got %q, %v; want %q", c.template, c.last, got, err, c.want)
		}
	}
}

func TestLayoutNeedsATurnThatEnds(t *testing.T) {
	tok := delimitedTokenizer(t)
	r, err := NewRenderer(readTemplate(t, "testdata/templates/glm-4.6.jinja", JinjaOptions{}), tok)
	if err != nil {
		t.Fatal(err)
	}
	c := Conversation{Messages: []Message{{Role: User, Content: "x"}, {Role: Assistant, Content: "y"}}}
	if _, err := r.Layout(c); !errors.Is(err, ErrNotLocal) {
		t.Errorf("GLM: %v; want ErrNotLocal", err)
	}
	r, err = NewRenderer(readTemplate(t, "testdata/templates/gpt-oss.jinja", JinjaOptions{Now: pinned}), tok)
	if err != nil {
		t.Fatal(err)
	}
	c.Messages = append(c.Messages[:1], Message{Role: Assistant, ToolCalls: []ToolCall{{Name: "f", Arguments: Object()}}}, Message{Role: Tool, Content: "4"}, Message{Role: Assistant, Content: "y"})
	l, err := r.Layout(c)
	if err != nil || l.Turns != 2 {
		t.Fatalf("gpt-oss: %d turns, %v", l.Turns, err)
	}
	acted := ""
	for i, id := range l.IDs {
		if l.Action[i] {
			acted += tok.Decode([]int32{id})
		}
	}
	if want := " to=functions.f<|channel|>commentary json<|message|>{}<|call|><|channel|>final<|message|>y<|return|>"; acted != want {
		t.Errorf("got %q, want %q", acted, want)
	}
}
