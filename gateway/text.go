// A session without a template, for agents that write the model's own turn markers: what the policy is shown is literal
// text, control tokens included, and what it said comes back with them.

package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molt/chat"
	"molt/engine"
)

// Text captures one rollout of literal text. Of messages only the content counts, and the images, whose placeholders stand in
// the content; the policy's replies are the decoded ids and nothing is parsed. It is for one goroutine.
type Text struct {
	Session
	begun []chat.Message
}

// OpenText starts the literal session of one rollout.
func (g *Gateway) OpenText(o Options) (*Text, error) {
	s, err := g.Open(o)
	if err != nil {
		return nil, err
	}
	return &Text{Session: *s}, nil
}

// Begin says what the policy sees first. It must be called once, before Turn.
func (t *Text) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	switch {
	case t.begun != nil || len(t.nodes) > 0:
		return fmt.Errorf("gateway: %s: it has begun already", t.name)
	case len(tools) > 0:
		return fmt.Errorf("gateway: %s: literal text offers no tools; write them into it", t.name)
	}
	if contents(messages) == "" {
		return fmt.Errorf("gateway: %s: the policy must see something first", t.name)
	}
	t.begun = slices.Clone(messages)
	return nil
}

func contents(messages []chat.Message) string {
	var text strings.Builder
	for i := range messages {
		text.WriteString(messages[i].Content)
	}
	return text.String()
}

// Turn appends literal text, which may be none after the first turn, and samples a reply.
func (t *Text) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	if t.closed {
		return chat.Reply{}, fmt.Errorf("gateway: %s: it is closed", t.name)
	}
	reason := chat.Reason("")
	if len(t.nodes) == 0 {
		observation, reason = t.begun, chat.NewRoot
	}
	tok := t.gateway.config.Renderer.Tokenizer()
	shown := chat.Observation{IDs: tok.EncodeSpecial(contents(observation))}
	err := t.gateway.sees(observation)
	if err == nil {
		shown.Images, err = t.gateway.config.Renderer.Place(shown.IDs, observation)
	}
	if err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", t.name, len(t.nodes), err)
	}
	reply, err := t.sample(ctx, shown, placed(shown, observation), reason)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", t.name, len(t.nodes), err)
	}
	said := tok.Decode(t.nodes[t.leaf].Sampled)
	t.gateway.counters.turns.Add(1)
	return chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: said}, Text: said, Finish: reply.Finish}, nil
}

// Sampling is how the turns that follow are sampled.
func (t *Text) Sampling() engine.Sampling { return t.options.Sampling }

// Resample changes it.
func (t *Text) Resample(s engine.Sampling) error {
	if err := s.Validate(t.gateway.config.Generator.Capabilities().Vocab); err != nil {
		return fmt.Errorf("gateway: %s: %w", t.name, err)
	}
	t.options.Sampling = s
	return nil
}
