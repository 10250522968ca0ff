// One tool call while it is read: what it says so far, and how it ends.

package parse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"molt/chat"
)

// call is the call being read, whatever its syntax.
type call struct {
	raw       []byte // as sampled, from its opening tag on
	tag       int    // length of the opening tag
	newlines  string // in front of it, in case it is none
	index     int    // -1 until CallStart
	id, name  string
	args      []byte          // JSON of the arguments so far
	part      []byte          // of the field being read
	key       string          // of the argument being read
	members   map[string]bool // names in args, where they are written one by one
	bare      bool            // the call came without its outer tag
	attribute string          // of the argument being read
	object    object          // follows JSON, where the call is written in it
	python    python          // follows Python
	rescued   int             // how often text was read again (rewind)
}

// open begins a call with the tag that announces it.
func (p *Parser) open(tag string) {
	p.call = call{raw: append(p.call.raw[:0], tag...), tag: len(tag), args: p.call.args[:0], index: -1, newlines: p.flow.newlines, rescued: p.call.rescued}
	p.flow.newlines = ""
}

// swallow moves n bytes into the call.
func (p *Parser) swallow(n int) string {
	text := p.take(n)
	p.call.raw = append(p.call.raw, text...)
	return text
}

// named says that the call has begun.
func (p *Parser) named(name, id string) {
	p.call.index, p.call.name, p.call.id = p.begun, name, id
	p.begun++
	p.events = append(p.events, Event{Kind: CallStart, Index: p.call.index, Name: name, ID: id})
}

// argue adds to the JSON of the arguments.
func (p *Parser) argue(text string) {
	if text == "" {
		return
	}
	p.call.args = append(p.call.args, text...)
	p.events = append(p.events, Event{Kind: CallDelta, Index: p.call.index, Text: text})
}

// member adds one argument to an object that the syntax does not write as JSON. It reports false for a name that was given.
func (p *Parser) member(name string, value chat.Value) bool {
	if p.call.members[name] {
		return false
	}
	before := ","
	if len(p.call.members) == 0 {
		before, p.call.members = "{", map[string]bool{}
	}
	p.call.members[name] = true
	p.argue(before + chat.String(name).String() + ":" + value.String())
	return true
}

// endMembers closes the object that member writes.
func (p *Parser) endMembers() {
	if len(p.call.members) == 0 {
		p.argue("{")
	}
	p.argue("}")
}

// finish ends a call that was read to its end: its arguments must be one JSON object. It reports whether they are.
func (p *Parser) finish() bool {
	if p.call.name == "" {
		p.fail("it has no name")
		return false
	}
	arguments, err := chat.ParseValue(p.call.args)
	if err == nil && arguments.Kind() != chat.KindObject {
		err = fmt.Errorf("arguments are of type %s; want an object", arguments.Kind())
	}
	if err != nil {
		p.fail(err.Error())
		return false
	}
	c := chat.ToolCall{ID: p.call.id, Name: p.call.name, Arguments: arguments}
	p.events = append(p.events, Event{Kind: CallEnd, Index: p.call.index, Call: c})
	p.items = append(p.items, item{Item: Item{Kind: CallEnd, Index: p.call.index, Call: c}, end: p.at})
	p.flow = flow{between: true, said: p.flow.said}
	return true
}

// fail keeps what looked like a call as content.
func (p *Parser) fail(reason string) {
	text := p.call.newlines + string(p.call.raw)
	if reason == "" {
		reason = p.reason()
	}
	reason = strings.ReplaceAll(strings.TrimPrefix(reason, "chat: "), "\n", " ")
	p.events = append(p.events, Event{Kind: Malformed, Index: p.call.index, Text: text, Reason: reason})
	p.items = append(p.items, item{Item: Item{Kind: Malformed, Index: p.call.index, Reason: reason}, text: []byte(text), end: p.at})
	p.flow = flow{started: true, said: [2]bool{p.flow.said[Reasoning], true}}
}

// lost is the state behind a call that can be none: it reads on to where the next one may begin, which is a closing tag or
// another opening one, and keeps all that as content.
func lost(reason string) state {
	return func(p *Parser) state {
		before, tag, found := p.until(p.family.inCall)
		p.call.raw = append(p.call.raw, before...)
		if !found && !p.final {
			return nil
		}
		if found && slices.Contains(p.family.opens.all, tag) {
			p.back(tag)
		} else {
			p.call.raw = append(p.call.raw, tag...)
		}
		p.fail(reason)
		return content
	}
}

