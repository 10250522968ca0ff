// A request: where it belongs in the forest, what is shown for it, and the turns that answer it.

package capture

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"molt/chat"
	"molt/engine"
	"molt/gateway/forest"
	"molt/gateway/wire"
	"molt/traj"
)

// Caller is what is known of who asks, besides the request.
type Caller struct {
	Agent forest.Agent
	Retry bool // it says that it has asked before
}

// Ask answers a request. The reply is read from the Call; turns go on being sampled when ctx has ended, for as long as the
// gateway lingers.
func (s *Session) Ask(ctx context.Context, r *wire.Request, who Caller) (*Call, *wire.Problem) {
	if p := s.refuses(r); p != nil {
		return nil, p
	}
	sampling, untrained, p := s.gateway.sampling(s.sampling(), &r.Options)
	if p != nil {
		return nil, p
	}
	renderer, variables, p := s.gateway.renderer(&r.Options)
	if p != nil {
		return nil, p
	}
	if r.HasImages() {
		if p := s.show(r.Items); p != nil {
			return nil, p
		}
	}
	q := &asking{session: s, request: r, who: who, sampling: sampling, untrained: untrained, asked: asked(sampling, r),
		renderer: renderer, variables: variables, signal: make(chan struct{}, 1)}
	call, p := q.place(ctx)
	if call != nil || p != nil {
		return call, p
	}
	if p := q.show(); p != nil {
		s.unplace(q)
		return nil, p
	}
	return q.sample()
}

// refuses names what this gateway cannot do.
func (s *Session) refuses(r *wire.Request) *wire.Problem {
	g := s.gateway
	if r.HasImages() && !g.config.Generator.Capabilities().Images {
		return wire.Badf("", "%s is a text-only model: leave images out", cmp.Or(g.config.Model, r.Model, "this"))
	}
	return nil
}

// asking is a request on its way to being sampled.
type asking struct {
	session   *Session
	request   *wire.Request
	who       Caller
	demand    *demand // nil for none
	sampling  engine.Sampling
	untrained string // why its turns do not train
	renderer  *chat.Renderer
	variables []chat.Member // that make it another one than the run's
	asked     string
	signal    chan struct{}

	ordinal int64
	tools   []chat.ToolSpec
	at      int32
	parent  int32
	reason  chat.Reason
	view    view
	shown   shown
	earlier int // turns that answer the same request, or are about to
	prompt  []int32
	images  []traj.Image // that the prompt shows
	forced  string
}

// place finds the request's place in the forest. It returns a call when there is nothing to sample: the reply was given
// before, or is being sampled for somebody who is gone.
func (q *asking) place(ctx context.Context) (*Call, *wire.Problem) {
	s := q.session
	for {
		s.mu.Lock()
		orphan, call, p := q.placeLocked()
		s.mu.Unlock()
		if orphan == nil {
			return call, p
		}
		orphan.cancel() // its client goes on from what it has of it
		select {
		case <-orphan.done:
		case <-ctx.Done():
			return nil, &wire.Problem{Class: wire.Expired, Message: "the client is gone"}
		}
	}
}

func (q *asking) placeLocked() (orphan *flight, call *Call, p *wire.Problem) {
	s := q.session
	if s.closed {
		return nil, nil, &wire.Problem{Class: wire.Missing, Message: errClosed.Error()}
	}
	if err := s.journal.Err(); err != nil { // what cannot be restored must not go on
		s.met = fmt.Errorf("capture: writing a journal: %w: %w", chat.ErrInfrastructure, err)
		return nil, nil, &wire.Problem{Class: wire.Broken, Message: "writing a journal: " + err.Error()}
	}
	items, tools, p := q.conversation()
	if p != nil {
		return nil, nil, p
	}
	plan := s.forest.Plan(tools, items)
	if p := s.crowded(size(items[plan.Matched:])); p != nil {
		return nil, nil, p
	}
	if orphan := s.orphan(plan, items); orphan != nil {
		return orphan, nil, nil
	}
	if plan.Cut != nil {
		s.cut(*plan.Cut)
	}
	q.at = s.enter(plan.Point, tools, items[plan.Matched:])
	if call := q.again(); call != nil {
		return nil, call, nil
	}
	if budget := s.budget(); budget > 0 && s.used+1 >= budget {
		return nil, nil, s.spent(0)
	}
	if len(q.request.Prompt) > 0 {
		plan = forest.Plan{Turn: s.forest.Continued(q.request.Prompt), Reason: plan.Reason}
	}
	if len(s.flights)+q.request.Options.Choices > s.gateway.config.Parallel {
		return nil, nil, &wire.Problem{Class: wire.Limited, Message: fmt.Sprintf("%d turns of this session are being sampled", len(s.flights)), Retry: 1}
	}
	q.parent, q.reason = plan.Turn, plan.Reason
	if q.reason != "" && q.reason != forest.Sibling && s.forest.Compacted(q.who.Agent) {
		q.reason = chat.Compaction
	}
	q.view = s.path(plan, items, q.tools)
	q.view.renderer = q.renderer
	q.reuse(plan)
	q.ordinal = s.request
	s.request++
	q.earlier = s.forest.Answers(q.at) + s.flying(q.at)
	s.forest.Follow(q.parent)
	return nil, nil, nil
}

