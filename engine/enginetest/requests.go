// Requests that the checks make, and how their replies are compared.

package enginetest

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"molt/engine"
	"molt/traj"
)

// request asks for n tokens after a prompt of the given length, at temperature 1.
func (c *checking) request(s Subject, length, n int) engine.Request {
	return engine.Request{
		Prompt:   prompt(s.Generator.Capabilities().Vocab, length, 0),
		Sampling: engine.Sampling{Temperature: 1, MaxTokens: n},
		Key:      engine.Key{Seed: 7, Group: 3, Sample: 1},
		Tag:      "enginetest",
	}
}

// mixed lists n different requests: lengths, temperatures and filters vary, and prompts share beginnings of every length.
func (c *checking) mixed(s Subject, n int) []engine.Request {
	caps := s.Generator.Capabilities()
	requests := make([]engine.Request, n)
	for i := range requests {
		r := &requests[i]
		length := min(1+(i*13)%150, caps.MaxTokens-1)
		r.Prompt = prompt(caps.Vocab, length, 0)
		if tail := prompt(caps.Vocab, length/4, i%3); i%2 == 1 {
			copy(r.Prompt[length-len(tail):], tail)
		}
		r.Sampling = engine.Sampling{
			Temperature: []float32{1, 0.5, 0, 1.5}[i%4],
			TopK:        []int{0, 5}[i/4%2],
			TopP:        []float32{0, 0.9, 1}[i/2%3],
			MinP:        []float32{0, 0.05}[i/8%2],
			MaxTokens:   min(1+(i*5)%23, caps.MaxTokens-length),
		}
		r.Key = engine.Key{Seed: 1, Group: int64(i / 4), Sample: int32(i % 4)}
		r.Session = fmt.Sprint("session ", i/4)
		r.Tag = fmt.Sprint("request ", i)
	}
	return requests
}

// prompt makes ids that repeat with no short period; another salt gives another prompt.
func prompt(vocab, n, salt int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32((i*i*7 + i*(31+salt) + salt*5 + 1) % vocab)
	}
	return p
}

func (c *checking) generate(s Subject, r engine.Request) engine.Reply {
	c.Helper()
	reply, err := s.Generator.Generate(c.ctx, r, nil)
	c.noError(err, "generating "+r.Tag)
	return reply
}

// generateAll runs the requests at once, and waits for all of them.
func (c *checking) generateAll(s Subject, requests []engine.Request) []engine.Reply {
	c.Helper()
	replies := make([]engine.Reply, len(requests))
	failures := make([]error, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() { replies[i], failures[i] = s.Generator.Generate(c.ctx, r, nil) })
	}
	wg.Wait()
	c.noError(errors.Join(failures...), "generating at once")
	return replies
}

// sameTokens demands equal ids, log-prob bits, versions, finish and fingerprint.
func (c *checking) sameTokens(what string, got, want engine.Reply) {
	c.Helper()
	if got.Finish != want.Finish || got.Fingerprint != want.Fingerprint {
		c.Errorf("%s: finish %q, fingerprint %q; want %q, %q", what, got.Finish, got.Fingerprint, want.Finish, want.Fingerprint)
	}
	for i := range min(len(got.Tokens), len(want.Tokens)) {
		g, w := got.Tokens[i], want.Tokens[i]
		if g.ID != w.ID || g.Version != w.Version || math.Float32bits(g.Logp) != math.Float32bits(w.Logp) {
			c.Errorf("%s: token %d is %+v; want %+v", what, i, g, w)
			return
		}
	}
	if len(got.Tokens) != len(want.Tokens) {
		c.Errorf("%s: %d tokens; want %d", what, len(got.Tokens), len(want.Tokens))
	}
}

// cut is the reply as it would be after n tokens.
func cut(r engine.Reply, n int, finish traj.Finish) engine.Reply {
	r.Tokens = r.Tokens[:n]
	r.Finish = finish
	return r
}

// firstRun is the number of tokens up to the end of the run's first occurrence.
func firstRun(r engine.Reply, run []int32) int {
	sampled := ids(r)
	for end := len(run); end <= len(sampled); end++ {
		if equalIDs(sampled[end-len(run):end], run) {
			return end
		}
	}
	return len(sampled)
}

func equalIDs(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func ids(r engine.Reply) []int32 {
	sampled := make([]int32, len(r.Tokens))
	for i, t := range r.Tokens {
		sampled[i] = t.ID
	}
	return sampled
}

func everyID(s Subject) []int32 {
	every := make([]int32, s.Generator.Capabilities().Vocab)
	for i := range every {
		every[i] = int32(i)
	}
	return every
}
