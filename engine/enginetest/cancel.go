// What happens to a request whose context ends.

package enginetest

import (
	"context"
	"sync"

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

// checkCancelClose closes the engine under requests, which end as if their contexts had.
func checkCancelClose(c *checking) {
	for range 20 {
		aborted := 0
		for _, reply := range c.acrossClose() {
			if reply.Finish == traj.FinishAbort {
				aborted++
			}
		}
		if aborted > 0 {
			return
		}
	}
	c.Errorf("no request was ended by Close")
}

// acrossClose runs requests on a fresh engine, and closes it when the first of them has a token.
func (c *checking) acrossClose() []engine.Reply {
	c.Helper()
	s := c.generator()
	started := make(chan struct{}) // closed by the first token
	var once sync.Once
	replies := make([]engine.Reply, 12)
	failures := make([]error, len(replies))
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() {
			replies[i], failures[i] = s.Generator.Generate(c.ctx, c.request(s, 8+i, c.many(s)-i), func(engine.Token) {
				once.Do(func() { close(started) })
			})
		})
	}
	select {
	case <-started:
	case <-c.ctx.Done():
	}
	err := s.Generator.Close()
	wg.Wait()
	c.noError(err, "closing under requests")
	for i, reply := range replies {
		if failures[i] == nil && reply.Finish != traj.FinishAbort && reply.Finish != traj.FinishLength {
			c.Errorf("closed under a request: finish %q", reply.Finish)
		}
		if failures[i] != nil && len(reply.Tokens) > 0 {
			c.Errorf("closed under a request: error %v instead of what was sampled", failures[i])
		}
	}
	return replies
}
