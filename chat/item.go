// The normal form of a message, and the keys by which a conversation is recognised when a client sends it again. Clients
// move cache marks, wrap and unwrap text, re-serialise arguments, trim text and drop reasoning; none of that is an edit.

package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Key is a digest of a message, the same in every process.
type Key [16]byte

// Item is a message with its keys. It is immutable.
type Item struct {
	Message Message
	Exact   Key      // of everything that the message says
	Loose   Key      // of an assistant's: of its trimmed text and its calls, without ids and reasoning; else equal to Exact
	Handles []string // of an assistant's: names that came back with it, which may be ones that we minted
}

// NewItem computes the keys. It keeps the message.
func NewItem(m Message, handles ...string) *Item {
	it := &Item{Message: m, Handles: handles}
	h := hasher{}
	h.text(string(m.Role))
	h.text(m.Name)
	h.text(m.Content)
	h.text(m.Reasoning)
	h.text(m.ToolCallID)
	h.parts(m.Parts)
	h.calls(m.ToolCalls)
	it.Exact = h.sum()
	it.Loose = it.Exact
	if m.Role == Assistant {
		l := hasher{}
		l.text("loose")
		l.text(strings.TrimSpace(m.Content))
		l.parts(m.Parts)
		l.calls(m.ToolCalls)
		it.Loose = l.sum()
	}
	return it
}

// Says reports whether an assistant's item has text or calls: one without can only be recognised where it stands.
func (it *Item) Says() bool {
	return strings.TrimSpace(it.Message.Content) != "" || len(it.Message.ToolCalls) > 0
}

// ToolsKey is the digest of the tools on offer and of whatever else changes how every message is rendered.
func ToolsKey(tools []ToolSpec, kwargs []Member) Key {
	h := hasher{}
	for _, t := range tools {
		h.text(t.Name)
		h.value(t.Spec)
	}
	h.text("")
	for _, m := range kwargs {
		h.text(m.Name)
		h.value(m.Value)
	}
	return h.sum()
}

// hasher collects fields, each behind its length, so that no two lists of fields read the same.
type hasher struct{ buf []byte }

func (h *hasher) text(s string) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(s)))
	h.buf = append(h.buf, s...)
}

func (h *hasher) parts(parts []Part) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(parts)))
	for _, p := range parts {
		h.text(p.Text)
		h.text(p.Image.digest())
	}
}

func (h *hasher) calls(calls []ToolCall) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(calls)))
	for _, c := range calls {
		h.text(c.Name)
		h.value(c.Arguments)
	}
}

// value adds a value without the order of its keys; the literal of a number counts.
func (h *hasher) value(v Value) {
	h.buf = append(h.buf, byte(v.kind))
	h.text(v.text)
	h.buf = binary.AppendUvarint(h.buf, uint64(len(v.items)))
	for _, item := range v.items {
		h.value(item)
	}
	members := v.members
	if !slices.IsSortedFunc(members, byName) {
		members = slices.SortedFunc(slices.Values(members), byName)
	}
	h.buf = binary.AppendUvarint(h.buf, uint64(len(members)))
	for _, m := range members {
		h.text(m.Name)
		h.value(m.Value)
	}
}

func byName(a, b Member) int { return strings.Compare(a.Name, b.Name) }

func (h *hasher) sum() Key {
	full := sha256.Sum256(h.buf)
	return Key(full[:16])
}
