// What a WeightSink promises about the weights that a Generator samples with.

package enginetest

import (
	"errors"
	"slices"
	"sync"

	"molt/engine"
	"molt/traj"
)

var sinkChecks = []Check{
	{"Sink/Publish", checkPublish},
	{"Sink/OwnWeights", checkOwnWeights},
	{"Sink/FreshKV", checkFreshKV},
	{"Sink/MidRequest", checkMidRequest},
	{"Sink/RefusesWrong", checkRefusesWrong},
}

func checkPublish(c *checking) {
	s := c.both()
	before := c.generate(s, c.request(s, 70, 12))
	c.train(s)
	w := c.weights(s)
	c.noError(s.Sink.Publish(c.ctx, w), "publishing")
	if v, f := s.Sink.Serving(); v != w.Version || f != w.Fingerprint {
		c.Errorf("serving version %d, fingerprint %q; published %d, %q", v, f, w.Version, w.Fingerprint)
	}
	after := c.generate(s, c.request(s, 70, 12))
	for i, t := range after.Tokens {
		if t.Version != w.Version {
			c.Errorf("version %d of token %d; published %d", t.Version, i, w.Version)
		}
	}
	if after.Fingerprint != w.Fingerprint || after.Fingerprint == before.Fingerprint {
		c.Errorf("fingerprint %q of the reply, %q before; published %q", after.Fingerprint, before.Fingerprint, w.Fingerprint)
	}
	if slices.EqualFunc(before.Tokens, after.Tokens, func(a, b engine.Token) bool { return a.Logp == b.Logp }) {
		c.Errorf("other weights gave the same log-probs")
	}
}

// checkOwnWeights publishes the learner's own memory and trains on while requests run: what was published stays as it was.
func checkOwnWeights(c *checking) {
	s := c.both()
	w, err := s.Learner.Weights(c.ctx)
	c.noError(err, "reading the weights")
	c.noError(s.Sink.Publish(c.ctx, w), "publishing")
	r := c.request(s, 40, 20)
	want := c.generate(s, r)
	beside := make(chan error, 1) // one send by the goroutine below
	go func() {
		var failure error
		for range 4 {
			_, err := s.Generator.Generate(c.ctx, r, nil)
			failure = errors.Join(failure, err)
		}
		beside <- failure
	}()
	c.train(s)
	c.train(s)
	c.noError(<-beside, "generating while the learner trains")
	if got := c.generate(s, r); s.Generator.Capabilities().Deterministic {
		c.sameTokens("after steps of the learner that were not published", got, want)
	}
}

// checkFreshKV fills the cache under one version and asks for the same prompt under the next: the reply is that of an
// engine that never saw the first.
func checkFreshKV(c *checking) {
	s := c.both()
	r := c.request(s, 150, 10)
	r.Session = "session"
	first := c.generate(s, r)
	r.Prompt = append(append(r.Prompt, ids(first)...), prompt(s.Generator.Capabilities().Vocab, 9, 2)...)
	c.generate(s, r)

	c.train(s)
	w := c.weights(s)
	c.noError(s.Sink.Publish(c.ctx, w), "publishing")
	got := c.generate(s, r)
	if got.Cached != 0 {
		c.Errorf("KV of %d ids was reused although the weights changed", got.Cached)
	}
	fresh := c.both()
	c.noError(fresh.Sink.Publish(c.ctx, w), "publishing")
	if want := c.generate(fresh, r); s.Generator.Capabilities().Deterministic {
		c.sameTokens("after a publish, with and without older KV", got, want)
	}
}

// checkMidRequest publishes while requests run. Versions along a reply never go back, and each token's log-prob is that
// of the version it claims, computed from nothing.
func checkMidRequest(c *checking) {
	old, s := c.both(), c.both()
	c.need(s.Generator.Capabilities().Versions, "a version on every token")
	c.train(s)
	w := c.weights(s)
	start, _ := old.Sink.Serving()
	learners := map[traj.Version]Subject{start: old, w.Version: s}
	for attempt := range 50 {
		mixed := false
		for _, r := range c.acrossPublish(attempt, w) {
			mixed = mixed || r.reply.Tokens[0].Version != r.reply.Tokens[len(r.reply.Tokens)-1].Version
			c.versionsAscend(r.reply, start, w)
			c.scoredBy(learners, r.request, r.reply)
		}
		if mixed {
			return
		}
	}
	c.Skipf("every request ended before the publish arrived")
}

type exchange struct {
	request engine.Request
	reply   engine.Reply
}

