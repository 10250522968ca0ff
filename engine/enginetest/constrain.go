// What a Generator may sample under a constraint.

package enginetest

import (
	"math"
	"slices"

	"molt/engine"
)

var constraintChecks = []Check{
	{"Constraint/Held", checkConstraintHeld},
	{"Constraint/LogpOfTheWhole", checkConstraintLogp},
	{"Constraint/All", checkConstraintAll},
	{"Constraint/Nothing", checkConstraintNothing},
}

// stairs is a constraint under which the ids of position n are those that are n modulo step; with a step of 0, none is.
type stairs struct {
	vocab, step int
	taken       []int32
}

func (k *stairs) Allowed(mask []uint64) {
	clear(mask)
	for id := 0; k.step > 0 && id < k.vocab; id++ {
		if id%k.step == len(k.taken)%k.step {
			mask[id/64] |= 1 << (id % 64)
		}
	}
}

func (k *stairs) Take(id int32) { k.taken = append(k.taken, id) }

// constrained makes a request under stairs, and shows what its constraint was told.
func (c *checking) constrained(s Subject, step int) (engine.Request, *[]*stairs) {
	caps := s.Generator.Capabilities()
	c.need(caps.Constrained, "a Generator that honours constraints")
	r := c.request(s, 5, 24)
	begun := new([]*stairs)
	r.Constrain = func() engine.Constraint {
		k := &stairs{vocab: caps.Vocab, step: step}
		*begun = append(*begun, k)
		return k
	}
	return r, begun
}

// checkConstraintHeld demands that no id is sampled that is not allowed, under any settings, and that the constraint is told
// of every one.
func checkConstraintHeld(c *checking) {
	s := c.generator()
	for _, o := range []engine.Sampling{{}, {Temperature: 1}, {Temperature: 3, TopK: 2}, {Temperature: 1, TopP: 0.5, MinP: 0.3}} {
		r, begun := c.constrained(s, 3)
		o.MaxTokens = r.Sampling.MaxTokens
		r.Sampling = o
		reply := c.generate(s, r)
		for i, t := range reply.Tokens {
			if int(t.ID)%3 != i%3 {
				c.Errorf("%+v: id %d at %d is not allowed", o, t.ID, i)
			}
		}
		if len(reply.Tokens) != o.MaxTokens || len(*begun) != 1 || !slices.Equal((*begun)[0].taken, ids(reply)) {
			c.Errorf("%+v: sampled %v; %d constraints were begun and told otherwise", o, ids(reply), len(*begun))
		}
	}
}

// checkConstraintLogp demands the log-prob that the id has without the constraint: that of the whole distribution.
func checkConstraintLogp(c *checking) {
	s := c.generator()
	whole := map[int32]float32{}
	for _, t := range c.firstTokens(s, engine.Sampling{Temperature: 1}, 400) {
		whole[t.ID] = t.Logp
	}
	compared := 0
	for key := range 40 {
		r, _ := c.constrained(s, 2)
		r.Prompt = c.request(s, 6, 1).Prompt // as firstTokens
		r.Sampling.MaxTokens, r.Key.Sample = 1, int32(key)
		t := c.generate(s, r).Tokens[0]
		want, ok := whole[t.ID]
		if !ok {
			continue
		}
		compared++
		if math.Abs(float64(t.Logp-want)) > s.Tolerance {
			c.Errorf("id %d has log-prob %v under a constraint; %v without", t.ID, t.Logp, want)
		}
	}
	if compared == 0 {
		c.Errorf("no id was sampled both ways")
	}
}

// checkConstraintAll demands of a constraint that allows everything that it changes nothing.
func checkConstraintAll(c *checking) {
	s := c.generator()
	c.need(s.Generator.Capabilities().Deterministic, "a deterministic Generator")
	r, _ := c.constrained(s, 1)
	got := c.generate(s, r)
	r.Constrain = nil
	c.sameTokens("everything allowed", got, c.generate(s, r))
}

// checkConstraintNothing demands an error where nothing may come, and a generator that goes on.
func checkConstraintNothing(c *checking) {
	s := c.generator()
	r, _ := c.constrained(s, 0)
	_, err := s.Generator.Generate(c.ctx, r, nil)
	c.wantError(err, "generating where nothing is allowed")
	r.Constrain = nil
	c.generate(s, r)
}
