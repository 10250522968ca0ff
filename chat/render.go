// From a conversation to token ids: the prompt of a first turn, and the bridge from one sampled turn to the next.
//
// Sampled ids are never re-tokenised. What the model sees in its second turn is what it saw in the first, what it sampled,
// and a bridge: the end of its turn if it did not sample one, the new messages, the opening of its next turn. The bridge is
// a suffix of the template's own rendering, and its border is proven, not guessed (reference/wires.md, section 2.3): the
// conversation is rendered with and without the new messages, a private mark in place of what the assistant said, and what
// stands behind the mark in the shorter text, up to the end of the turn, must begin what stands behind it in the longer one.

package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"molt/tokenizer"
)

// ErrNotLocal marks a template that gives no provable border between a turn and what follows: the conversation can only
// go on in a new segment.
var ErrNotLocal = errors.New("the chat template is not local")

// Renderer joins a template and a tokenizer. It is safe for concurrent use.
type Renderer struct {
	template Template
	tok      *tokenizer.Tokenizer
	controls *controls
	end      string // the control string that ends an assistant's turn; "" when there is none
	endID    int32
	lent     bool   // end is the token of the next role: the turn itself has none
	local    bool   // local.go
	image    string // the control string that stands for an image; "" when there is none
	imageID  int32
	read     Reader
}

// Turn is what an assistant said.
type Turn struct {
	Message   Message // its content includes the text of malformed calls
	Malformed int     // calls that could not be read
	Ignored   int     // openings of calls where none is read, such as inside reasoning
	Unclosed  bool    // the text ended while it was still reasoning
}

// Reader reads the text of a turn. prompt is the end of what the model was shown, tools are those on offer. chat/parse has
// a reader for each family of models.
type Reader func(text, prompt string, tools []ToolSpec) Turn

// NewRenderer tries the template on small conversations: it must render them and keep private characters as they are. For
// Bridge and Layout it must also end an assistant's turn with a control token; EndOfTurn tells.
func NewRenderer(t Template, tok *tokenizer.Tokenizer) (*Renderer, error) {
	r := &Renderer{template: t, tok: tok, controls: newControls(tok), endID: -1, read: readText}
	probe := string(firstPrivate) + string(mark)
	text, err := t.Render(Conversation{Messages: []Message{{Role: User, Content: probe}, {Role: Assistant, Content: probe}}}, false)
	if err != nil {
		return nil, err
	}
	if strings.Count(text, probe) != 2 {
		return nil, fmt.Errorf("chat: the chat template changes or drops what is said: two messages became %.200q", text)
	}
	if escapes(t, probe) {
		return nil, fmt.Errorf("chat: the chat template escapes tools or arguments to ASCII, so control strings in them cannot be kept apart from text")
	}
	tail := text[strings.LastIndex(text, probe)+len(probe):]
	r.findEnd(tail, probe)
	r.findPlaceholder()
	r.local = r.isLocal()
	return r, nil
}

// WithReader returns a renderer that reads turns in the model's syntax. Without a reader, a turn is its text.
func (r *Renderer) WithReader(read Reader) *Renderer {
	out := *r
	out.read = read
	return &out
}

func readText(text, _ string, _ []ToolSpec) Turn {
	return Turn{Message: Message{Role: Assistant, Content: text}}
}

// Read reads a turn that was sampled behind an observation.
func (r *Renderer) Read(text string, o Observation, tools []ToolSpec) Turn {
	return r.read(text, o.Tail, tools)
}

// escapes reports whether private characters in tools, calls or results come out as JSON escapes. A template that knows no
// tools and fails on them escapes nothing.
func escapes(t Template, probe string) bool {
	value := Object(Member{probe, String(probe)})
	text, _ := t.Render(Conversation{
		Messages: []Message{{Role: User, Content: "x"}, {Role: Assistant, ToolCalls: []ToolCall{{Name: "f", Arguments: value}}}, {Role: Tool, Content: "x"}},
		Tools:    []ToolSpec{NewToolSpec("f", probe, value)},
	}, false)
	return strings.Contains(text, `\udb80\udc00`)
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// EndOfTurn is the id that ends an assistant's turn; false when the template has none.
func (r *Renderer) EndOfTurn() (int32, bool) { return r.endID, r.end != "" }

// Local reports whether a bridge depends on nothing before its turn, and so costs what is new.
func (r *Renderer) Local() bool { return r.local }

// Tokenizer returns the tokenizer of the renderer.
func (r *Renderer) Tokenizer() *tokenizer.Tokenizer { return r.tok }

// tailBytes hold what a prompt puts behind the opening of a turn.
const tailBytes = 128

// Observation is what the policy is shown before a turn.
type Observation struct {
	IDs      []int32
	Images   []int  // indices into IDs: the first id of the placeholder of each image, in their order
	Tail     string // the end of its text: whether reasoning is open stands there
	Masked   int    // control strings in text from outside, which stayed text
	Rewrites bool   // of a bridge: the template alone would have shown earlier turns differently by now (dropped thinking)
}

// Prompt renders a whole conversation up to where the assistant speaks.
func (r *Renderer) Prompt(c Conversation) (Observation, error) {
	if err := errors.Join(c.Validate(), r.sees(c.Messages)); err != nil {
		return Observation{}, err
	}
	text, err := r.render(c, func(c Conversation) (string, error) { return r.template.Render(c, true) })
	if err != nil {
		return Observation{}, err
	}
	o := text.observe()
	o.Images, err = r.Place(o.IDs, c.Messages)
	return o, err
}

func (r rendering) observe() Observation {
	_, masked := r.mask.parts(r.text)
	return Observation{IDs: r.ids, Tail: r.text[max(0, len(r.text)-tailBytes):], Masked: masked}
}

// Bridge renders what comes between a sampled turn and the next: before is the conversation up to the turn, turn what the
// assistant said (parsed), next the messages behind it. last is the last sampled id, or -1 when there is none: an
// end-of-turn that was sampled is not shown twice, one that was not is inserted.
func (r *Renderer) Bridge(before Conversation, turn Message, next []Message, last int32) (Observation, error) {
	if r.end == "" {
		return Observation{}, fmt.Errorf("chat: bridging to the next turn: nothing ends the assistant's turn: %w", ErrNotLocal)
	}
	if err := r.sees(next); err != nil {
		return Observation{}, err
	}
	if r.local {
		before = brief
	}
	whole := Conversation{slices.Concat(before.Messages, []Message{turn}, next), before.Tools}
	var rewrites bool
	text, err := r.render(whole, func(c Conversation) (suffix string, err error) {
		suffix, rewrites, err = r.suffix(c, len(before.Messages))
		return suffix, err
	})
	if err != nil {
		return Observation{}, fmt.Errorf("chat: bridging to the next turn: %w", err)
	}
	o := text.observe()
	o.Rewrites = rewrites
	if first, ok := r.tok.ID(r.delimiter(text.text)); !ok || len(o.IDs) == 0 || o.IDs[0] != first {
		return Observation{}, fmt.Errorf("chat: bridging to the next turn: its first token is not the end of the last: %w", ErrNotLocal)
	}
	o.IDs = r.shown(o.IDs, last)
	o.Images, err = r.Place(o.IDs, next)
	return o, err
}
