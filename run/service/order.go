// What a client asks for: one prompt, played n times.

package service

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/gateway/wire"
)

// order is the body of POST /rollouts.
type order struct {
	ID       string          `json:"id"`       // the client's own name for the prompt
	Prompt   string          `json:"prompt"`   // one message of the user, or
	Messages chat.Value      `json:"messages"` // several, as OpenAI spells them
	Tools    chat.Value      `json:"tools"`
	Label    label           `json:"label"` // text, or any JSON value, which is handed on as text
	Agent    agentChoice     `json:"agent"`
	N        int             `json:"n"`
	Seed     *int64          `json:"seed"` // orders with the same one draw the same random numbers
	Limits   limits          `json:"limits"`
	Meta     chat.Value      `json:"metadata"` // is returned as it is
	body     jsontext.Value  // as it came
	messages []chat.Message  // of Prompt or Messages
	tools    []chat.ToolSpec // of Tools
}

// limits bound each rollout. A zero takes the server's.
type limits struct {
	Turns   int     `json:"turns"`
	Tokens  int     `json:"tokens"`
	Seconds float64 `json:"seconds"` // from the start of its set-up, waiting for places included
}

// label is a reference as agents want it: text.
type label string

// UnmarshalJSON implements json.Unmarshaler.
func (l *label) UnmarshalJSON(data []byte) error {
	v, err := chat.ParseValue(data)
	if err != nil {
		return err
	}
	if *l = label(v.String()); v.Kind() == chat.KindString {
		*l = label(v.Text())
	}
	return nil
}

// most are the largest numbers that an order may ask for.
type most struct {
	n       int
	tokens  int
	seconds float64
}

// readOrder checks everything that can be known without the agent.
func readOrder(body []byte, m most) (*order, error) {
	o := &order{N: 1, body: body}
	if p := wire.Fill(o, body); p != nil {
		return nil, p
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch given := o.Messages.Kind() != chat.KindNull; {
	case given && o.Prompt != "":
		bad("prompt and messages: want one of them")
	case given:
		var err error
		if o.messages, err = chat.DecodeShown(o.Messages); err != nil {
			bad("messages: %w", err)
		} else if len(o.messages) == 0 {
			bad("messages is empty")
		}
	case o.Prompt == "":
		bad("prompt is empty, and there are no messages")
	default:
		o.messages = []chat.Message{{Role: chat.User, Content: o.Prompt}}
	}
	if o.Tools.Kind() != chat.KindNull {
		var err error
		if o.tools, err = chat.DecodeTools(o.Tools); err != nil {
			bad("tools: %w", err)
		}
	}
	if o.N < 1 || o.N > m.n {
		bad("n is %d; want 1 to %d", o.N, m.n)
	}
	if o.Limits.Turns < 0 {
		bad("limits.turns is %d; want 1 or more", o.Limits.Turns)
	}
	if o.Limits.Tokens < 0 || o.Limits.Tokens > m.tokens {
		bad("limits.tokens is %d; want 1 to %d", o.Limits.Tokens, m.tokens)
	}
	if !(o.Limits.Seconds >= 0 && o.Limits.Seconds <= m.seconds) {
		bad("limits.seconds is %v; want above 0 and at most %v", o.Limits.Seconds, m.seconds)
	}
	if o.Seed != nil && *o.Seed < 0 {
		bad("seed is %d; want 0 or more", *o.Seed)
	}
	if o.Limits.Tokens == 0 {
		o.Limits.Tokens = m.tokens
	}
	if o.Limits.Seconds == 0 {
		o.Limits.Seconds = m.seconds
	}
	return o, errors.Join(errs...)
}

func (o *order) time() time.Duration { return time.Duration(o.Limits.Seconds * float64(time.Second)) }

// bytes is the most that one of its rollouts leaves.
func (o *order) bytes() int64 { return perRollout + perToken*int64(o.Limits.Tokens) }

// group selects the random numbers.
func (o *order) group(t *task) int64 {
	if o.Seed != nil {
		return *o.Seed
	}
	return t.number
}

// task is what the agent of one rollout is given. It may change it.
func (o *order) task(t *task) agent.Task {
	id := o.ID
	if id == "" {
		id = t.id
	}
	return agent.Task{ID: id, Source: "rollouts", Messages: o.messages, Tools: o.tools, Label: string(o.Label), Seed: uint64(o.group(t))}.Clone()
}
