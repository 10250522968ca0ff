// What the lanes of a pass mean: log-probs of one distribution, its entropy, a value. A lane is right or refused.

package enginetest

import (
	"fmt"
	"math"
	"slices"

	"molt/engine"
)

var laneChecks = []Check{
	{"Lane/Normalised", checkNormalised},
	{"Lane/Temperature", checkTemperature},
	{"Lane/Entropy", checkEntropy},
	{"Lane/EntropyGradient", checkEntropyGradient},
	{"Lane/Value", checkValue},
	{"Lane/ValueGradient", checkValueGradient},
	{"Lane/Unwanted", checkUnwanted},
}

// checkNormalised adds up the probabilities of every id after one prefix.
func checkNormalised(c *checking) {
	s := c.learner()
	for _, temperature := range []float32{1, 0.5} {
		var total float64
		for _, logp := range c.distribution(s, temperature) {
			total += math.Exp(float64(logp))
		}
		if math.Abs(total-1) > 1e-4 {
			c.Errorf("temperature %v: the probabilities of all ids add up to %v", temperature, total)
		}
	}
}

// checkTemperature derives the log-probs at temperature 0.5 from those at 1.
func checkTemperature(c *checking) {
	s := c.learner()
	want := make([]float32, 0)
	var total float64
	plain := c.distribution(s, 1)
	for _, logp := range plain {
		total += math.Exp(2 * float64(logp))
	}
	for _, logp := range plain {
		want = append(want, float32(2*float64(logp)-math.Log(total)))
	}
	c.sameWithin("log-probs at temperature 0.5", c.distribution(s, 0.5), want, 1e-3)
}

func checkEntropy(c *checking) {
	s := c.learner()
	b := c.everyNext(s, 0, 1, 0.5)
	pass, err := s.Learner.Forward(c.ctx, b, engine.Want{Entropy: true})
	if err != nil {
		c.Skipf("the entropy lane is refused: %v", err)
	}
	got := slices.Clone(pass.Entropy())
	pass.Release()
	if len(got) != 1 {
		c.Fatalf("%d entropies of 1 scored token", len(got))
	}
	var want float64
	for _, logp := range c.distribution(s, 0.5) {
		want -= math.Exp(float64(logp)) * float64(logp)
	}
	if math.Abs(float64(got[0])-want) > 1e-3 {
		c.Errorf("entropy %v; the distribution has %v", got[0], want)
	}
}

func checkEntropyGradient(c *checking) {
	s := c.learner()
	c.need(s.Probe != nil, "a Probe, for finite differences")
	b := c.batch(s, 0)
	d := varied(len(b.Score))
	pass, err := s.Learner.Forward(c.ctx, b, engine.Want{Entropy: true, Grad: true})
	if err != nil {
		c.Skipf("the entropy lane is refused: %v", err)
	}
	c.noError(pass.Backward(c.ctx, make([]float32, len(d)), d, nil), "Backward")
	c.differences(s, func() float64 {
		pass := c.forward(s, b, engine.Want{Entropy: true})
		defer pass.Release()
		return dot(pass.Entropy(), d)
	})
}

func checkValue(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	want := c.logp(s, b)
	pass, err := s.Learner.Forward(c.ctx, b, engine.Want{Value: true})
	if !s.Learner.Capabilities().Value {
		c.wantError(err, "a value lane of a learner without a value head")
		c.sameBits("log-probs after a refused lane", c.logp(s, b), want)
		return
	}
	c.noError(err, "Forward with a value lane")
	defer pass.Release()
	if len(pass.Value()) != len(b.Score) {
		c.Fatalf("%d values of %d scored tokens", len(pass.Value()), len(b.Score))
	}
	for i, v := range pass.Value() {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			c.Fatalf("value %v of scored token %d", v, i)
		}
	}
	c.sameBits("log-probs beside values", pass.Logp(), want)
}

func checkValueGradient(c *checking) {
	s := c.learner()
	c.need(s.Probe != nil, "a Probe, for finite differences")
	c.need(s.Learner.Capabilities().Value, "a value head")
	if s.Learner.Capabilities().OwnHead {
		c.moveHead(s)
	}
	b := c.batch(s, 0)
	d := varied(len(b.Score))
	pass := c.forward(s, b, engine.Want{Value: true, Grad: true})
	c.noError(pass.Backward(c.ctx, make([]float32, len(d)), nil, d), "Backward")
	c.differences(s, func() float64 {
		pass := c.forward(s, b, engine.Want{Value: true})
		defer pass.Release()
		return dot(pass.Value(), d)
	})
}

// checkUnwanted demands that lanes nobody asked for are nil, and that derivatives by them are refused.
func checkUnwanted(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	d := ones(len(b.Score))
	for what, derivatives := range map[string][2][]float32{"entropy": {d, nil}, "value": {nil, d}} {
		pass := c.forward(s, b, engine.Want{Grad: true})
		if pass.Entropy() != nil || pass.Value() != nil {
			c.Errorf("lanes that nobody wanted are there")
		}
		c.wantError(pass.Backward(c.ctx, d, derivatives[0], derivatives[1]), "Backward through an unwanted "+what+" lane")
		pass.Release()
	}
}

// distribution gives the log-prob of every id after one prefix.
func (c *checking) distribution(s Subject, temperature float32) []float32 {
	c.Helper()
	caps := s.Learner.Capabilities()
	c.need(caps.Vocab <= 2048, fmt.Sprintf("a vocabulary that the suite can enumerate (it has %d)", caps.Vocab))
	var logp []float32
	for id, many := 0, max(1, caps.MaxBatch/(len(prefix)+1)); id < caps.Vocab; id += many {
		logp = append(logp, c.logp(s, c.everyNext(s, id, min(many, caps.Vocab-id), temperature))...)
	}
	return logp
}

// prefix precedes the token whose distribution is enumerated.
var prefix = []int32{1, 0, 1}

// everyNext packs n sequences that end with the ids from first on, and scores these.
func (c *checking) everyNext(s Subject, first, n int, temperature float32) engine.Batch {
	b := engine.Batch{Starts: []int32{0}}
	for id := range n {
		b.Tokens = append(append(b.Tokens, prefix...), int32(first+id))
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
		b.Score = append(b.Score, int32(len(b.Tokens)-1))
		b.Temperature = append(b.Temperature, temperature)
	}
	return b
}