// reuse takes what another turn was shown for the same request, so that both differ in nothing but what was sampled.
func (q *asking) reuse(plan forest.Plan) {
	known, ok := q.session.forest.Observed(q.at)
	if !ok || known.Forced != "" || known.Raw || known.Parent >= 0 && known.Parent != plan.Turn {
		return
	}
	q.parent = known.Parent
	q.shown = shown{ids: known.Observation, images: known.Images, root: known.Parent < 0, spliced: known.Spliced}
}

// conversation is the request's, behind the reply that it continues.
func (q *asking) conversation() ([]*chat.Item, chat.Key, *wire.Problem) {
	r := q.request
	items, tools := r.Items, r.ToolsKey
	q.tools = r.Tools
	if r.Options.Choose.Mode == wire.None {
		q.tools, tools = nil, chat.ToolsKey(nil, nil)
	}
	if len(q.variables) > 0 {
		base := chat.Member{Value: chat.String(fmt.Sprintf("%x", tools))}
		tools = chat.ToolsKey(nil, append([]chat.Member{base}, q.variables...))
	}
	switch {
	case len(r.Prompt) >= q.session.gateway.Context():
		return nil, tools, &wire.Problem{Class: wire.Overflow, Tokens: len(r.Prompt), Limit: q.session.gateway.Context()}
	case r.Text != "" || len(r.Prompt) > 0:
		text := r.Text
		if text == "" {
			text = digestOf(r.Prompt)
		}
		raw := chat.Message{Role: "raw", Content: text}
		for _, image := range chat.Images(messages(r.Items)...) {
			raw.Parts = append(raw.Parts, chat.Part{Image: image})
		}
		items = []*chat.Item{chat.NewItem(raw)}
	case r.Previous != "":
		name, _ := wire.TurnOf(r.Previous)
		turn, ok := q.session.forest.Named(name)
		if !ok || !q.session.forest.Turn(turn).Stored {
			return nil, tools, &wire.Problem{Class: wire.Missing, Param: "previous_response_id", Message: fmt.Sprintf("%.60q is not stored here", r.Previous)}
		}
		items = slices.Concat(q.session.forest.Items(q.session.forest.Turn(turn).Point), items)
	}
	if len(r.Prompt) > 0 {
		return items, tools, nil
	}
	return items, tools, q.session.gateway.tooLong(items)
}

// again answers from what was sampled for an equal request.
func (q *asking) again() *Call {
	s := q.session
	if q.request.Options.Choices > 1 {
		return nil
	}
	for _, f := range s.flights {
		if f.at == q.at && f.asked == q.asked && f.attach(q.signal) {
			s.gateway.counts.add(func(c *Counts) { c.Replayed++ })
			return q.call(f)
		}
	}
	verdict, turn := s.forest.Repeat(q.at, q.asked, q.who.Retry)
	if verdict != forest.Replay || q.request.Options.Top > 0 { // alternatives are not kept
		return nil
	}
	s.gateway.counts.add(func(c *Counts) { c.Replayed++ })
	return q.call(s.landed(turn, q))
}

// call wraps flights.
func (q *asking) call(flights ...*flight) *Call {
	q.session.calls.add()
	c := &Call{session: q.session, signal: q.signal, Meta: wire.Meta{Created: time.Now().Unix(), Model: q.request.Model}}
	if name := q.session.gateway.config.Model; name != "" {
		c.Meta.Model = name
	}
	for i, f := range flights {
		m := f.manner
		m.choice, m.report = i, q.request.Options.Logprobs || q.request.Options.TokenIDs
		c.choices = append(c.choices, &choice{flight: f, reading: m.read()})
		c.Meta.Turns = append(c.Meta.Turns, m.name)
	}
	c.Meta.Prompt = len(flights[0].request.Prompt)
	if q.request.Options.TokenIDs {
		c.Meta.IDs = flights[0].request.Prompt
	}
	return c
}

// Count returns the number of tokens of a request's prompt.
func (s *Session) Count(r *wire.Request) (int, *wire.Problem) {
	if p := s.refuses(&wire.Request{Model: r.Model, Items: r.Items}); p != nil {
		return 0, p
	}
	renderer, variables, p := s.gateway.renderer(&r.Options)
	if p != nil {
		return 0, p
	}
	s.mu.Lock()
	q := &asking{session: s, request: r, renderer: renderer, variables: variables}
	items, tools, p := q.conversation()
	if p != nil {
		s.mu.Unlock()
		return 0, p
	}
	plan := s.forest.Plan(tools, items)
	q.parent = plan.Turn
	kept := s.trail
	q.view = s.path(plan, items, q.tools)
	q.view.renderer = q.renderer
	s.trail = kept // a count only looks
	s.mu.Unlock()
	if p := q.render(); p != nil {
		return 0, p
	}
	if q.shown.root {
		return len(q.shown.ids), nil
	}
	return len(q.view.path) + len(q.shown.ids), nil
}
