package capture

import (
	"errors"
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/forest"
	"molt/gateway/wire"
)

// TestEveryTextIsCounted: what a client chooses the length of counts.
func TestEveryTextIsCounted(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, m := range []chat.Message{{Content: long}, {Reasoning: long}, {ToolCallID: long}, {Name: long}, {ToolCalls: []chat.ToolCall{{ID: long}}}, {ToolCalls: []chat.ToolCall{{Name: long}}}, {Parts: []chat.Part{{Text: long}}}} {
		if size([]*chat.Item{{Message: m}}) < 1<<20 {
			t.Errorf("%+.80v counts too little", m)
		}
	}
	if size([]*chat.Item{{Handles: []string{long}}}) < 1<<20 || turnSize(&forest.Turn{Asked: long, Item: &chat.Item{}}) < 1<<20 {
		t.Error("a handle, or what was asked, counts too little")
	}
}

// TestMemoryIsBounded: what does not fit may be asked again when another session has ended.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t, inOrder("one", "two"), func(c *Config) { c.Memory, c.Folder = 64<<10, t.TempDir() })
	big := []chat.Message{user(strings.Repeat("x", 40<<10))}
	other, err := w.gateway.Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	mine := w.session
	w.session = other
	w.ask(big, nil)
	w.session = mine
	_, p := mine.Ask(t.Context(), request(big, nil), Caller{})
	if p == nil || p.Class != wire.Limited || p.Retry == 0 || !errors.Is(mine.Err(), chat.ErrInfrastructure) {
		t.Fatalf("%+v, %v", p, mine.Err())
	}
	kept := w.gateway.kept.Load()
	if kept < 40<<10 || kept > 1<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	w.gateway.kept.Store(w.gateway.config.Memory)
	if _, err := w.gateway.Open(Options{}); !errors.Is(err, ErrFull) {
		t.Errorf("a session more: %v", err)
	}
	w.gateway.kept.Store(kept)

	w.restart()
	if got := w.gateway.kept.Load(); got != kept {
		t.Errorf("%d bytes were kept, and %d after a restart", kept, got)
	}
	mine, _ = w.gateway.Session(mine.ID)
	other, _ = w.gateway.Session(other.ID)
	w.session = mine
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	w.ask(big, nil)
	if w.session.Err() != nil {
		t.Error(w.session.Err())
	}
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	if left := w.gateway.kept.Load(); left != 0 {
		t.Errorf("%d bytes are kept of no session", left)
	}
}
