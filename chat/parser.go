// From sampled text to a message, in the Hermes and Qwen form: <think>reasoning</think> content <tool_call>{…}</tool_call>.
//
// One state machine reads reasoning, content and calls in that order of precedence, so that they can never disagree about
// which text is whose: a <tool_call> inside reasoning is reasoning, a </tool_call> inside a JSON string is an argument.
// What looks like a call and is none stays in the text, and is counted.

package chat

import (
	"strings"
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"
)

// EventKind says what an Event adds to the message.
type EventKind uint8

const (
	EventReasoning EventKind = iota // Text is reasoning
	EventContent                    // Text is content
	EventCall                       // Call is complete
	EventMalformed                  // Text looks like a call but is none; it is content too
)

// Event is what a stretch of sampled text means. However the text is split, the events are the same but for the borders
// between neighbours of one kind.
type Event struct {
	Kind   EventKind
	Text   string
	Call   ToolCall
	Reason string // of a malformed call: what is wrong
}

// Malformed is text that looks like a tool call and is none.
type Malformed struct {
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// Turn is what an assistant said. Message.Content includes the text of malformed calls.
type Turn struct {
	Message   Message
	Malformed []Malformed
	Unclosed  bool // the text ended while it was still reasoning
}

// Parser reads one turn. It is for one goroutine. The text is decoded with special tokens kept, without the token that
// ended the turn.
type Parser struct {
	state    state
	rest     string // not yet decided
	started  bool   // the current stretch of reasoning or content has begun: its leading line ends are behind us
	between  bool   // content resumes behind a call: a line end joins it to what came before
	newlines string // in front of a call, in case it is none
	body     body   // of the call being read
	turn     Turn
	text     [2]strings.Builder // reasoning, content
	events   []Event
}

type state uint8

const (
	atStart state = iota
	inReasoning
	inContent
	inCall
)

// NewParser starts a turn. thinking says that the prompt ends with an open <think>.
func NewParser(thinking bool) *Parser {
	p := &Parser{}
	if thinking {
		p.state = inReasoning
	}
	return p
}

// Parse reads a whole turn.
func Parse(text string, thinking bool) Turn {
	p := NewParser(thinking)
	p.Write(text)
	p.Close()
	return p.Turn()
}

// Write takes the next stretch of text and returns what it decides.
func (p *Parser) Write(text string) []Event {
	p.rest += text
	return p.run(false)
}

// Close says that the turn has ended and returns what was still undecided.
func (p *Parser) Close() []Event {
	p.turn.Unclosed = p.state == inReasoning && !strings.Contains(p.rest, thinkClose)
	return p.run(true)
}

// Turn returns what was read so far.
func (p *Parser) Turn() Turn {
	t := p.turn
	t.Message.Role = Assistant
	t.Message.Reasoning, t.Message.Content = p.text[EventReasoning].String(), p.text[EventContent].String()
	return t
}

func (p *Parser) run(final bool) []Event {
	p.events = nil
	for p.step(final) {
	}
	return p.events
}

// step does what it can in the current state. It returns true when the state has changed.
func (p *Parser) step(final bool) bool {
	switch p.state {
	case atStart:
		return p.start(final)
	case inReasoning:
		return p.reasoning(final)
	case inContent:
		return p.content(final)
	}
	return p.call(final)
}

// start: reasoning begins with the first thing that is no whitespace, or not at all.
func (p *Parser) start(final bool) bool {
	text := strings.TrimLeft(p.rest, " \t\r\n")
	if strings.HasPrefix(text, thinkOpen) {
		p.state, p.rest = inReasoning, text[len(thinkOpen):]
		return true
	}
	if strings.HasPrefix(thinkOpen, text) && !final {
		return false
	}
	p.state, p.started = inContent, true
	return true
}

func (p *Parser) reasoning(final bool) bool {
	text, found := p.before(thinkClose, final)
	p.say(EventReasoning, text)
	if found {
		p.state, p.started, p.newlines = inContent, false, ""
	}
	return found
}

func (p *Parser) content(final bool) bool {
	text, found := p.before(callOpen, final)
	if p.between && text != "" && p.text[EventContent].Len() > 0 {
		text = "\n" + text
	}
	p.between = p.between && text == ""
	p.say(EventContent, text)
	switch {
	case found:
		p.state, p.body = inCall, body{}
	case final:
		p.say(EventContent, p.newlines)
		p.newlines = ""
	}
	return found
}

// before takes what certainly comes before the tag, and the tag itself when it is there. Line ends at the start of the
// stretch are dropped; those just before the tag, or at the end of what is there so far, wait in p.newlines.
func (p *Parser) before(tag string, final bool) (text string, found bool) {
	text = p.rest
	if at := strings.Index(text, tag); at >= 0 {
		text, p.rest, found = text[:at], text[at+len(tag):], true
	} else {
		keep := 0
		if !final {
			keep = overlap(text, tag)
		}
		text, p.rest = text[:len(text)-keep], text[len(text)-keep:]
	}
	if !p.started {
		text = strings.TrimLeft(text, "\n")
		p.started = text != ""
	}
	body := strings.TrimRight(text, "\n")
	waiting := text[len(body):]
	if body != "" {
		body, p.newlines = p.newlines+body, ""
	}
	p.newlines += waiting
	return body, found
}

// overlap is the length of the longest end of text that begins tag.
func overlap(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasPrefix(tag, text[len(text)-n:]) {
			return n
		}
	}
	return 0
}

func (p *Parser) say(kind EventKind, text string) {
	if text == "" {
		return
	}
	p.text[kind].WriteString(text)
	if n := len(p.events); n > 0 && p.events[n-1].Kind == kind {
		p.events[n-1].Text += text
		return
	}
	p.events = append(p.events, Event{Kind: kind, Text: text})
}
