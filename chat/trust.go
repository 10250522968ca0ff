// Text from outside stays text. A rendered template mixes two authors: the template's own control strings must become
// control ids, and the same strings inside what users, tools and files wrote must not, or a web page could end its turn and
// speak as the system. So before rendering, every control string inside a message is replaced by a private character, and
// after rendering it is put back as ordinary text (tokenizer.Part.Ordinary). What counts is not how a text is spelled but
// what the tokenizer makes of it (tokenizer.Guard): under NFKC, a full-width ＜ is a <.
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
	all, special *tokenizer.Guard // special: those that delimit turns
	byFirst      [256][]control   // by first byte, longest first
	byID         map[int32]control
}

type control struct {
	text    string
	special bool // delimits turns
}

func newControls(t *tokenizer.Tokenizer) *controls {
	c := &controls{all: t.NewGuard(false), special: t.NewGuard(true), byID: map[int32]control{}}
	for _, a := range t.AddedTokens() {
		if t.IsControl(a.ID) {
			c.byID[a.ID] = control{a.Content, a.Special}
			c.byFirst[a.Content[0]] = append(c.byFirst[a.Content[0]], c.byID[a.ID])
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
	inside   []control       // words that can stand inside one of these are masked too (words.go)
	shown    map[string]bool // but for these
	words    map[string]bool // that were
	table    []masked        // what each private character stands for
	chars    map[masked]rune // and back
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
		out.Tools[i] = ToolSpec{m.text(t.Name, true), m.spec(t.Spec)}
	}
	return out, m.err
}

func (m *mask) message(msg Message) Message {
	outside := msg.Role == User || msg.Role == Tool
	msg.Content = m.text(msg.Content, outside)
	msg.Parts = slices.Clone(msg.Parts)
	for i := range msg.Parts {
		msg.Parts[i].Text = m.text(msg.Parts[i].Text, outside)
	}
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

// text masks what spells a control string (all, or the delimiters only) or could together with the rendering around it,
// and characters that look like our own private ones.
func (m *mask) text(s string, all bool) string {
	guard := m.controls.special
	if all {
		guard = m.controls.all
	}
	found := guard.Find(s)
	if len(found) == 0 && len(m.inside) == 0 && !strings.ContainsFunc(s, private) {
		return s
	}
	var b strings.Builder
	done := 0 // s[:done] is in b
	for _, f := range found {
		m.copy(&b, s[done:f.From], all)
		b.WriteRune(m.put(masked{s[f.From:f.To], f.Whole}))
		done = f.To
	}
	m.copy(&b, s[done:], all)
	return b.String()
}

// copy writes s, with its private characters masked, and its words that can stand inside a control string.
func (m *mask) copy(b *strings.Builder, s string, all bool) {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !private(r) {
			n = stretch(s, len(m.inside) > 0)
		}
		switch {
		case private(r):
			b.WriteRune(m.put(masked{s[:n], false}))
		case wordRune(r) && m.within(s[:n], all):
			m.words[s[:n]] = true
			b.WriteRune(m.put(masked{s[:n], false}))
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
}

func private(r rune) bool { return r >= firstPrivate && r <= lastPrivate || r == mark }

// put returns the private character that stands for a text.
func (m *mask) put(hidden masked) rune {
	if r, ok := m.chars[hidden]; ok {
		return r
	}
	if m.chars == nil {
		m.chars = make(map[masked]rune)
	}
	r := firstPrivate + rune(len(m.table))
	if r > lastPrivate {
		m.err = fmt.Errorf("chat: the messages hold more than %d different control strings", lastPrivate-firstPrivate)
		return firstPrivate
	}
	m.table = append(m.table, hidden)
	m.chars[hidden] = r
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
