package capture

import (
	"testing"

	"molt/chat"
)

// TestAToolLoopIsOneSegment: the client sends everything again each time, in its own way.
func TestAToolLoopIsOneSegment(t *testing.T) {
	w := newWorld(t, inOrder("<think>\nhm\n</think>\n\nI look."+lookup("pen"), "12"), nil)
	start := []chat.Message{system("S"), user("3 pens?")}
	first := w.ask(start, pens)
	if first.Reasoning != "hm" || first.Content != "I look." || len(first.ToolCalls) != 1 || len(first.ToolCalls[0].ID) != 9 {
		t.Fatalf("reply %+v", first)
	}
	back := first
	back.Reasoning, back.Content = "", " I look.\n" // dropped, and not trimmed but widened
	if second := w.ask(append(start, back, tool(first.ToolCalls[0].ID, "4")), pens); second.Content != "12" {
		t.Errorf("reply %+v", second)
	}
	segments := w.session.Export().Segments
	if len(segments) != 1 || segments[0].Reason != chat.NewRoot || segments[0].Kind != Main {
		t.Errorf("segments %+v", segments)
	}
	w.sound()
}
