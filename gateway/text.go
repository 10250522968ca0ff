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
	"molt/gateway/wire"
)

// Text captures one rollout of literal text. Of messages only the content counts, and the images, whose placeholders stand in
// the content; the policy's replies are the decoded ids and nothing is parsed. It is for one goroutine.
type Text struct {
	Session
	begin  []chat.Message // what the policy sees first, until the first turn
	ids    []int32        // what it was shown and sampled
	places []int          // of the images of items among the ids
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
	case t.begun:
		return fmt.Errorf("gateway: %s: it has begun already", t.session.ID)
	case len(tools) > 0:
		return fmt.Errorf("gateway: %s: literal text offers no tools; write them into it", t.session.ID)
	}
	if contents(messages) == "" {
		return fmt.Errorf("gateway: %s: the policy must see something first", t.session.ID)
	}
	t.begun, t.begin = true, slices.Clone(messages)
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
	if t.turns == 0 {
		observation = t.begin
	}
	tok := t.gateway.config.Renderer.Tokenizer()
	shown := tok.EncodeSpecial(contents(observation))
	places, err := t.gateway.config.Renderer.Place(shown, observation)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", t.session.ID, t.turns, err)
	}
	r := &wire.Request{Prompt: append(t.ids, shown...), Places: slices.Clone(t.places), Items: slices.Concat(t.items, items(observation))}
	for _, at := range places {
		r.Places = append(r.Places, len(t.ids)+at)
	}
	said, err := t.ask(ctx, r)
	if err != nil {
		return chat.Reply{}, err
	}
	t.ids, t.places, t.items = append(r.Prompt, said.Sampled...), r.Places, r.Items
	spoken := tok.Decode(said.Sampled)
	return chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: spoken}, Text: spoken, Finish: said.Finish}, nil
}

// Sampling is how the turns that follow are sampled.
func (t *Text) Sampling() engine.Sampling { return t.lone.Sampling }

// Resample changes it.
func (t *Text) Resample(s engine.Sampling) error {
	if err := t.resample(s); err != nil {
		return fmt.Errorf("gateway: %s: %w", t.session.ID, err)
	}
	return nil
}
