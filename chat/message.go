// The canonical conversation. Every wire, data set and environment speaks through these types.

package chat

import (
	"fmt"
	"slices"
	"strings"
)

// Role says who speaks.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitzero"` // of an assistant: what it thought, without the markers
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`       // of an assistant
	ToolCallID string     `json:"tool_call_id,omitzero"`      // of a tool: the call that it answers
	Name       string     `json:"name,omitzero"`
	Parts      []Part     `json:"parts,omitempty"` // nil unless there are images: where they stand. Content is JoinText of the texts
}

// Part is a stretch of text, or an image.
type Part struct {
	Text  string `json:"text,omitzero"`
	Image *Image `json:"image,omitzero"`
}

// NewMessage is a message of these parts. Empty text is left out.
func NewMessage(role Role, parts ...Part) Message {
	m := Message{Role: role}
	m.Put(parts...)
	return m
}

// Put makes the parts the content of a message. Empty text is left out.
func (m *Message) Put(parts ...Part) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p == Part{} })
	m.Content, m.Parts = textOf(parts), parts
	if !m.HasImages() {
		m.Parts = nil
	}
}

func textOf(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Image == nil {
			texts = append(texts, p.Text)
		}
	}
	return JoinText(texts)
}

// JoinText is how several texts of one message become one: line by line.
func JoinText(texts []string) string { return strings.Join(texts, "\n") }

// ToolCall is a request of the assistant to run a tool. A tool in a namespace is named namespace.tool; one that takes free
// text has it in the argument FreeText.
type ToolCall struct {
	ID        string `json:"id,omitzero"`
	Name      string `json:"name"`
	Arguments Value  `json:"arguments"` // an object
}

// FreeText names the one argument of a tool that takes text instead of JSON.
const FreeText = "input"

// ToolSpec offers a tool to the assistant. Spec is what the template shows, keys in the author's order:
// {"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}.
type ToolSpec struct {
	Name string
	Spec Value
}

// NewToolSpec builds the usual specification. parameters is a JSON schema.
func NewToolSpec(name, description string, parameters Value) ToolSpec {
	function := Object(Member{"name", String(name)}, Member{"description", String(description)}, Member{"parameters", parameters})
	return ToolSpec{name, Object(Member{"type", String("function")}, Member{"function", function})}
}

// Conversation is everything that a prompt is rendered from.
type Conversation struct {
	Messages []Message
	Tools    []ToolSpec
}

// Validate reports the first message that no conversation can have.
func (c *Conversation) Validate() error {
	if len(c.Messages) == 0 {
		return fmt.Errorf("chat: a conversation without messages")
	}
	for i := range c.Messages {
		if err := c.Messages[i].validate(); err != nil {
			return fmt.Errorf("chat: message %d: %w", i, err)
		}
	}
	return nil
}

func (m *Message) validate() error {
	switch m.Role {
	case System, User, Assistant, Tool:
	default:
		return fmt.Errorf("role %q; want system, user, assistant or tool", m.Role)
	}
	if err := m.validateParts(); err != nil {
		return err
	}
	if m.Role != Assistant && (len(m.ToolCalls) > 0 || m.Reasoning != "") {
		return fmt.Errorf("role %s carries tool calls or reasoning; only an assistant does", m.Role)
	}
	for i, call := range m.ToolCalls {
		if call.Name == "" || call.Arguments.Kind() != KindObject {
			return fmt.Errorf("tool call %d: name %q with arguments of type %s; want a name and an object", i, call.Name, call.Arguments.Kind())
		}
	}
	return nil
}

func (m *Message) validateParts() error {
	for i, p := range m.Parts {
		if (p.Text == "") == (p.Image == nil) {
			return fmt.Errorf("part %d is not one of text and image", i)
		}
	}
	switch {
	case m.Parts == nil:
		return nil
	case m.Role != User && m.Role != Tool:
		return fmt.Errorf("role %s shows an image; only a user and a tool do", m.Role)
	case !m.HasImages() || m.Content != textOf(m.Parts):
		return fmt.Errorf("its parts are not its text and its images")
	}
	return nil
}

// Equal reports whether two messages are the same, but for the order of keys in arguments.
func (m *Message) Equal(n *Message) bool {
	return m.Role == n.Role && m.Content == n.Content && m.Reasoning == n.Reasoning && m.ToolCallID == n.ToolCallID && m.Name == n.Name &&
		slices.EqualFunc(m.Parts, n.Parts, Part.same) &&
		slices.EqualFunc(m.ToolCalls, n.ToolCalls, func(a, b ToolCall) bool { return a.ID == b.ID && a.sameCall(b) })
}

func (c ToolCall) sameCall(d ToolCall) bool {
	return c.Name == d.Name && c.Arguments.Equal(d.Arguments)
}

// SameTurn reports whether two assistant messages are the same turn although a client dropped its reasoning, trimmed its
// text or renumbered its calls. Nothing but whitespace at the ends of the text may differ.
func (m *Message) SameTurn(n *Message) bool {
	return m.Role == Assistant && n.Role == Assistant && strings.TrimSpace(m.Content) == strings.TrimSpace(n.Content) &&
		slices.EqualFunc(m.Parts, n.Parts, Part.same) && slices.EqualFunc(m.ToolCalls, n.ToolCalls, ToolCall.sameCall)
}

func (p Part) same(q Part) bool { return p.Text == q.Text && p.Image.digest() == q.Image.digest() }

func (m *Image) digest() string {
	if m == nil {
		return ""
	}
	return m.Digest
}

// HasImages reports whether a message shows more than text.
func (m *Message) HasImages() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Image != nil })
}

// Images lists the images of messages in the order in which they are shown.
func Images(messages ...Message) []*Image {
	var images []*Image
	for i := range messages {
		for _, p := range messages[i].Parts {
			if p.Image != nil {
				images = append(images, p.Image)
			}
		}
	}
	return images
}
