// A request while it is answered: what the one who streams it sees.

package capture

import (
	"context"
	"time"

	"molt/gateway/wire"
)

// Call is a request that is being answered. It is for one goroutine, which must end it with Close.
type Call struct {
	Meta    wire.Meta
	session *Session
	choices []*choice
	signal  chan struct{}
	whole   bool // nothing is written before everything has come
}

// choice is one of the replies.
type choice struct {
	flight  *flight
	reading *reading
	read    int // tokens
	closed  bool
}

// Next returns the deltas that have come since, waiting for one at least; nothing when the reply is complete, and one that is
// Idle at a tick. That it is called again says that what it returned before was written. A problem ends the reply.
func (c *Call) Next(ctx context.Context, tick <-chan time.Time) ([]wire.Delta, *wire.Problem) {
	for _, k := range c.choices {
		if !c.whole {
			k.flight.ack(k.read)
		}
	}
	for {
		var deltas []wire.Delta
		open := false
		for _, k := range c.choices {
			if k.closed {
				continue
			}
			more, problem := k.next()
			if problem != nil && len(deltas) == 0 {
				return nil, problem
			}
			deltas = append(deltas, more...)
			open = open || !k.closed
		}
		if len(deltas) > 0 || !open {
			return deltas, nil
		}
		select {
		case <-c.signal:
		case <-tick:
			return []wire.Delta{{Kind: wire.Idle}}, nil
		case <-ctx.Done():
			return nil, &wire.Problem{Class: wire.Expired, Message: "the client is gone"}
		}
	}
}

func (k *choice) next() ([]wire.Delta, *wire.Problem) {
	tokens, over := k.flight.more(k.read)
	var deltas []wire.Delta
	for _, t := range tokens {
		deltas = append(deltas, k.reading.push(t)...)
		k.read++
	}
	if k.reading.over && !over {
		k.flight.cancel() // it has said all that its client wants to hear
		return deltas, nil
	}
	if !over {
		return deltas, nil
	}
	if k.flight.failed != nil {
		if len(deltas) > 0 {
			return deltas, nil
		}
		return nil, k.flight.failed
	}
	k.closed = true
	return append(deltas, k.reading.close()...), nil
}

// Ends returns how each choice ended. The reply must be complete.
func (c *Call) Ends() []wire.End {
	ends := make([]wire.End, len(c.choices))
	for i, k := range c.choices {
		ends[i] = k.flight.end
	}
	return ends
}

// Whole waits for the whole reply.
func (c *Call) Whole(ctx context.Context) (*wire.Reply, *wire.Problem) {
	c.whole = true
	for _, k := range c.choices {
		k.flight.hush()
	}
	reply := &wire.Reply{Meta: c.Meta, Choices: make([]wire.Chosen, len(c.choices))}
	for {
		deltas, problem := c.Next(ctx, nil)
		if problem != nil {
			return nil, problem
		}
		if len(deltas) == 0 {
			break
		}
		for _, d := range deltas {
			reply.Choices[d.Choice].Add(d)
		}
	}
	for i, e := range c.Ends() {
		reply.Choices[i].End = e
	}
	return reply, nil
}

// Close ends the call. delivered says that the client has all of the reply.
func (c *Call) Close(delivered bool) {
	for _, k := range c.choices {
		k.flight.leave()
		if delivered && k.closed {
			k.flight.session.deliver(k.flight)
		}
	}
	c.session.calls.done()
}
