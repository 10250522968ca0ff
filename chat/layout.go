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
	if len(Images(c.Messages...)) > 0 {
		return l, fmt.Errorf("chat: laying out a conversation that shows images; examples to learn from are text")
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
	n := len(before.Messages)
	end := ""
	text, err := r.render(Conversation{append(before.Messages[:n:n], said), before.Tools}, func(c Conversation) (text string, err error) {
		text, end, err = r.turnText(c, n)
		return text, err
	})
	if err != nil {
		return nil, "", err
	}
	return text.ids, strings.TrimSuffix(text.plain(), end), nil
}

// turnText renders message n, its end of turn included.
func (r *Renderer) turnText(c Conversation, n int) (text, end string, err error) {
	whole, err := r.template.Render(c, false)
	if err != nil {
		return "", "", err
	}
	prompt, err := r.template.Render(Conversation{c.Messages[:n], c.Tools}, true)
	if err != nil {
		return "", "", err
	}
	text, ok := strings.CutPrefix(whole, prompt)
	if !ok {
		return "", "", fmt.Errorf("a turn does not begin where the prompt ends: %w", ErrNotLocal)
	}
	at := r.ending(text)
	if at < 0 || r.lent {
		return "", "", fmt.Errorf("a turn does not end with %s: %w", r.end, ErrNotLocal)
	}
	end = r.delimiter(text[at:])
	return text[:at+len(end)], end, nil
}
