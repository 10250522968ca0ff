// Text from outside stays text. A rendered template mixes two authors: the template's own control strings must become
// control ids, and the same strings inside what users, tools and files wrote must not, or a web page could end its turn and
// speak as the system. So before rendering, every control string inside a message is replaced by a private character, and
// after rendering it is put back as ordinary text (tokenizer.Part.Ordinary).
//
//	user, tool, tool specifications, arguments, names, reasoning   no control string at all
//	system, assistant's content                                    markup (<think>, <answer>) yes; turn delimiters never
//
// Delimiters are the tokens that tokenizer.json calls special, markup is the other added tokens. A system prompt is
// written by the author of the task, and what an assistant said may hold the markup that the policy itself can sample.

package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"molt/tokenizer"
)

const (
	firstPrivate = '\U000F0000' // private characters from here stand for masked text
	lastPrivate  = '\U000FFFFD'
	mark         = '\U0010FFFD' // marks a place in a rendered text
)

// controls are the control strings of a tokenizer.
type controls struct {
	byFirst [256][]control // by first byte, longest first
}

type control struct {
	text    string
	special bool // delimits turns
}

func newControls(t *tokenizer.Tokenizer) *controls {
	c := &controls{}
	for _, a := range t.AddedTokens() {
		if t.IsControl(a.ID) {
			c.byFirst[a.Content[0]] = append(c.byFirst[a.Content[0]], control{a.Content, a.Special})
		}
	}
	for i := range c.byFirst {
		slices.SortStableFunc(c.byFirst[i], func(a, b control) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return c
}

// mask replaces control strings in the messages that are rendered for one observation.
type mask struct {
	controls *controls
	table    []masked        // what each private character stands for
	private  map[string]rune // and back
	err      error
}

type masked struct {
	text  string
	whole bool // it is a control string, not only the beginning of one
}

// conversation returns a copy with masked text.
func (m *mask) conversation(c Conversation) (Conversation, error) {
	out := Conversation{Messages: make([]Message, len(c.Messages)), Tools: make([]ToolSpec, len(c.Tools))}
	for i := range c.Messages {
		out.Messages[i] = m.message(c.Messages[i])
	}
	for i, t := range c.Tools {
		out.Tools[i] = ToolSpec{m.text(t.Name, true), m.value(t.Spec)}
	}
	return out, m.err
}

func (m *mask) message(msg Message) Message {
	msg.Content = m.text(msg.Content, msg.Role == User || msg.Role == Tool)
	msg.Reasoning = m.text(msg.Reasoning, true)
	msg.ToolCallID = m.text(msg.ToolCallID, true)
	msg.Name = m.text(msg.Name, true)
	msg.ToolCalls = slices.Clone(msg.ToolCalls)
	for i, call := range msg.ToolCalls {
		msg.ToolCalls[i] = ToolCall{m.text(call.ID, true), m.text(call.Name, true), m.value(call.Arguments)}
	}
	return msg
}

func (m *mask) value(v Value) Value {
	switch v.kind {
	case KindString:
		v.text = m.text(v.text, true)
	case KindArray:
		v.items = slices.Clone(v.items)
		for i := range v.items {
			v.items[i] = m.value(v.items[i])
		}
	case KindObject:
		v.members = slices.Clone(v.members)
		for i, member := range v.members {
			v.members[i] = Member{m.text(member.Name, true), m.value(member.Value)}
		}
	}
	return v
}

// text masks control strings (all, or the delimiters only), what could begin one at the end of s, and characters that
// look like our own private ones.
func (m *mask) text(s string, all bool) string {
	var b strings.Builder
	done := 0 // s[:done] is in b
	for i := 0; i < len(s); {
		size, whole := m.at(s[i:], all)
		if size == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i])
		b.WriteRune(m.put(masked{s[i : i+size], whole}))
		i += size
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// at is the length of what must be masked at the start of s; whole says that it is a control string.
func (m *mask) at(s string, all bool) (size int, whole bool) {
	for _, c := range m.controls.byFirst[s[0]] {
		switch {
		case !all && !c.special:
		case strings.HasPrefix(s, c.text):
			return len(c.text), true
		case len(s) < len(c.text) && strings.HasPrefix(c.text, s):
			return len(s), false // the text behind it in the rendering could complete it
		}
	}
	if s[0] >= 0xF3 { // no private character begins with a smaller byte
		if r, n := utf8.DecodeRuneInString(s); r >= firstPrivate && r <= lastPrivate || r == mark {
			return n, false
		}
	}
	return 0, false
}

// put returns the private character that stands for a text.
func (m *mask) put(hidden masked) rune {
	if r, ok := m.private[hidden.text]; ok {
		return r
	}
	if m.private == nil {
		m.private = make(map[string]rune)
	}
	r := firstPrivate + rune(len(m.table))
	if r > lastPrivate {
		m.err = fmt.Errorf("chat: the messages hold more than %d different control strings", lastPrivate-firstPrivate)
		return firstPrivate
	}
	m.table = append(m.table, hidden)
	m.private[hidden.text] = r
	return r
}

// parts splits a rendered text: what the template wrote and harmless text, and masked text as it was, which is ordinary.
// It counts the control strings that stayed text.
func (m *mask) parts(rendered string) (parts []tokenizer.Part, count int) {
	done := 0
	for i, r := range rendered {
		if r < firstPrivate || r > lastPrivate || int(r-firstPrivate) >= len(m.table) {
			continue
		}
		if done < i {
			parts = append(parts, tokenizer.Part{Text: rendered[done:i]})
		}
		hidden := m.table[r-firstPrivate]
		if hidden.whole {
			count++
		}
		parts = append(parts, tokenizer.Part{Text: hidden.text, Ordinary: true})
		done = i + utf8.RuneLen(r)
	}
	if done < len(rendered) {
		parts = append(parts, tokenizer.Part{Text: rendered[done:]})
	}
	return parts, count
}