// acrossPublish runs requests on a fresh engine, and publishes w when the first of them has sampled a few tokens.
func (c *checking) acrossPublish(salt int, w engine.Weights) []exchange {
	c.Helper()
	s := c.both()
	started := make(chan struct{})
	var once sync.Once
	exchanges := make([]exchange, 6)
	failures := make(chan error, len(exchanges)) // one send by each request below
	for i := range exchanges {
		r := c.request(s, 30+20*i, 1)
		r.Sampling.MaxTokens = min(200, s.Generator.Capabilities().MaxTokens-len(r.Prompt))
		r.Key = engine.Key{Seed: uint64(salt), Sample: int32(i)}
		go func() {
			seen := 0
			reply, err := s.Generator.Generate(c.ctx, r, func(engine.Token) {
				if seen++; seen == 4 {
					once.Do(func() { close(started) })
				}
			})
			exchanges[i] = exchange{r, reply}
			failures <- err
		}()
	}
	select {
	case <-started:
	case <-c.ctx.Done():
	}
	err := s.Sink.Publish(c.ctx, w)
	for range exchanges {
		c.noErrorLater(<-failures, &err)
	}
	c.noError(err, "generating across a publish")
	return exchanges
}

// noErrorLater keeps the first error, for when every goroutine has been waited for.
func (c *checking) noErrorLater(err error, first *error) {
	if *first == nil {
		*first = err
	}
}

func (c *checking) versionsAscend(reply engine.Reply, start traj.Version, w engine.Weights) {
	c.Helper()
	last := start
	for i, t := range reply.Tokens {
		if t.Version != last && t.Version != w.Version {
			c.Fatalf("token %d has version %d after %d; the engine served %d, then %d", i, t.Version, last, start, w.Version)
		}
		last = t.Version
	}
	if last == w.Version && reply.Fingerprint != w.Fingerprint {
		c.Errorf("fingerprint %q; the last token was sampled by %q", reply.Fingerprint, w.Fingerprint)
	}
}

// scoredBy recomputes each token's log-prob by the learner that holds the token's version.
func (c *checking) scoredBy(learners map[traj.Version]Subject, r engine.Request, reply engine.Reply) {
	c.Helper()
	for version, s := range learners {
		logp := c.score(s, r, reply)
		for i, t := range reply.Tokens {
			if t.Version == version && !within(t.Logp, logp[i], s.Tolerance) {
				c.Fatalf("token %d claims version %d with log-prob %v; that version gives %v", i, version, t.Logp, logp[i])
			}
		}
	}
}

// checkRefusesWrong publishes weights that the engine cannot serve: it refuses, and serves on as before.
func checkRefusesWrong(c *checking) {
	s := c.both()
	r := c.request(s, 20, 8)
	want := c.generate(s, r)
	version, fingerprint := s.Sink.Serving()
	c.train(s)
	for what, spoil := range map[string]func(*engine.Weights){
		"a missing tensor":    func(w *engine.Weights) { *changing(w) = (*changing(w))[1:] },
		"an unknown tensor":   func(w *engine.Weights) { (*changing(w))[0].Name = "enginetest.unknown" },
		"a tensor cut short":  func(w *engine.Weights) { t := &(*changing(w))[0]; t.Data = t.Data[1:] },
		"a wrong shape":       func(w *engine.Weights) { t := &(*changing(w))[0]; t.Shape = []int{len(t.Data) / 2, 2, 1, 1} },
		"a wrong fingerprint": func(w *engine.Weights) { w.Fingerprint = "another" },
		"a lost adapter":      func(w *engine.Weights) { w.Adapter = nil },
		"another base":        func(w *engine.Weights) { w.Adapter.Base = "another" },
	} {
		w := c.weights(s)
		if w.Adapter == nil && (what == "a lost adapter" || what == "another base") {
			continue
		}
		spoil(&w)
		if s.Fingerprint != nil && what != "a wrong fingerprint" && what != "a lost adapter" {
			w.Fingerprint = s.Fingerprint(w)
		}
		if err := s.Sink.Publish(c.ctx, w); err == nil {
			c.Errorf("weights with %s were published", what)
		}
		if v, f := s.Sink.Serving(); v != version || f != fingerprint {
			c.Errorf("after refusing weights with %s: serving version %d, %q; want %d, %q", what, v, f, version, fingerprint)
		}
	}
	if got := c.generate(s, r); s.Generator.Capabilities().Deterministic {
		c.sameTokens("after refused weights", got, want)
	}
}

// changing are the tensors that a learner changes.
func changing(w *engine.Weights) *[]engine.Tensor {
	if w.Adapter != nil {
		return &w.Adapter.Tensors
	}
	return &w.Tensors
}
