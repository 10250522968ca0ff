// What a parser says: events while the text arrives, a reply when it has ended.

package parse

import (
	"strings"

	"molt/chat"
)

// Kind says what an Event or an Item is.
type Kind uint8

const (
	Reasoning Kind = iota // Text is what the model thought
	Content               // Text is what it said
	CallStart             // a call has begun: Index and Name are known, ID where the text has carried one by then
	CallDelta             // Text is more of the arguments of call Index: JSON, as generated where they are generated as JSON
	CallEnd               // call Index is complete: Call; its ID is the one in the text, even if that came last
	Malformed             // Text looks like a call and is none; it is content. Index names the call that had begun, or -1
)

func (k Kind) String() string {
	return [...]string{"reasoning", "content", "call start", "call delta", "call end", "malformed"}[k]
}

// Event is what a stretch of sampled text means. A call is one CallStart, CallDeltas whose texts joined are the JSON of
// its arguments, and CallEnd; or Malformed at any point, and then nothing of it was a call. Events of one call stand
// together, and calls end in the order in which they begin.
type Event struct {
	Kind   Kind
	Index  int // of a call: how many began before it in this turn
	Name   string
	ID     string
	Text   string
	Call   chat.ToolCall
	Reason string // of a malformed call: what is wrong, one line
}

// Item is a finished part of a turn: Reasoning, Content, CallEnd or Malformed. Neighbours are never both reasoning or both
// content.
type Item struct {
	Kind   Kind
	Index  int // of a call, as in its events; -1 where none began
	Text   string
	Call   chat.ToolCall
	Reason string
	Tokens int // leading tokens of the turn that hold this item and all before it, closing tags included
}

// Reply is a whole turn.
type Reply struct {
	Items    []Item
	Tokens   int  // of the whole turn
	Unclosed bool // the text ended while it was still reasoning
	Ignored  int  // openings of calls where none is read: inside reasoning, or by the plain family
}

// Message joins the items. Its Content includes the text of malformed calls; its calls have the ids that the text carries,
// usually none.
func (r *Reply) Message() chat.Message {
	m := chat.Message{Role: chat.Assistant}
	var reasoning, content strings.Builder
	for i := range r.Items {
		switch item := &r.Items[i]; item.Kind {
		case Reasoning:
			reasoning.WriteString(item.Text)
		case CallEnd:
			m.ToolCalls = append(m.ToolCalls, item.Call)
		default:
			content.WriteString(item.Text)
		}
	}
	m.Reasoning, m.Content = reasoning.String(), content.String()
	return m
}

// Count returns how many items are of a kind: CallEnd for the calls that were read, Malformed for those that were not.
func (r *Reply) Count(kind Kind) int {
	n := 0
	for i := range r.Items {
		if r.Items[i].Kind == kind {
			n++
		}
	}
	return n
}
