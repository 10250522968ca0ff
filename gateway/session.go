// A session is one rollout's conversation with the policy. Every turn appends to one growing list of ids: what the model
// was shown, then what it sampled, exactly as sampled. Text is made from ids for the agent to read, and never turned back.

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"molt/chat"
	"molt/engine"
	"molt/traj"
)

// Session captures one rollout. It is for one goroutine.
type Session struct {
	gateway *Gateway
	options Options
	name    string
	path    chat.Conversation // what the current segment shows, ending with the last sampled turn; empty before the first
	start   chat.Conversation // what Begin was given, until the first turn
	ids     []int32           // all ids of the current segment
	images  []traj.Image      // that they show
	nodes   []traj.Node
	leaf    int // the node that the current segment ends with
	closed  bool
}

// Begin says what the policy sees first. It must be called once, before Turn.
func (s *Session) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	if len(s.start.Messages)+len(s.nodes) > 0 {
		return fmt.Errorf("gateway: %s: it has begun already", s.name)
	}
	s.start = chat.Conversation{Messages: slices.Clone(messages), Tools: slices.Clone(tools)}
	if err := s.start.Validate(); err != nil {
		return fmt.Errorf("gateway: %s: %w", s.name, err)
	}
	return nil
}

// Turn appends messages to the conversation and samples a reply.
func (s *Session) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	c := s.path
	if len(s.nodes) == 0 {
		c = s.start
	}
	return s.Answer(ctx, chat.Conversation{Messages: slices.Concat(c.Messages, observation), Tools: c.Tools})
}

// Answer samples a reply to a whole conversation, as a client that repeats its history asks for it. A conversation that
// extends the last one continues its ids; any other starts a new segment, for the reason that the node then carries.
func (s *Session) Answer(ctx context.Context, request chat.Conversation) (chat.Reply, error) {
	if s.closed {
		return chat.Reply{}, fmt.Errorf("gateway: %s: it is closed", s.name)
	}
	if err := request.Validate(); err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s: %w", s.name, err)
	}
	if err := s.gateway.sees(request.Messages); err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", s.name, len(s.nodes), err)
	}
	observation, images, reason, err := s.observe(request)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", s.name, len(s.nodes), err)
	}
	reply, err := s.sample(ctx, observation, images, reason)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("gateway: %s turn %d: %w", s.name, len(s.nodes), err)
	}
	return s.read(request, observation, reply), nil
}

// observe renders what the policy is shown next, and names the images of it. reason is why that starts a new segment, "" when
// it does not.
func (s *Session) observe(request chat.Conversation) (chat.Observation, []traj.Image, chat.Reason, error) {
	d := chat.Stitch(s.path, request)
	if d.Reason == "" {
		n := len(s.path.Messages) - 1
		o, err := s.gateway.config.Renderer.Bridge(chat.Conversation{Messages: s.path.Messages[:n], Tools: s.path.Tools},
			s.path.Messages[n], d.Next, s.ids[len(s.ids)-1])
		if !errors.Is(err, chat.ErrNotLocal) {
			return o, placed(o, d.Next), "", err
		}
		d.Reason = chat.NotLocal
	}
	o, err := s.gateway.config.Renderer.Prompt(request)
	return o, placed(o, request.Messages), d.Reason, err
}

