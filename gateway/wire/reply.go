// A reply in our own words: piece by piece while it is sampled, and as a whole.

package wire

import (
	"molt/chat"
	"molt/traj"
)

// Kind says what a Delta adds.
type Kind uint8

const (
	Reasoning Kind = iota // Text is more of what the model thinks
	Content               // Text is more of what it says
	Call                  // Call is one whole call: a client that runs tools never sees half of one
	Nothing               // only Tokens
	Idle                  // nothing has come for a while
)

// Delta is a piece of a reply.
type Delta struct {
	Kind   Kind
	Choice int
	Text   string
	Call   chat.ToolCall
	Tokens []Token // sampled since the last delta of this choice
}

// Token is one sampled id, for clients that ask.
type Token struct {
	ID   int32
	Logp float32
	Text string
	Top  []Token // alternatives, when they were asked for
}

// Meta is what is known before the first token.
type Meta struct {
	Turns   []string // the name of each choice's turn
	Created int64    // seconds since 1970
	Model   string
	Prompt  int     // tokens
	IDs     []int32 // of the prompt, when they were asked for
}

// Part is a finished stretch of a reply; Kind is Reasoning, Content or Call.
type Part struct {
	Kind   Kind
	Text   string
	Call   chat.ToolCall
	Tokens []Token // of Content, when they were asked for
}

// End is how a choice ended.
type End struct {
	Finish    traj.Finish
	Stop      string // the stop string that was found, "" for none
	Sampled   int    // tokens
	Reasoning int    // of these, spent on reasoning
	Cached    int    // tokens of the prompt whose computation was reused
}

// Chosen is one choice of a reply.
type Chosen struct {
	Parts  []Part
	Tokens []Token // when they were asked for
	End    End
}

// Called reports whether a choice calls tools.
func (c *Chosen) Called() bool {
	for i := range c.Parts {
		if c.Parts[i].Kind == Call {
			return true
		}
	}
	return false
}

// Add appends a delta.
func (c *Chosen) Add(d Delta) {
	c.Tokens = append(c.Tokens, d.Tokens...)
	n := len(c.Parts)
	switch {
	case d.Kind == Nothing || d.Kind == Idle:
	case d.Kind != Call && n > 0 && c.Parts[n-1].Kind == d.Kind:
		c.Parts[n-1].Text += d.Text
	default:
		c.Parts = append(c.Parts, Part{Kind: d.Kind, Text: d.Text, Call: d.Call})
	}
	if n := len(c.Parts); n > 0 && c.Parts[n-1].Kind == Content {
		c.Parts[n-1].Tokens = append(c.Parts[n-1].Tokens, d.Tokens...)
	}
}

// Text joins the stretches of one kind.
func (c *Chosen) Text(kind Kind) string {
	text := ""
	for i := range c.Parts {
		if c.Parts[i].Kind == kind {
			text += c.Parts[i].Text
		}
	}
	return text
}

// Reply is a whole reply.
type Reply struct {
	Meta    Meta
	Choices []Chosen
}

// Sampled counts the tokens of all choices.
func (r *Reply) Sampled() (sampled, reasoning int) {
	for i := range r.Choices {
		sampled += r.Choices[i].End.Sampled
		reasoning += r.Choices[i].End.Reasoning
	}
	return sampled, reasoning
}

// Stream turns a reply into the events of a wire, in this order: Start, any Deltas, End for each choice, Close. Fail may
// take the place of anything behind Start. Each appends the bytes to write to dst.
type Stream interface {
	Start(dst []byte, m Meta) []byte
	Delta(dst []byte, d Delta) []byte
	End(dst []byte, choice int, e End) []byte
	Close(dst []byte) []byte
	Fail(dst []byte, p *Problem) []byte
	Alive(dst []byte) []byte // says that nothing has happened yet
}
