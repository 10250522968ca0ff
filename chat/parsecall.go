// The inside of a <tool_call>.

package chat

import (
	"fmt"
	"strings"
)

// body follows the JSON object of a call byte by byte, far enough to know where it ends.
type body struct {
	text    strings.Builder
	depth   int // open braces and brackets
	quoted  bool
	escaped bool
	done    bool // the object has ended
	broken  bool // it is no JSON: read on to the closing tag
}

// verdict is what a byte means for the call.
type verdict uint8

const (
	goOn     verdict = iota
	closing          // outside strings, a tag may begin here
	notACall         // the body does not begin with an object
	breaks           // no JSON can continue like this
)

func (b *body) next(c byte) verdict {
	switch {
	case b.escaped:
		b.escaped = false
	case b.quoted:
		switch {
		case c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = false
		case c < ' ':
			return breaks
		}
	case strings.IndexByte(" \t\r\n", c) >= 0:
	case c == '<' && (b.depth > 0 || b.done):
		return closing
	case b.done:
		return breaks
	case b.depth == 0 && c != '{':
		return notACall
	case c == '"':
		b.quoted = true
	case c == '{' || c == '[':
		b.depth++
	case c == '}' || c == ']':
		b.depth--
		b.done = b.depth == 0
	}
	return goOn
}

// call reads the body of a call. It returns true when the call has ended, one way or the other.
func (p *Parser) call(final bool) bool {
	for !p.body.broken && p.rest != "" {
		switch p.body.next(p.rest[0]) {
		case notACall:
			p.malformed(callOpen+p.body.text.String(), "it does not begin with a JSON object")
			return true
		case breaks:
			p.body.broken = true
		case closing:
			if strings.HasPrefix(callClose, p.rest) && len(p.rest) < len(callClose) && !final {
				return false
			}
			if p.body.done && strings.HasPrefix(p.rest, callClose) {
				p.rest = p.rest[len(callClose):]
				p.complete()
				return true
			}
			p.body.broken = true
		default:
			p.body.text.WriteByte(p.rest[0])
			p.rest = p.rest[1:]
		}
	}
	if p.body.broken {
		return p.skip(final)
	}
	if final {
		return p.unclosed()
	}
	return false
}

// skip reads on to where a broken call ends: its closing tag, or the next opening one.
func (p *Parser) skip(final bool) bool {
	end := strings.Index(p.rest, callClose)
	next := strings.Index(p.rest, callOpen)
	if end < 0 && next < 0 && !final {
		keep := max(overlap(p.rest, callClose), overlap(p.rest, callOpen))
		p.body.text.WriteString(p.rest[:len(p.rest)-keep])
		p.rest = p.rest[len(p.rest)-keep:]
		return false
	}
	size := len(p.rest)
	switch {
	case end >= 0 && (next < 0 || end < next):
		size = end + len(callClose)
	case next >= 0:
		size = next
	}
	text := callOpen + p.body.text.String() + p.rest[:size]
	p.rest = p.rest[size:]
	p.malformed(text, reasonOf(text))
	return true
}

// unclosed ends a call that has no end: the text stopped inside it, or inside a string that was never closed and
// swallowed the closing tag.
func (p *Parser) unclosed() bool {
	text := p.body.text.String()
	if _, _, found := strings.Cut(text, callClose); found {
		p.rest, p.body = text+p.rest, body{broken: true}
		return true
	}
	p.malformed(callOpen+text, "the text ended inside the call")
	return true
}

// complete ends a call whose closing tag was read.
func (p *Parser) complete() {
	text := p.body.text.String()
	call, err := ParseCall(text)
	if err != nil {
		p.malformed(callOpen+text+callClose, err.Error())
		return
	}
	p.newlines = ""
	p.turn.Message.ToolCalls = append(p.turn.Message.ToolCalls, call)
	p.events = append(p.events, Event{Kind: EventCall, Call: call})
	p.state, p.started, p.between = inContent, false, true
}

// malformed keeps text that is no call as content.
func (p *Parser) malformed(text, reason string) {
	whole := p.newlines + text
	p.newlines = ""
	p.turn.Malformed = append(p.turn.Malformed, Malformed{text, reason})
	p.text[EventContent].WriteString(whole)
	p.events = append(p.events, Event{Kind: EventMalformed, Text: whole, Reason: reason})
	p.state, p.started, p.between = inContent, true, false
}

// reasonOf says what is wrong with the JSON of a broken call.
func reasonOf(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, callOpen), callClose)
	if _, err := ParseCall(text); err != nil {
		return err.Error()
	}
	return "the call is not closed"
}

// ParseCall reads {"name": …, "arguments": {…}}. Arguments may be missing: then there are none.
func ParseCall(text string) (ToolCall, error) {
	v, err := ParseValue([]byte(text))
	if err != nil {
		return ToolCall{}, err
	}
	call := ToolCall{Arguments: Object()}
	if v.Kind() != KindObject {
		return call, fmt.Errorf("chat: reading a tool call: it is of type %s; want an object", v.Kind())
	}
	for _, m := range v.Members() {
		switch m.Name {
		case "name":
			call.Name = m.Value.Text()
		case "arguments":
			call.Arguments = m.Value
		default:
			return call, fmt.Errorf("chat: reading a tool call: unexpected key %.60q", m.Name)
		}
	}
	if call.Name == "" {
		return call, fmt.Errorf("chat: reading a tool call: it has no name")
	}
	if call.Arguments.Kind() != KindObject {
		return call, fmt.Errorf("chat: reading a tool call: arguments are of type %s; want an object", call.Arguments.Kind())
	}
	return call, nil
}
