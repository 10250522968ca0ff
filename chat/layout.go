// Supervised examples, laid out token for token as a rollout of the same conversation would be.

package chat

import (
	"fmt"
	"strings"
)

// Layout is a conversation as one training sequence.
type Layout struct {
	IDs    []int32
	Action []bool // [len(IDs)] true for what the assistant says, its end of turn included
	Turns  int    // of the assistant
	Odd    int    // turns that do not read back as they were written: the parser sees other calls or other text
}

// Layout renders the turns one after the other, each behind the bridge that a rollout would see. What comes after the
// assistant's last turn is left out.
func (r *Renderer) Layout(c Conversation) (Layout, error) {
	var l Layout
	if err := c.Validate(); err != nil {
		return l, err
	}
	last := -1 // the assistant's previous turn
	for i := range c.Messages {
		if c.Messages[i].Role != Assistant {
			continue
		}
		if err := r.appendTurn(&l, c, last, i); err != nil {
			return Layout{}, fmt.Errorf("chat: laying out message %d: %w", i, err)
		}
		last = i
	}
	if last < 0 {
		return Layout{}, fmt.Errorf("chat: laying out a conversation in which the assistant says nothing")
	}
	return l, nil
}

func (r *Renderer) appendTurn(l *Layout, c Conversation, last, at int) error {
	before := Conversation{c.Messages[:at], c.Tools}
	observation, err := r.observation(c, last, at)
	if err != nil {
		return err
	}
	ids, text, err := r.turn(before, c.Messages[at])
	if err != nil {
		return err
	}
	l.append(observation.IDs, false)
	l.append(ids, true)
	l.Turns++
	read := r.Read(text, observation, c.Tools).Message
	if !read.SameTurn(&c.Messages[at]) || strings.Trim(c.Messages[at].Reasoning, "\n") != read.Reasoning {
		l.Odd++
	}
	return nil
}

func (r *Renderer) observation(c Conversation, last, at int) (Observation, error) {
	if last >= 0 {
		return r.Bridge(Conversation{c.Messages[:last], c.Tools}, c.Messages[last], c.Messages[last+1:at], r.endID)
	}
	if at == 0 {
		return Observation{}, fmt.Errorf("the assistant speaks first; there is nothing it could answer to")
	}
	return r.Prompt(Conversation{c.Messages[:at], c.Tools})
}

func (l *Layout) append(ids []int32, action bool) {
	l.IDs = append(l.IDs, ids...)
	for range ids {
		l.Action = append(l.Action, action)
	}
}

// turn renders what the assistant says: the ids up to its end of turn, and the text without that.
func (r *Renderer) turn(before Conversation, said Message) ([]int32, string, error) {
	if r.end == "" {
		return nil, "", fmt.Errorf("nothing ends the assistant's turn: %w", ErrNotLocal)
	}
	m := &mask{controls: r.controls}
	n := len(before.Messages)
	c, err := m.conversation(Conversation{append(before.Messages[:n:n], said), before.Tools})
	if err != nil {
		return nil, "", err
	}
	whole, err := r.template.Render(c, false)
	if err != nil {
		return nil, "", err
	}
	prompt, err := r.template.Render(Conversation{c.Messages[:n], c.Tools}, true)
	if err != nil {
		return nil, "", err
	}
	text, ok := strings.CutPrefix(whole, prompt)
	if !ok {
		return nil, "", fmt.Errorf("a turn does not begin where the prompt ends: %w", ErrNotLocal)
	}
	at := r.ending(text)
	if at < 0 || r.lent {
		return nil, "", fmt.Errorf("a turn does not end with %s: %w", r.end, ErrNotLocal)
	}
	end := r.delimiter(text[at:])
	parts, _ := m.parts(text[:at+len(end)])
	var plain strings.Builder
	for _, p := range parts {
		plain.WriteString(p.Text)
	}
	return r.tok.EncodeParts(parts...), strings.TrimSuffix(plain.String(), end), nil
}
