// What happens to a request whose context ends.

package enginetest

import (
	"context"

	"molt/engine"
	"molt/traj"
)

var cancelChecks = []Check{
	{"Cancel/Midway", checkCancelMidway},
	{"Cancel/Before", checkCancelBefore},
	{"Cancel/Neighbours", checkCancelNeighbours},
	{"Cancel/Close", checkCancelClose},
}

// many is a budget that an engine does not use up while a cancellation is on its way.
func (c *checking) many(s Subject) int {
	return min(2000, s.Generator.Capabilities().MaxTokens-8)
}

func checkCancelMidway(c *checking) {
	s := c.generator()
	r := c.request(s, 8, c.many(s))
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	seen := 0
	reply, err := s.Generator.Generate(ctx, r, func(engine.Token) {
		if seen++; seen == 3 {
			cancel()
		}
	})
	c.noError(err, "a cancelled Generate")
	if reply.Finish != traj.FinishAbort || len(reply.Tokens) < 3 || len(reply.Tokens) >= r.Sampling.MaxTokens {
		c.Errorf("cancelled at token 3 of %d: %d tokens, finish %q; want some, %q", r.Sampling.MaxTokens, len(reply.Tokens), reply.Finish, traj.FinishAbort)
	}
	if seen != len(reply.Tokens) {
		c.Errorf("%d tokens emitted, %d in the reply", seen, len(reply.Tokens))
	}
	if reply.Fingerprint == "" {
		c.Errorf("a cancelled reply with tokens has no fingerprint")
	}
	if s.Generator.Capabilities().Deterministic {
		r.Sampling.MaxTokens = len(reply.Tokens)
		c.sameTokens("sampled until the cancellation", reply, cut(c.generate(s, r), len(reply.Tokens), traj.FinishAbort))
	}
}

func checkCancelBefore(c *checking) {
	s := c.generator()
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	reply, err := s.Generator.Generate(ctx, c.request(s, 8, c.many(s)), nil)
	c.noError(err, "Generate under a context that had ended")
	if reply.Finish != traj.FinishAbort {
		c.Errorf("under a context that had ended: finish %q; want %q", reply.Finish, traj.FinishAbort)
	}
}

// checkCancelNeighbours cancels every other request of a batch: the rest must not notice.
func checkCancelNeighbours(c *checking) {
	s := c.generator()
	kept, dropped := c.mixed(s, 12), c.mixed(s, 12)
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan error, len(dropped)) // one send by each request below
	for i := range dropped {
		dropped[i].Sampling.MaxTokens = s.Generator.Capabilities().MaxTokens - len(dropped[i].Prompt)
		go func() {
			_, err := s.Generator.Generate(ctx, dropped[i], func(engine.Token) { cancel() })
			done <- err
		}()
	}
	replies := c.generateAll(s, kept)
	cancel()
	for range dropped {
		c.noError(<-done, "a cancelled Generate")
	}
	for i, reply := range replies {
		if len(reply.Tokens) != kept[i].Sampling.MaxTokens || reply.Finish != traj.FinishLength {
			c.Errorf("beside cancelled requests: %d tokens, finish %q; want %d, %q", len(reply.Tokens), reply.Finish, kept[i].Sampling.MaxTokens, traj.FinishLength)
		}
		if s.Generator.Capabilities().Deterministic {
			c.sameTokens("beside cancelled requests", reply, c.generate(s, kept[i]))
		}
	}
}

// checkCancelClose closes the engine under a request, which ends as if its context had.
func checkCancelClose(c *checking) {
	s := c.generator()
	r := c.request(s, 8, c.many(s))
	started := make(chan struct{}) // closed by the first token
	closed := make(chan error, 1)  // one send by the goroutine below
	go func() {
		<-started
		closed <- s.Generator.Close()
	}()
	seen := 0
	reply, err := s.Generator.Generate(c.ctx, r, func(engine.Token) {
		if seen++; seen == 1 {
			close(started)
		}
	})
	if seen == 0 {
		close(started)
	}
	c.noError(<-closed, "closing under a request")
	c.noError(err, "a Generate under which the engine was closed")
	if reply.Finish != traj.FinishAbort || len(reply.Tokens) != seen || seen == r.Sampling.MaxTokens {
		c.Errorf("closed under a request: %d tokens, %d emitted, finish %q; want %q", len(reply.Tokens), seen, reply.Finish, traj.FinishAbort)
	}
}
