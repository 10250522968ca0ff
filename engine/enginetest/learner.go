// What every Learner promises about batches and the life of a pass.

package enginetest

import (
	"errors"
	"math"
	"slices"

	"molt/engine"
)

var learnerChecks = []Check{
	{"Learner/Capabilities", checkLearnerCapabilities},
	{"Learner/BadBatch", checkBadBatch},
	{"Learner/TooLong", checkBatchTooLong},
	{"Learner/Packing", checkPacking},
	{"Learner/Causal", checkCausal},
	{"Learner/OnePass", checkOnePass},
	{"Learner/BackwardOnce", checkBackwardOnce},
}

func checkLearnerCapabilities(c *checking) {
	caps := c.learner().Learner.Capabilities()
	if caps.Name == "" || caps.Vocab < 2 || caps.MaxTokens < 2 || caps.MaxBatch < caps.MaxTokens {
		c.Errorf("capabilities %+v; want a name, a vocabulary, and room in a batch for the longest sequence", caps)
	}
}

func checkBadBatch(c *checking) {
	s := c.learner()
	vocab := int32(s.Learner.Capabilities().Vocab)
	want := c.logp(s, c.batch(s, 0))
	for what, spoil := range map[string]func(*engine.Batch){
		"no sequence":            func(b *engine.Batch) { *b = engine.Batch{} },
		"starts that stop short": func(b *engine.Batch) { b.Starts[len(b.Starts)-1]-- },
		"an empty sequence":      func(b *engine.Batch) { b.Starts[1] = b.Starts[0] },
		"a sequence of one token": func(b *engine.Batch) {
			*b = engine.Batch{Tokens: []int32{1, 0, 1}, Starts: []int32{0, 1, 3}, Score: []int32{2}}
		},
		"an id out of the vocabulary":   func(b *engine.Batch) { b.Tokens[2] = vocab },
		"a negative id":                 func(b *engine.Batch) { b.Tokens[2] = -1 },
		"a scored token without prefix": func(b *engine.Batch) { b.Score[0] = 0 },
		"scores out of order":           func(b *engine.Batch) { b.Score[0], b.Score[1] = b.Score[1], b.Score[0] },
		"a score beyond the end":        func(b *engine.Batch) { b.Score[len(b.Score)-1] = int32(len(b.Tokens)) },
		"too few temperatures":          func(b *engine.Batch) { b.Temperature = b.Temperature[1:] },
		"a temperature of 0":            func(b *engine.Batch) { b.Temperature[0] = 0 },
		"a NaN temperature":             func(b *engine.Batch) { b.Temperature[0] = float32(math.NaN()) },
	} {
		b := c.batch(s, 0)
		spoil(&b)
		_, err := s.Learner.Forward(c.ctx, b, engine.Want{})
		if err == nil || errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrLost) {
			c.Errorf("a batch with %s: error %v; want one that is neither unavailable nor lost", what, err)
		}
	}
	c.sameBits("log-probs after refused batches", c.logp(s, c.batch(s, 0)), want)
}

func checkBatchTooLong(c *checking) {
	s := c.learner()
	caps := s.Learner.Capabilities()
	for what, length := range map[string][]int{
		"a sequence longer than MaxTokens": {caps.MaxTokens + 1},
		"more tokens than MaxBatch":        slices.Repeat([]int{caps.MaxTokens}, caps.MaxBatch/caps.MaxTokens+1),
	} {
		var b engine.Batch
		b.Starts = []int32{0}
		for _, n := range length {
			b.Tokens = append(b.Tokens, prompt(caps.Vocab, n, 0)...)
			b.Starts = append(b.Starts, int32(len(b.Tokens)))
		}
		b.Score = []int32{1}
		if _, err := s.Learner.Forward(c.ctx, b, engine.Want{}); !errors.Is(err, engine.ErrTooLong) {
			c.Errorf("%s: error %v; want ErrTooLong", what, err)
		}
	}
}

// checkPacking scores each sequence of a batch alone: what it was packed with changes nothing.
func checkPacking(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	packed := c.logp(s, b)
	c.sameBits("the same batch again", c.logp(s, b), packed)
	var alone []float32
	for i := range len(b.Starts) - 1 {
		alone = append(alone, c.logp(s, sequence(b, i))...)
	}
	c.sameWithin("packed and alone", packed, alone, s.Tolerance)
}

// sequence is the i-th sequence of the batch, alone.
func sequence(b engine.Batch, i int) engine.Batch {
	from, to := b.Starts[i], b.Starts[i+1]
	one := engine.Batch{Tokens: b.Tokens[from:to], Starts: []int32{0, to - from}}
	for k, t := range b.Score {
		if t >= from && t < to {
			one.Score = append(one.Score, t-from)
			one.Temperature = append(one.Temperature, b.Temperature[k])
		}
	}
	return one
}

// checkCausal changes the last token of a sequence: no earlier log-prob may move, and its own must.
func checkCausal(c *checking) {
	s := c.learner()
	b := sequence(c.batch(s, 0), 1)
	before := c.logp(s, b)
	b.Tokens = slices.Clone(b.Tokens)
	last := len(b.Tokens) - 1
	b.Tokens[last] = (b.Tokens[last] + 1) % int32(s.Learner.Capabilities().Vocab)
	after := c.logp(s, b)
	n := len(before) - 1
	c.sameBits("log-probs before the changed token", after[:n], before[:n])
	if after[n] == before[n] {
		c.Errorf("the log-prob of the changed token stayed %v", after[n])
	}
}

// checkOnePass tries to begin a pass, and a step, while another pass is alive: both are refused and the pass survives.
func checkOnePass(c *checking) {
	s := c.learner()
	pass := c.forward(s, c.batch(s, 0), engine.Want{Grad: true})
	logp := slices.Clone(pass.Logp())
	_, err := s.Learner.Forward(c.ctx, c.batch(s, 1), engine.Want{Grad: true})
	c.wantError(err, "Forward beside a living pass")
	_, err = s.Learner.Step(c.ctx, engine.StepOptions{LR: 1})
	c.wantError(err, "Step beside a living pass")
	c.sameBits("log-probs of the living pass", pass.Logp(), logp)
	c.noError(pass.Backward(c.ctx, ones(len(logp)), nil, nil), "Backward")
	c.logp(s, c.batch(s, 1))
}

func checkBackwardOnce(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	d := ones(len(b.Score))
	pass := c.forward(s, b, engine.Want{Grad: true})
	c.wantError(pass.Backward(c.ctx, d[1:], nil, nil), "Backward with too few derivatives")
	pass.Release()

	pass = c.forward(s, b, engine.Want{Grad: true})
	c.noError(pass.Backward(c.ctx, d, nil, nil), "Backward")
	c.wantError(pass.Backward(c.ctx, d, nil, nil), "Backward twice")
	pass.Release()
	c.wantError(pass.Backward(c.ctx, d, nil, nil), "Backward after Backward and Release")

	pass = c.forward(s, b, engine.Want{Grad: true})
	pass.Release()
	pass.Release()
	c.wantError(pass.Backward(c.ctx, d, nil, nil), "Backward after Release")

	pass = c.forward(s, b, engine.Want{})
	c.wantError(pass.Backward(c.ctx, d, nil, nil), "Backward of a pass that was not asked for gradients")
	pass.Release()
}
