// Which ids a Generator may choose, and how often.

package enginetest

import (
	"math"

	"molt/engine"
	"molt/traj"
)

var samplingChecks = []Check{
	{"Sampling/Greedy", checkGreedy},
	{"Sampling/GreedyTie", checkGreedyTie},
	{"Sampling/Narrowest", checkNarrowest},
	{"Sampling/Filters", checkFilters},
	{"Sampling/Frequencies", checkFrequencies},
}

// checkGreedy demands that the most likely id is taken: no sample of the first token has a larger log-prob.
func checkGreedy(c *checking) {
	s := c.generator()
	r := c.request(s, 6, 1)
	r.Sampling.Temperature = 0
	greedy := c.generate(s, r).Tokens[0]
	if again := c.generate(s, r).Tokens[0]; again.ID != greedy.ID {
		c.Errorf("greedy decoding took id %d, then %d", greedy.ID, again.ID)
	}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1}, 64) {
		if t.ID != greedy.ID && t.Logp > greedy.Logp+float32(s.Tolerance) {
			c.Errorf("greedy decoding took id %d with log-prob %v; id %d has %v", greedy.ID, greedy.Logp, t.ID, t.Logp)
		}
	}
}

// checkGreedyTie publishes weights of zeros, under which all ids are equally likely: greedy decoding takes id 0, and its
// log-prob is that of one among all.
func checkGreedyTie(c *checking) {
	s := c.both()
	c.need(s.Fingerprint != nil, "Fingerprint, to make weights")
	w := c.weights(s)
	for i := range w.Tensors {
		clear(w.Tensors[i].Data)
	}
	w.Version++
	w.Adapter = nil
	w.Fingerprint = s.Fingerprint(w)
	c.noError(s.Sink.Publish(c.ctx, w), "publishing zeros")
	r := c.request(s, 6, 5)
	r.Sampling.Temperature = 0
	uniform := -math.Log(float64(s.Generator.Capabilities().Vocab))
	for i, t := range c.generate(s, r).Tokens {
		if t.ID != 0 || math.Abs(float64(t.Logp)-uniform) > 1e-4 {
			c.Errorf("token %d among equals is id %d with log-prob %v; want id 0 with %v", i, t.ID, t.Logp, uniform)
		}
	}
}

// checkNarrowest demands that each filter at its narrowest keeps only the most likely id, with its log-prob unchanged: it
// is that of the whole distribution.
func checkNarrowest(c *checking) {
	s := c.generator()
	c.need(s.Generator.Capabilities().Deterministic, "a deterministic Generator")
	r := c.request(s, 6, 12)
	r.Sampling.Temperature = 0
	want := c.generate(s, r) // at temperature 0 log-probs are those of temperature 1
	for what, sampling := range map[string]engine.Sampling{
		"top_k 1":     {TopK: 1},
		"top_p 0.001": {TopP: 0.001},
		"min_p 1":     {MinP: 1},
		"all three":   {TopK: 1, TopP: 0.001, MinP: 1},
	} {
		sampling.Temperature, sampling.MaxTokens = 1, 12
		r.Sampling = sampling
		c.sameTokens(what, c.generate(s, r), want)
	}
}

// checkFilters samples one position often under each filter and demands that no id is outside of what the filter keeps.
func checkFilters(c *checking) {
	s := c.generator()
	seen := map[int32]float64{} // probabilities of ids that came without a filter
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1}, 400) {
		seen[t.ID] = math.Exp(float64(t.Logp))
	}
	likelier := func(p float64) (n int, mass, most float64) {
		for _, q := range seen {
			if q > p*(1+1e-5) {
				n, mass = n+1, mass+q
			}
			most = max(most, q)
		}
		return n, mass, most
	}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1, TopK: 3}, 100) {
		if n, _, _ := likelier(math.Exp(float64(t.Logp))); n >= 3 {
			c.Errorf("top_k 3 sampled id %d, and %d ids are likelier", t.ID, n)
		}
	}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1, TopP: 0.5}, 100) {
		if _, mass, _ := likelier(math.Exp(float64(t.Logp))); mass > 0.5+1e-4 {
			c.Errorf("top_p 0.5 sampled id %d, and likelier ids have mass %.4f", t.ID, mass)
		}
	}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1, MinP: 0.5}, 100) {
		p := math.Exp(float64(t.Logp))
		if _, _, most := likelier(p); p < 0.5*most*(1-1e-5) {
			c.Errorf("min_p 0.5 sampled id %d of probability %.4f; the largest is %.4f", t.ID, p, most)
		}
	}
}

// checkFrequencies compares how often ids are sampled with their log-probs: within 5 standard deviations.
func checkFrequencies(c *checking) {
	s := c.generator()
	for _, temperature := range []float32{1, 0.6} {
		const n = 1000
		count, logp := map[int32]int{}, map[int32]float32{}
		for _, t := range c.firstTokens(s, engine.Sampling{Temperature: temperature}, n) {
			count[t.ID]++
			logp[t.ID] = t.Logp
		}
		for id, k := range count {
			p := math.Exp(float64(logp[id]))
			if off := math.Abs(float64(k)-n*p) / math.Sqrt(n*p*(1-p)+1); off > 5 {
				c.Errorf("temperature %v: id %d came %d times in %d; its log-prob %v says %.1f", temperature, id, k, n, logp[id], n*p)
			}
		}
	}
}

// firstTokens samples the token after one prompt n times, under n keys.
func (c *checking) firstTokens(s Subject, sampling engine.Sampling, n int) []engine.Token {
	c.Helper()
	requests := make([]engine.Request, n)
	for i := range requests {
		requests[i] = c.request(s, 6, 1)
		requests[i].Sampling = sampling
		requests[i].Sampling.MaxTokens = 1
		requests[i].Key = engine.Key{Seed: 11, Group: int64(i / 8), Sample: int32(i % 8)}
	}
	tokens := make([]engine.Token, n)
	for i, reply := range c.generateAll(s, requests) {
		if len(reply.Tokens) != 1 || reply.Finish != traj.FinishLength {
			c.Fatalf("budget of 1 token gave %d, finish %q", len(reply.Tokens), reply.Finish)
		}
		tokens[i] = reply.Tokens[0]
	}
	return tokens
}