// maxRescues bounds how often the text of a turn is read again.
const maxRescues = 16

// unended ends a call that has no end: the text stopped inside it, or inside a string that was never closed and swallowed
// the closing tag, and then it is read again as a broken call.
func (p *Parser) unended() state {
	inside := p.call.raw[p.call.tag:]
	for _, closing := range p.family.closes.all {
		if bytes.Contains(inside, []byte(closing)) && p.call.rescued < maxRescues {
			p.call.rescued++
			p.back(string(inside))
			p.call.raw = p.call.raw[:p.call.tag]
			if len(p.call.object.text) > 0 {
				return lost("")
			}
			return lost("a part of the call is not closed")
		}
	}
	p.fail("the text ended inside the call")
	return content
}

// reason says what is wrong with the JSON of a broken call.
func (p *Parser) reason() string {
	inside := p.call.raw[p.call.tag:]
	for _, closing := range p.family.closes.all {
		inside = bytes.TrimSuffix(inside, []byte(closing))
	}
	if _, err := chat.ParseValue(inside); err != nil {
		return err.Error()
	}
	return "the call is not closed"
}

// blanks is how many bytes of whitespace come next.
func (p *Parser) blanks() int { return len(p.rest) - len(strings.TrimLeft(p.rest, spaces)) }

// bare opens a call without a tag where content begins with a certain byte, whitespace aside.
func (p *Parser) bare(first byte, call state) state {
	text := strings.TrimLeft(p.rest, spaces)
	switch {
	case text == "" && !p.final:
		return nil
	case text == "" || text[0] != first:
		return content
	}
	p.open("")
	p.call.bare = true
	p.swallow(p.blanks())
	return call
}

// unopen gives a bare call back: it is text.
func (p *Parser) unopen() state {
	p.flow.newlines = p.call.newlines
	p.back(string(p.call.raw))
	return content
}

// field reads on to one of the tags and returns the text in front of it. found is false while none has come.
func (p *Parser) field(t tags) (text, tag string, found bool) {
	before, tag, found := p.until(t)
	p.call.raw = append(append(p.call.raw, before...), tag...)
	p.call.part = append(p.call.part, before...)
	if !found {
		return "", "", false
	}
	text = string(p.call.part)
	p.call.part = p.call.part[:0]
	return text, tag, true
}

// unfield gives the tag that ended a field back.
func (p *Parser) unfield(tag string) {
	p.call.raw = p.call.raw[:len(p.call.raw)-len(tag)]
	p.back(tag)
}

// expect consumes whitespace and then the tag that comes next, if one does.
func (p *Parser) expect(t tags) (tag string, undecided bool) {
	p.swallow(p.blanks())
	tag, undecided = longest(p.rest, t.all, p.final)
	p.swallow(len(tag))
	return tag, undecided
}

// want is expect where one of the tags must come. Without one, the state to go on with is otherwise.
func (p *Parser) want(t tags, reason string) (tag string, instead state, ok bool) {
	tag, undecided := p.expect(t)
	switch {
	case undecided:
		return "", nil, false
	case tag == "" && p.rest == "":
		return "", p.unended(), false
	case tag == "":
		return "", lost(reason), false
	}
	return tag, nil, true
}

// after consumes whitespace and the tag behind it, or nothing. It belongs to no call.
func (p *Parser) after(t tags) (tag string, undecided bool) {
	text := strings.TrimLeft(p.rest, spaces)
	if tag, undecided = longest(text, t.all, p.final); tag != "" {
		p.take(len(p.rest) - len(text) + len(tag))
	}
	return tag, undecided
}

// more is what a state returns when it needs more text to go on with a call.
func (p *Parser) more() state {
	if p.final {
		return p.unended()
	}
	return nil
}

// back gives text that was just taken back to what is not decided.
func (p *Parser) back(text string) {
	p.at -= len(text)
	if from := len(p.piece) - len(p.rest) - len(text); from >= 0 {
		p.rest = p.piece[from:]
		return
	}
	p.piece = text + p.rest
	p.rest = p.piece
}
