// The promise that on-policy training rests on: the log-probs with which tokens were sampled are those that the learner
// computes for them.

package enginetest

import (
	"fmt"
	"slices"

	"molt/engine"
)

var agreeChecks = []Check{
	{"Agree/Batch", checkAgreeBatch},
	{"Agree/Session", checkAgreeSession},
	{"Agree/AfterStep", checkAgreeAfterStep},
}

func checkAgreeBatch(c *checking) {
	s := c.both()
	requests := c.mixed(s, 32)
	for i, reply := range c.generateAll(s, requests) {
		c.agree(fmt.Sprintf("request %d of 32 at once", i), s, requests[i], reply)
	}
}

// checkAgreeSession extends four sessions of one prompt turn by turn, so that prompts come more and more from a cache.
func checkAgreeSession(c *checking) {
	s := c.both()
	caps := s.Generator.Capabilities()
	requests := make([]engine.Request, 4)
	for i := range requests {
		requests[i] = c.request(s, 90, 7)
		requests[i].Session = fmt.Sprint("session ", i)
		requests[i].Key.Sample = int32(i)
	}
	for turn := range 6 {
		for i, reply := range c.generateAll(s, requests) {
			r := &requests[i]
			c.agree(fmt.Sprintf("session %d turn %d", i, turn), s, *r, reply)
			if reply.Cached > len(r.Prompt) {
				c.Errorf("%d ids of a prompt of %d came from a cache", reply.Cached, len(r.Prompt))
			}
			observation := prompt(caps.Vocab, 3+11*turn, i)
			r.Prompt = slices.Concat(r.Prompt, ids(reply), observation)
			r.Key.Turn++
			if len(r.Prompt)+r.Sampling.MaxTokens > caps.MaxTokens {
				return
			}
		}
	}
}

func checkAgreeAfterStep(c *checking) {
	s := c.both()
	for range 3 {
		c.train(s)
		c.noError(s.Sink.Publish(c.ctx, c.weights(s)), "publishing")
		r := c.request(s, 40, 20)
		c.agree("after a step and a publish", s, r, c.generate(s, r))
	}
}

func (c *checking) agree(what string, s Subject, r engine.Request, reply engine.Reply) {
	c.Helper()
	logp := c.score(s, r, reply)
	for i, t := range reply.Tokens {
		if !within(t.Logp, logp[i], s.Tolerance) {
			c.Errorf("%s: log-prob %v of sampled token %d; the learner computes %v", what, t.Logp, i, logp[i])
			return
		}
	}
}
