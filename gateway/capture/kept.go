// What sessions keep in memory, and how much that may be: their clients run what the policy writes.

package capture

import (
	"fmt"

	"molt/chat"
	"molt/gateway/forest"
	"molt/gateway/wire"
)

// maxKept is the most bytes that one session keeps.
const maxKept = 256 << 20

// keep counts bytes that the session keeps from now on. The caller holds the lock.
func (s *Session) keep(bytes int) {
	s.kept += bytes
	s.gateway.kept.Add(int64(bytes))
}

// crowded says that there is no room for so many bytes more. For one session there never will be; for all of them there is
// when others end. The caller holds the lock.
func (s *Session) crowded(more int) *wire.Problem {
	if s.kept+more > maxKept {
		return wire.Badf("", "the session keeps %d bytes, the most that it may", s.kept)
	}
	if s.gateway.full(more) {
		s.met = fmt.Errorf("capture: session %s: %w: %w", s.ID, ErrFull, chat.ErrInfrastructure)
		return &wire.Problem{Class: wire.Limited, Message: ErrFull.Error(), Retry: 5}
	}
	return nil
}

// full reports whether the sessions together have no room for so many bytes more.
func (g *Gateway) full(more int) bool { return g.kept.Load()+int64(more) >= g.config.Memory }

// size estimates what items weigh.
func size(items []*chat.Item) int {
	n := 0
	for _, item := range items {
		m := &item.Message
		n += 256 + len(m.Content) + len(m.Reasoning) + len(m.ToolCallID) + len(m.Name)
		for _, c := range m.ToolCalls {
			n += 64 + len(c.ID) + len(c.Name) + len(c.Arguments.String())
		}
		for _, p := range m.Parts {
			n += 64 + len(p.Text)
		}
		for _, h := range item.Handles {
			n += 16 + len(h)
		}
	}
	return n
}

// turnSize estimates what a turn weighs: its ids twice, as the newest path is kept in one piece, log-probs and versions.
func turnSize(t *forest.Turn) int {
	return 512 + len(t.Asked) + 8*len(t.Observation) + 20*len(t.Sampled) + size([]*chat.Item{t.Item})
}
