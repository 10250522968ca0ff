// Sessions of agents in this process. There is one conversation, which only goes on, and nobody who could guess a name: so
// turns are named by their ordinal and draw the random numbers of it, whatever was said before them.

package capture

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"molt/chat"
	"molt/engine"
	"molt/gateway/wire"
	"molt/traj"
)

// Lone is what such a session chooses.
type Lone struct {
	Sampling engine.Sampling // of its turns; those who resample change it between two of them
}

// name is that of a lone session.
func (o *Options) name() string {
	return fmt.Sprintf("group %d sample %d attempt %d", o.Group, o.Sample, o.Attempt)
}

// sampling is the run's for this session.
func (s *Session) sampling() engine.Sampling {
	if s.Options.Lone != nil {
		return s.Options.Lone.Sampling
	}
	return s.gateway.config.Sampling
}

// ordinal names the next turn of a lone session, and says which numbers it draws. The caller holds the lock.
func (s *Session) ordinal() (name string, turn int32) {
	turn = int32(s.forest.Turns())
	return fmt.Sprintf("t%03d", turn), turn
}

// tag is what the engine calls a turn in its errors.
func (s *Session) tag(request int64, choice int) string {
	if s.Options.Lone != nil {
		return s.ID
	}
	return fmt.Sprintf("session %s request %d choice %d", s.ID, request, choice)
}

// Said is a reply as it was sampled.
type Said struct {
	Item      *chat.Item
	Sampled   []int32
	Finish    traj.Finish
	Malformed int // what looked like a call and was none
}

// Said waits for the only reply of a call, and ends the call. When ctx ends, so does the turn.
func (c *Call) Said(ctx context.Context) (Said, *wire.Problem) {
	k := c.choices[0]
	f := k.flight
	f.hush()
	select {
	case <-f.done:
	case <-ctx.Done():
		f.cancel()
		<-f.done
	}
	k.closed = f.failed == nil
	c.Close(true)
	if f.failed != nil {
		return Said{}, f.failed
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	t := c.session.forest.Turn(f.index)
	return Said{t.Item, t.Sampled, t.Finish, f.malformed}, nil
}

// digestOf names ids.
func digestOf(ids []int32) string {
	h := sha256.New()
	var word [4]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint32(word[:], uint32(id))
		h.Write(word[:])
	}
	return fmt.Sprintf("ids %x", h.Sum(nil))
}
