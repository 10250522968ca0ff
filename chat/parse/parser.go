// The driver of every family: text in, state functions over the part that is not yet decided, events out.

package parse

import (
	"sort"
	"strings"

	"molt/chat"
)

// Parser reads one turn. It is for one goroutine. The text is decoded with special tokens kept, without the token that
// ended the turn.
type Parser struct {
	family *Family
	tools  []chat.ToolSpec
	state  state
	piece  string // what was not decided at the last Write, and what that brought
	rest   string // the end of piece: not yet decided
	at     int    // offset of rest in the turn's text
	final  bool   // no more text will come
	marks  []mark // one for each Write
	flow   flow
	call   call
	events []Event
	items  []item
	begun  int // calls
	reply  Reply
}

// state does what it can with p.rest. It returns the next state, or nil when it needs more text or everything has been
// read. Once p.final is set, nil must leave p.rest empty.
type state func(p *Parser) state

// mark is the end of what one Write brought.
type mark struct{ text, tokens int }

// item is an Item that is still growing.
type item struct {
	Item
	text []byte
	end  int // offset in the turn's text
}

// Write takes the next piece of text and the number of tokens it was decoded from, and returns what that decides. A token
// that gives no text yet may come with an empty piece, or be counted with the next.
func (p *Parser) Write(text string, tokens int) []Event {
	p.piece = p.rest + text
	p.rest = p.piece
	last := mark{}
	if n := len(p.marks); n > 0 {
		last = p.marks[n-1]
	}
	p.marks = append(p.marks, mark{last.text + len(text), last.tokens + tokens})
	return p.run()
}

// Close says that the turn has ended and returns what was still undecided.
func (p *Parser) Close() []Event {
	p.final = true
	return p.run()
}

func (p *Parser) run() []Event {
	p.events = nil
	for next := p.state(p); next != nil; next = p.state(p) {
		p.state = next
	}
	return p.events
}

// Reply returns what was read. Before Close it lacks what is undecided.
func (p *Parser) Reply() Reply {
	r := p.reply
	r.Items = make([]Item, len(p.items))
	for i := range p.items {
		r.Items[i] = p.items[i].Item
		r.Items[i].Text = string(p.items[i].text)
		r.Items[i].Tokens = p.tokensTo(p.items[i].end)
	}
	if n := len(p.marks); n > 0 {
		r.Tokens = p.marks[n-1].tokens
	}
	return r
}

// tokensTo is the smallest number of leading tokens that hold the text up to an offset.
func (p *Parser) tokensTo(offset int) int {
	if offset == 0 {
		return 0
	}
	return p.marks[sort.Search(len(p.marks), func(i int) bool { return p.marks[i].text >= offset })].tokens
}

// take consumes the first n bytes of what is not decided.
func (p *Parser) take(n int) string {
	text := p.rest[:n]
	p.rest, p.at = p.rest[n:], p.at+n
	return text
}

// tags are strings that mean something, and the bytes that they begin with.
type tags struct {
	all    []string
	firsts string
}

func newTags(all ...string) tags {
	t := tags{all: all}
	for _, tag := range all {
		if strings.IndexByte(t.firsts, tag[0]) < 0 {
			t.firsts += tag[:1]
		}
	}
	return t
}

// until consumes what certainly comes before the first of the tags, and the tag itself when it is there. While more text
// may come, an end that could begin a tag stays.
func (p *Parser) until(t tags) (before, tag string, found bool) {
	for at := 0; at < len(p.rest); at++ {
		i := strings.IndexAny(p.rest[at:], t.firsts)
		if i < 0 {
			break
		}
		at += i
		tag, undecided := longest(p.rest[at:], t.all, p.final)
		if undecided {
			return p.take(at), "", false
		}
		if tag != "" {
			before = p.take(at)
			return before, p.take(len(tag)), true
		}
	}
	return p.take(len(p.rest)), "", false
}

// longest is the longest of the tags that begins text. undecided is true, and the tag empty, while more text could make a
// longer one.
func longest(text string, all []string, final bool) (tag string, undecided bool) {
	for _, t := range all {
		switch {
		case strings.HasPrefix(text, t):
			if len(t) > len(tag) {
				tag = t
			}
		case !final && strings.HasPrefix(t, text):
			return "", true
		}
	}
	return tag, false
}

const spaces = " \t\r\n"
