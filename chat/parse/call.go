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
	raw      []byte // as sampled, from its opening tag on
	tag      int    // length of the opening tag
	newlines string // in front of it, in case it is none
	index    int    // -1 until CallStart
	id, name string
	args     []byte // JSON of the arguments so far
	members  int    // in args, where they are written one by one
	object   object // follows JSON, where the call is written in it
	rescued  int    // how often text was read again (rewind)
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
	if n := len(p.events); n > 0 && p.events[n-1].Kind == CallDelta {
		p.events[n-1].Text += text
		return
	}
	p.events = append(p.events, Event{Kind: CallDelta, Index: p.call.index, Text: text})
}

// member adds one argument to an object that the syntax does not write as JSON.
func (p *Parser) member(name string, value chat.Value) {
	before := ","
	if p.call.members == 0 {
		before = "{"
	}
	p.call.members++
	p.argue(before + chat.String(name).String() + ":" + value.String())
}

// endMembers closes the object that member writes.
func (p *Parser) endMembers() {
	if p.call.members == 0 {
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
	said := p.flow.said
	p.flow = flow{between: true, said: said}
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
	p.flow = flow{started: true, said: true}
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
			return lost("")
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

// closing consumes a closing tag into the call.
func (p *Parser) closing() (tag string, undecided bool) {
	tag, undecided = longest(p.rest, p.family.closes.all, p.final)
	p.swallow(len(tag))
	return tag, undecided
}

// blanks is how many bytes of whitespace come next.
func (p *Parser) blanks() int { return len(p.rest) - len(strings.TrimLeft(p.rest, spaces)) }

// back gives a tag that was taken back to what is not decided.
func (p *Parser) back(tag string) {
	p.rest, p.at = tag+p.rest, p.at-len(tag)
}