// sample asks the engine for the next turn and keeps what it returns.
func (s *Session) sample(ctx context.Context, o chat.Observation, images []traj.Image, reason chat.Reason) (engine.Reply, error) {
	prompt, shown := slices.Concat(s.ids, o.IDs), slices.Concat(s.images, traj.Shift(images, len(s.ids)))
	if reason != "" {
		prompt, shown = o.IDs, images
	}
	sampling, err := s.room(o, prompt)
	if err != nil {
		return engine.Reply{}, err
	}
	r := engine.Request{
		Prompt:   prompt,
		Images:   shown,
		Sampling: sampling,
		Key:      engine.Key{Seed: s.options.Seed, Group: s.options.Group, Sample: int32(s.options.Sample), Turn: int32(len(s.nodes))},
		Session:  s.name,
		Tag:      s.name,
	}
	reply, err := s.gateway.config.Generator.Generate(ctx, r, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return engine.Reply{}, aborted(ctx)
	case err != nil:
		return engine.Reply{}, failure(err, len(s.nodes))
	}
	if err := Check(reply, r, s.gateway.config.Generator.Capabilities().Vocab); err != nil {
		return engine.Reply{}, err
	}
	if len(reply.Tokens) > 0 {
		s.keep(o, images, reply, sampling.Temperature, reason)
		if err := s.identical(r.Prompt); err != nil {
			return engine.Reply{}, err
		}
	}
	if reply.Finish == traj.FinishAbort {
		s.closed = true // what was sampled is kept, but nothing can follow half a turn
		return engine.Reply{}, aborted(ctx)
	}
	return reply, nil
}

// maxTokens bounds the rollout.
func (s *Session) maxTokens() int { return cmp.Or(s.options.MaxTokens, s.gateway.config.MaxTokens) }

// room is the sampling of a turn, cut to what the rollout has left.
func (s *Session) room(o chat.Observation, prompt []int32) (engine.Sampling, error) {
	sampling := s.options.Sampling
	used := len(o.IDs)
	for i := range s.nodes {
		used += len(s.nodes[i].Observation) + len(s.nodes[i].Sampled)
	}
	left := min(s.maxTokens()-used, s.gateway.config.Generator.Capabilities().MaxTokens-len(prompt))
	if left < 1 {
		if len(s.nodes) == 0 {
			return sampling, fmt.Errorf("the first prompt of %d tokens leaves no room; the rollout may have %d and the engine takes %d",
				used, s.maxTokens(), s.gateway.config.Generator.Capabilities().MaxTokens)
		}
		return sampling, fmt.Errorf("%d tokens are used: %w", used, chat.ErrBudget)
	}
	sampling.MaxTokens = min(sampling.MaxTokens, left)
	return sampling, nil
}

// read turns the sampled ids into a message for the agent, and counts.
func (s *Session) read(request chat.Conversation, o chat.Observation, reply engine.Reply) chat.Reply {
	ids := s.nodes[s.leaf].Sampled
	if n := len(ids); reply.Finish == traj.FinishStop && slices.Contains(s.options.Sampling.StopTokens, ids[n-1]) {
		ids = ids[:n-1]
	}
	text := s.gateway.config.Renderer.Tokenizer().Decode(ids)
	turn := s.gateway.config.Renderer.Read(text, o, request.Tools)
	for i := range turn.Message.ToolCalls {
		turn.Message.ToolCalls[i].ID = fmt.Sprintf("t%03dc%04d", len(s.nodes)-1, i) // nine characters, as Mistral wants
	}
	s.path = chat.Conversation{Messages: append(slices.Clone(request.Messages), turn.Message), Tools: request.Tools}
	s.count(o, turn)
	return chat.Reply{Message: turn.Message, Text: text, Finish: reply.Finish, Malformed: turn.Malformed}
}

func (s *Session) count(o chat.Observation, turn chat.Turn) {
	c := &s.gateway.counters
	c.turns.Add(1)
	c.offered.Add(one(len(s.path.Tools) > 0))
	c.calls.Add(int64(len(turn.Message.ToolCalls)))
	c.malformed.Add(int64(turn.Malformed))
	c.unclosed.Add(one(turn.Unclosed))
	c.masked.Add(int64(o.Masked))
	c.rewrites.Add(one(o.Rewrites))
	c.segments.Add(one(len(s.nodes) > 1 && s.nodes[s.leaf].Parent < 0))
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Nodes returns what was captured so far, in order. The caller may change them after Close.
func (s *Session) Nodes() []traj.Node { return s.nodes }

// Close ends the session: nothing more is sampled.
func (s *Session) Close() error {
	s.closed = true
	return nil
}
