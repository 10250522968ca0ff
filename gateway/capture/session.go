// A session is one rollout's conversations with the policy. Its requests run at the same time: the forest is locked while a
// request is placed in it and while a turn is added, never while anything is rendered or sampled.

package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"molt/chat"
	"molt/gateway/forest"
	"molt/gateway/wire"
	"molt/internal/chained"
	"molt/traj"
)

// opened is what a session is opened with.
type opened struct {
	ID      string  `json:"id"`
	Key     string  `json:"key"`
	Created int64   `json:"created"` // seconds since 1970
	Expires int64   `json:"expires"`
	Options Options `json:"options"`
}

// Session captures one rollout. It is safe for concurrent use.
type Session struct {
	opened
	gateway *Gateway
	journal *chained.File   // nil without a folder
	ctx     context.Context // ends with the session
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // flights
	calls   tally          // requests that are being answered
	tail    string         // what is wrong with the end of the journal that it was restored from; "" for nothing

	mu      sync.Mutex // guards what follows
	forest  *forest.Forest
	images  map[string]*chat.Image // by digest: images.go
	flights []*flight
	trail   trail
	request int64 // ordinal of the next one
	used    int   // tokens, shown and sampled
	kept    int   // bytes
	met     error // the worst that happened: see Err
	closed  bool
}

func (g *Gateway) session(o opened) *Session {
	s := &Session{opened: o, gateway: g, forest: forest.New(), images: map[string]*chat.Image{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

func (s *Session) expired(now time.Time) bool { return now.Unix() >= s.Expires }

// Seen remembers what was parsed of requests.
func (s *Session) Seen() *wire.Seen { return &s.gateway.seen }

// budget is the most tokens of the session; 0 sets no bound.
func (s *Session) budget() int {
	if s.Options.MaxTokens > 0 {
		return s.Options.MaxTokens
	}
	return s.gateway.config.MaxTokens
}

// Nodes returns what was captured, parents first.
func (s *Session) Nodes() []traj.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes()
}

// nodes returns the turns, their images with their bytes. The caller holds the lock.
func (s *Session) nodes() []traj.Node {
	nodes := s.forest.Nodes()
	for i := range nodes {
		s.develop(nodes[i].Images)
	}
	return nodes
}

// Err is what the session met: an error that is chat.ErrBudget when its tokens are used up, chat.ErrInfrastructure when
// an engine failed and nothing was sampled since; nil otherwise.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}

// Piece returns a part of an earlier reply by the name that a client was given for it.
func (s *Session) Piece(handle string) (chat.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := wire.TurnOf(handle)
	if !ok {
		return chat.Message{}, false
	}
	turn, ok := s.forest.Named(name)
	if !ok || !s.forest.Turn(turn).Stored {
		return chat.Message{}, false
	}
	return piece(s.forest.Turn(turn).Item.Message, handle)
}

// piece picks what an item of a reply said, by the prefix and the number of its name.
func piece(said chat.Message, handle string) (chat.Message, bool) {
	m := chat.Message{Role: chat.Assistant}
	index := 0
	if _, err := fmt.Sscanf(lastField(handle), "%d", &index); err != nil {
		return m, false
	}
	switch prefix(handle) {
	case "rs":
		m.Reasoning = said.Reasoning
	case "msg":
		m.Content = said.Content
	case "fc", "ctc":
		call := index - int(one(said.Reasoning != "")) - int(one(said.Content != ""))
		if call < 0 || call >= len(said.ToolCalls) {
			return m, false
		}
		m.ToolCalls = said.ToolCalls[call : call+1]
	default:
		return m, false
	}
	return m, true
}

// Close ends the session and every turn in it, and forgets it.
func (s *Session) Close() error {
	s.gateway.forget(s)
	return s.end(true)
}

var errClosed = errors.New("the session is closed")

// end stops all turns and waits for them. With remove, the journal goes too.
func (s *Session) end(remove bool) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(errClosed)
	s.running.Wait()
	s.calls.wait(lastWrites) // a client that has its reply may be faster than the note that it has
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(-s.kept)
	return s.put(remove)
}

// put ends what is on disk, or removes it.
func (s *Session) put(remove bool) error {
	if remove {
		return errors.Join(s.journal.Remove(), s.album().remove())
	}
	return s.journal.Close()
}

// Attended reports whether any turn that is being sampled has a client.
func (s *Session) Attended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.flights {
		f.mu.Lock()
		attended := f.reader
		f.mu.Unlock()
		if attended {
			return true
		}
	}
	return false
}
