// Changes of the forest, each written to the journal. The caller of every method here holds the session's lock, or takes it
// where the comment says so.

package capture

import (
	"errors"
	"fmt"
	"slices"

	"molt/chat"
	"molt/engine"
	"molt/gateway/forest"
	"molt/gateway/wire"
)

// enter records a conversation behind a point.
func (s *Session) enter(from int32, tools chat.Key, items []*chat.Item) int32 {
	if len(items) > 0 || from < 0 {
		s.noteEnter(from, tools, items)
	}
	s.keep(size(items))
	return s.forest.Enter(from, tools, items)
}

// cut ends a turn where its client's copy ends.
func (s *Session) cut(c forest.Cut) {
	before := len(s.forest.Turn(c.Turn).Sampled)
	s.journal.Write(record{Cut: &c}, false)
	s.forest.Cut(c)
	s.trail.ids = nil
	s.used -= before - len(s.forest.Turn(c.Turn).Sampled)
	s.gateway.counts.add(func(k *Counts) { k.Cut++ })
}

// commit adds a landed flight's turn, which is not on disk yet. It takes the lock.
func (s *Session) commit(f *flight) (int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(f)
	s.used += len(f.turn.Sampled)
	s.keep(turnSize(&f.turn))
	index := s.forest.Commit(f.turn, s.handles(&f.turn)...)
	s.journal.Write(record{Turn: keep(&f.turn)}, false)
	if !s.forest.Follows(index, f.request.Prompt) {
		s.met = fmt.Errorf("capture: session %s: turn %d is not what the engine was given: %w", s.ID, index, errIdentity)
		return index, s.met
	}
	s.leave(index, f.request.Prompt, f.turn.Sampled)
	if errors.Is(s.met, chat.ErrInfrastructure) {
		s.met = nil
	}
	return index, nil
}

// handles are the names of a turn's calls; its other names contain its own.
func (s *Session) handles(t *forest.Turn) []string {
	var names []string
	for _, c := range t.Item.Message.ToolCalls {
		names = append(names, c.ID)
	}
	return names
}

// drop forgets a flight that sampled nothing to keep. It takes the lock.
func (s *Session) drop(f *flight, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(f)
	s.forest.Unfollow(f.turn.Parent)
	s.used -= len(f.turn.Observation)
	if err != nil && s.ctx.Err() == nil && !errors.Is(err, engine.ErrTooLong) {
		s.met = fmt.Errorf("capture: session %s: %w: %w", s.ID, chat.ErrInfrastructure, err)
	}
}

// settle takes a flight off the list.
func (s *Session) settle(f *flight) {
	if i := slices.Index(s.flights, f); i >= 0 {
		s.flights = slices.Delete(s.flights, i, i+1)
	}
}

// deliver says that a turn's client has all of it. It takes the lock.
func (s *Session) deliver(f *flight) {
	f.mu.Lock()
	index := f.index
	f.mu.Unlock()
	if index < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forest.Turn(index).State != forest.Delivered {
		s.journal.Write(record{Delivered: &index}, false)
		s.forest.Deliver(index, forest.Delivered)
	}
}

// unplace takes back what place did. It takes the lock.
func (s *Session) unplace(q *asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forest.Unfollow(q.parent)
}

// flying counts the turns that are being sampled for a point.
func (s *Session) flying(at int32) int {
	n := 0
	for _, f := range s.flights {
		n += int(one(f.at == at))
	}
	return n
}

// orphan finds a turn that is being sampled for a client that is gone, when a request goes on behind the point that it
// answers: the request shows what that client had of it.
func (s *Session) orphan(p forest.Plan, items []*chat.Item) *flight {
	if p.Matched == len(items) || items[p.Matched].Message.Role != chat.Assistant {
		return nil
	}
	for _, f := range s.flights {
		f.mu.Lock()
		alone := f.at == p.Point && !f.reader
		f.mu.Unlock()
		if alone {
			return f
		}
	}
	return nil
}

// landed makes a flight of a turn that was sampled before.
func (s *Session) landed(index int32, q *asking) *flight {
	t := s.forest.Turn(index)
	f := &flight{session: s, at: t.At, asked: t.Asked, index: index, over: true, cancel: func() {}, reader: true, done: make(chan struct{})}
	close(f.done)
	prompt := s.forest.IDs(index, 0)
	prompt = prompt[:len(prompt)-len(t.Sampled)]
	f.request = engine.Request{Prompt: prompt}
	f.manner = s.manner(t.Name, prompt, t.Forced, q.tools, q.request)
	for i, id := range t.Sampled {
		f.tokens = append(f.tokens, engine.Token{ID: id, Logp: t.Logp[i], Version: t.Version[i]})
	}
	r := f.manner.read()
	for _, k := range f.tokens {
		r.push(k)
	}
	r.close()
	f.end = wire.End{Finish: t.Finish, Stop: t.Stop, Sampled: len(t.Sampled), Reasoning: r.outcome().reasoning, Cached: t.Cached}
	return f
}

// count adds a turn to what the gateway has seen.
func (s *Session) count(f *flight, index int32, r *reading, found outcome) {
	segments := one(f.turn.Parent < 0 && index > 0)
	s.gateway.counts.add(func(c *Counts) {
		c.Turns++
		c.Offered += one(f.turn.Tools)
		c.Calls += int64(len(r.said.ToolCalls))
		c.Malformed += int64(found.malformed)
		c.Ignored += int64(found.ignored)
		c.Unclosed += one(found.unclosed)
		c.Masked += int64(f.masked)
		c.Rewrites += one(f.rewrote)
		c.Segments += segments
		c.Spliced += int64(len(f.turn.Spliced))
	})
}

// errIdentity is a fault of this room.
var errIdentity = errors.New("token identity is broken")
