// What settings that change logits do to ids, and do not do to log-probs.

package enginetest

import (
	"math"
	"slices"

	"molt/engine"
)

var shapeChecks = []Check{
	{"Shape/Bias", checkBias},
	{"Shape/Presence", checkPresence},
	{"Shape/Repetition", checkRepetition},
	{"Shape/Frequency", checkFrequency},
	{"Shape/MinTokens", checkMinTokens},
	{"Shape/Neutral", checkNeutral},
	{"Shape/Top", checkTop},
}

// shaping makes a request whose logits a Generator can change.
func (c *checking) shaping(s Subject, n int) engine.Request {
	c.need(s.Generator.Capabilities().Shapes, "a Generator that changes logits")
	return c.request(s, 5, n)
}

// far is a change of a logit that nothing outweighs.
const far = 500

// checkBias demands that a large bias decides, and that the log-prob is the one without it.
func checkBias(c *checking) {
	s := c.generator()
	whole := map[int32]float32{}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1}, 200) {
		whole[t.ID] = t.Logp
	}
	for id, logp := range whole {
		r := c.shaping(s, 1)
		r.Prompt = c.request(s, 6, 1).Prompt // as firstTokens
		r.Sampling.Temperature = 1
		r.Sampling.Bias = []engine.Bias{{ID: id, Value: far}}
		if t := c.generate(s, r).Tokens[0]; t.ID != id || math.Abs(float64(t.Logp-logp)) > s.Tolerance {
			c.Errorf("a bias for id %d sampled id %d with log-prob %v; it has %v", id, t.ID, t.Logp, logp)
		}
		r.Sampling.Bias[0].Value = -far
		if t := c.generate(s, r).Tokens[0]; t.ID == id {
			c.Errorf("id %d was sampled against its bias", id)
		}
	}
}

// checkPresence demands that a penalty for what was said keeps every id from coming twice.
func checkPresence(c *checking) {
	s := c.generator()
	for _, o := range []engine.Sampling{{PresencePenalty: far}, {FrequencyPenalty: far}} {
		r := c.shaping(s, min(20, s.Generator.Capabilities().Vocab))
		o.Temperature, o.MaxTokens = r.Sampling.Temperature, r.Sampling.MaxTokens
		r.Sampling = o
		said := ids(c.generate(s, r))
		slices.Sort(said)
		if len(slices.Compact(slices.Clone(said))) != len(said) {
			c.Errorf("%+v: ids came twice: %v", o, said)
		}
		r.Prompt = slices.Concat(r.Prompt, said[:3])
		r.Earlier = 3
		if again := ids(c.generate(s, r)); slices.ContainsFunc(said[:3], func(id int32) bool { return slices.Contains(again, id) }) {
			c.Errorf("%+v: of %v, said earlier, some came in %v", o, said[:3], again)
		}
	}
}

// checkRepetition demands that greedy decoding under a negative bias for all ids avoids those of the prompt: the penalty
// multiplies what is negative.
func checkRepetition(c *checking) {
	s := c.generator()
	r := c.shaping(s, 4)
	r.Sampling.Temperature, r.Sampling.RepetitionPenalty = 0, 4
	for id := range int32(s.Generator.Capabilities().Vocab) {
		r.Sampling.Bias = append(r.Sampling.Bias, engine.Bias{ID: id, Value: -far})
	}
	for _, id := range ids(c.generate(s, r)) {
		if slices.Contains(r.Prompt, id) {
			c.Errorf("id %d of the prompt %v was sampled under a repetition penalty", id, r.Prompt)
		}
	}
}

// checkFrequency demands that a penalty counts: an id with a bias comes until penalties of a tenth have used it up.
func checkFrequency(c *checking) {
	s := c.generator()
	r := c.shaping(s, 30)
	r.Sampling.Temperature, r.Sampling.FrequencyPenalty = 0, far/10
	r.Sampling.Bias = []engine.Bias{{ID: 3, Value: far}}
	n := 0
	for _, id := range ids(c.generate(s, r)) {
		if id == 3 {
			n++
		}
	}
	if n < 9 || n > 12 {
		c.Errorf("an id with a bias of %d and a penalty of %d came %d times", far, far/10, n)
	}
}

// checkMinTokens demands that no stop comes early, although it is all that a request wants, and that it comes then.
func checkMinTokens(c *checking) {
	s := c.generator()
	r := c.shaping(s, 20)
	r.Sampling.StopTokens, r.Sampling.MinTokens = []int32{2}, 7
	r.Sampling.Bias = []engine.Bias{{ID: 2, Value: far}}
	if got := ids(c.generate(s, r)); len(got) != 8 || got[7] != 2 || slices.Contains(got[:7], 2) {
		c.Errorf("with at least 7 tokens before stop 2 came %v", got)
	}
}

// checkNeutral demands of settings that change nothing that they change nothing.
func checkNeutral(c *checking) {
	s := c.generator()
	c.need(s.Generator.Capabilities().Deterministic, "a deterministic Generator")
	r := c.shaping(s, 24)
	want := c.generate(s, r)
	r.Sampling.RepetitionPenalty, r.Sampling.Bias = 1, []engine.Bias{{ID: 1, Value: 0}}
	c.sameTokens("a bias of nothing", c.generate(s, r), want)
}

// checkTop demands the likeliest ids in order, whatever was sampled, with the log-probs that they have when they are.
func checkTop(c *checking) {
	s := c.generator()
	n := min(s.Generator.Capabilities().Top, 5)
	c.need(n > 0, "a Generator that reports alternatives")
	sampled := map[int32]float32{}
	var first []engine.Ranked
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1, Top: n}, 100) {
		sampled[t.ID], first = t.Logp, t.Top
		if len(t.Top) != n {
			c.Fatalf("%d alternatives; %d were asked for", len(t.Top), n)
		}
		for i := 1; i < n; i++ {
			if t.Top[i].Logp > t.Top[i-1].Logp {
				c.Errorf("alternatives are not in order: %v", t.Top)
			}
		}
		if !slices.ContainsFunc(t.Top, func(r engine.Ranked) bool { return r.ID == t.ID }) && t.Logp > t.Top[n-1].Logp+float32(s.Tolerance) {
			c.Errorf("id %d with %v is likelier than the last of %v", t.ID, t.Logp, t.Top)
		}
	}
	for _, r := range first {
		if logp, ok := sampled[r.ID]; ok && math.Abs(float64(logp-r.Logp)) > s.Tolerance {
			c.Errorf("alternative %d has log-prob %v; sampled it had %v", r.ID, r.Logp, logp)
		}
	}
}
