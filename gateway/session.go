// A session is one rollout's conversation with the policy. What the policy was shown and what it sampled is kept by capture, as
// for every other agent; here is the agent that owns no history: it says what is new, and nothing is ever edited.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"molt/chat"
	"molt/gateway/capture"
	"molt/gateway/wire"
	"molt/traj"
)

// Session captures one rollout. It is for one goroutine.
type Session struct {
	gateway *Gateway
	session *capture.Session
	lone    *capture.Lone
	items   []*chat.Item // what the policy was shown and said
	tools   []chat.ToolSpec
	begun   bool
	turns   int
	over    bool // half a turn was sampled, and nothing can follow it
}

// Begin says what the policy sees first. It must be called once, before Turn.
func (s *Session) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	if s.begun {
		return fmt.Errorf("gateway: %s: it has begun already", s.session.ID)
	}
	start := chat.Conversation{Messages: messages, Tools: slices.Clone(tools)}
	if err := start.Validate(); err != nil {
		return fmt.Errorf("gateway: %s: %w", s.session.ID, err)
	}
	s.begun, s.tools, s.items = true, start.Tools, items(messages)
	return nil
}

func items(messages []chat.Message) []*chat.Item {
	list := make([]*chat.Item, len(messages))
	for i := range messages {
		list[i] = chat.NewItem(messages[i])
	}
	return list
}

// Turn appends messages to the conversation and samples a reply.
func (s *Session) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	if !s.begun {
		return chat.Reply{}, fmt.Errorf("gateway: %s: it has not begun", s.session.ID)
	}
	shown := slices.Concat(s.items, items(observation))
	whole := chat.Conversation{Tools: s.tools}
	for _, item := range shown {
		whole.Messages = append(whole.Messages, item.Message)
	}
	if err := whole.Validate(); err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s: %w", s.session.ID, err)
	}
	said, err := s.ask(ctx, &wire.Request{Items: shown, Tools: s.tools, ToolsKey: chat.ToolsKey(s.tools, nil)})
	if err != nil {
		return chat.Reply{}, err
	}
	s.items = append(shown, said.Item)
	ids := said.Sampled
	if n := len(ids); said.Finish == traj.FinishStop && slices.Contains(s.lone.Sampling.StopTokens, ids[n-1]) {
		ids = ids[:n-1]
	}
	text := s.gateway.config.Renderer.Tokenizer().Decode(ids)
	return chat.Reply{Message: said.Item.Message, Text: text, Finish: said.Finish, Malformed: said.Malformed}, nil
}

// ask samples a reply.
func (s *Session) ask(ctx context.Context, r *wire.Request) (capture.Said, error) {
	if s.over {
		return capture.Said{}, fmt.Errorf("gateway: %s: it is closed", s.session.ID)
	}
	r.Options.Choices = 1
	var said capture.Said
	call, p := s.session.Ask(ctx, r, capture.Caller{})
	if p == nil {
		said, p = call.Said(ctx)
		s.over = p != nil && ctx.Err() != nil
	}
	switch {
	case p == nil:
		s.turns++
		return said, nil
	case ctx.Err() != nil:
		return said, fmt.Errorf("gateway: %s turn %d: the turn was cancelled: %w", s.session.ID, s.turns, context.Cause(ctx))
	}
	return said, fmt.Errorf("gateway: %s turn %d: %w", s.session.ID, s.turns, s.typed(p))
}

// typed is the problem of a turn as an error that says who is to blame.
func (s *Session) typed(p *wire.Problem) error {
	met := s.session.Err()
	switch full := p.Class == wire.Overflow; {
	case (full || errors.Is(met, chat.ErrBudget)) && s.turns == 0:
		return fmt.Errorf("the first prompt of %d tokens leaves no room: %w", p.Tokens, p)
	case full:
		return fmt.Errorf("%w: %w", chat.ErrBudget, p)
	case met != nil:
		return met
	case p.Class == wire.Bad:
		return p
	}
	return fmt.Errorf("%w: %w", chat.ErrInfrastructure, p)
}

// Nodes returns what was captured so far, in order. The caller may change them.
func (s *Session) Nodes() []traj.Node { return s.session.Nodes() }

// Close ends the session: nothing more is sampled.
func (s *Session) Close() error { return s.session.Close() }
