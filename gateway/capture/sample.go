// From a placed request to turns that are being sampled.

package capture

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"molt/chat"
	"molt/engine"
	"molt/gateway/forest"
	"molt/gateway/wire"
	"molt/traj"
)

// show renders what the turns are shown. The session is not locked.
func (q *asking) show() *wire.Problem {
	g := q.session.gateway
	if p := q.render(); p != nil {
		return p
	}
	if q.shown.root {
		q.prompt, q.images = q.shown.ids, slices.Clone(q.shown.images)
	} else {
		q.images = append(q.view.images, traj.Shift(q.shown.images, len(q.view.path))...)
		q.prompt = append(q.view.path, q.shown.ids...)
	}
	if n := pictures(q.view.items); n != len(q.images) {
		return &wire.Problem{Class: wire.Broken, Message: fmt.Sprintf("the prompt shows %d images of %d", len(q.images), n)}
	}
	q.develop()
	var p *wire.Problem
	if q.demand, p = g.demand(q.request, q.prompt); p != nil {
		return p
	}
	if q.demand == nil && q.request.Options.Choose.Mode == wire.Required {
		text, ids, p := g.force(q.request.Options.Choose, g.tail(q.prompt))
		if p != nil {
			return p
		}
		q.forced, q.shown.ids, q.prompt = text, slices.Concat(q.shown.ids, ids), slices.Concat(q.prompt, ids)
	}
	if q.shown.root || q.request.Options.Choices > 1 {
		q.prompt = slices.Clip(q.prompt) // it is not for one turn alone to append to
	}
	if len(q.prompt)+1 > g.Context() {
		return &wire.Problem{Class: wire.Overflow, Tokens: len(q.prompt), Limit: g.Context()}
	}
	return nil
}

// develop gives the images of the prompt their bytes.
func (q *asking) develop() {
	if len(q.images) > 0 {
		q.session.mu.Lock()
		defer q.session.mu.Unlock()
		q.session.develop(q.images)
	}
}

func (q *asking) render() *wire.Problem {
	g := q.session.gateway
	tok := g.config.Renderer.Tokenizer()
	switch r := q.request; {
	case q.shown.ids != nil:
		return nil
	case len(r.Prompt) > 0:
		q.shown = shown{root: q.parent < 0, ids: r.Prompt[len(q.view.path):], images: placed(r, len(q.view.path))}
		for _, id := range r.Prompt {
			if int(id) >= g.config.Generator.Capabilities().Vocab {
				return wire.Badf("prompt", "holds id %d, outside the vocabulary of %d", id, g.config.Generator.Capabilities().Vocab)
			}
		}
		return nil
	case r.Text != "":
		q.shown = shown{root: true, ids: tok.EncodeSpecial(r.Text)}
		if len(q.shown.ids) == 0 {
			return wire.Badf("prompt", "is empty")
		}
		return nil
	}
	var err error
	if q.shown, err = g.observe(q.view); err != nil {
		return unrendered(err)
	}
	return nil
}

// sample starts the turns.
func (q *asking) sample() (*Call, *wire.Problem) {
	s := q.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.forest.Unfollow(q.parent)
		return nil, &wire.Problem{Class: wire.Missing, Message: errClosed.Error()}
	}
	if q.shown.root && q.parent >= 0 {
		s.forest.Unfollow(q.parent)
		q.parent = -1
	}
	if q.shown.reason != "" {
		q.reason = q.shown.reason
	}
	left := s.gateway.Context() - len(q.prompt)
	if budget := s.budget(); budget > 0 {
		left = min(left, budget-s.used-len(q.shown.ids))
	}
	if left < 1 {
		s.forest.Unfollow(q.parent)
		return nil, s.spent(len(q.shown.ids))
	}
	q.sampling.MaxTokens = min(q.sampling.MaxTokens, left)
	var flights []*flight
	for i := range q.request.Options.Choices {
		if i > 0 {
			s.forest.Follow(q.parent)
		}
		flights = append(flights, q.flight(i))
	}
	call := q.call(flights...)
	for i, f := range flights {
		f.reader, f.signal = true, q.signal
		s.flights = append(s.flights, f)
		s.used += len(f.turn.Observation)
		s.running.Add(1)
		go flights[i].run()
	}
	return call, nil
}

func (q *asking) flight(choice int) *flight {
	s, r := q.session, q.request
	ctx, cancel := context.WithCancel(s.ctx)
	f := &flight{session: s, at: q.at, asked: q.asked, ctx: ctx, cancel: cancel, index: -1, done: make(chan struct{})}
	f.turn = forest.Turn{
		At: q.at, Parent: q.parent, Observation: q.shown.ids, Images: q.shown.images, Temperature: q.sampling.Temperature,
		Asked: q.asked, Reason: q.reason, Spliced: q.shown.spliced, Agent: q.who.Agent, Tools: len(q.tools) > 0,
		Stored: r.Store, Request: q.ordinal, Raw: r.Text != "" || len(r.Prompt) > 0, Forced: q.forced, Untrained: q.untrained,
	}
	f.masked, f.rewrote = q.shown.masked, q.shown.rewrites
	f.demand = q.demand
	seed := s.Options.Seed
	if r.Options.Seed != nil {
		seed = *r.Options.Seed
	}
	key := engine.Key{Seed: seed, Group: s.Options.Group, Sample: int32(s.Options.Sample)}
	if s.Options.Lone != nil {
		f.turn.Name, key.Turn = s.ordinal()
	} else {
		path := s.forest.Path(q.at) + uint64(q.earlier+choice)*0x9E3779B97F4A7C15
		f.turn.Name, key.Turn = rand.Text(), int32((path^path>>32)&(1<<31-1))
	}
	f.manner = s.manner(f.turn.Name, q.prompt, q.forced, q.tools, r)
	f.request = engine.Request{
		Prompt:   q.prompt,
		Images:   q.images,
		Sampling: q.sampling,
		Key:      key,
		Session:  s.ID,
		Tag:      s.tag(q.ordinal, choice),
	}
	if f.demand != nil {
		f.request.Constrain = func() engine.Constraint { return f.demand.begin(nil) }
	}
	return f
}

func (s *Session) manner(name string, prompt []int32, forced string, tools []chat.ToolSpec, r *wire.Request) manner {
	g := s.gateway
	return manner{
		name: name, prompt: g.tail(prompt), forced: forced, tools: tools, ends: slices.Concat(s.sampling().StopTokens, r.Options.StopTokens), stops: r.Options.Stop, single: r.Options.Single,
		raw: r.Text != "" || len(r.Prompt) > 0, family: g.config.Family, decoder: g.config.Renderer.Tokenizer(), lone: s.Options.Lone != nil,
	}
}

// spent says that the session's tokens are used up. more are those that the request would add. The caller holds the lock.
func (s *Session) spent(more int) *wire.Problem {
	why := fmt.Sprintf("%d of %d tokens are used, and the next turn needs %d", s.used, s.budget(), more+1)
	s.met = fmt.Errorf("capture: session %s: %s: %w", s.ID, why, chat.ErrBudget)
	return &wire.Problem{Message: "the session's token budget leaves no room: " + why, Tokens: more}
}
