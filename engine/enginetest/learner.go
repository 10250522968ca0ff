// What every Learner promises about batches, the life of a pass, steps and checkpoints.

package enginetest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
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
	{"Learner/Version", checkStepVersion},
	{"Learner/Fingerprint", checkFingerprint},
	{"Learner/Learns", checkLearns},
	{"Learner/Canary", checkCanary},
	{"Learner/Skipped", checkSkipped},
	{"Learner/SaveLoad", checkSaveLoad},
	{"Learner/BadLoad", checkBadLoad},
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

func checkStepVersion(c *checking) {
	s := c.learner()
	before := c.weights(s)
	for i := range 3 {
		c.backward(s, c.batch(s, i), 1)
		result, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: 1e-3, Clip: 1})
		c.noError(err, "Step")
		after := c.weights(s)
		if result.Version != before.Version+1 || after.Version != result.Version || after.Parent != before.Version {
			c.Errorf("a step from version %d gave %d; the weights say %d from %d", before.Version, result.Version, after.Version, after.Parent)
		}
		if !(result.GradNorm > 0) || result.Skipped {
			c.Errorf("step %+v; want a gradient norm above 0, not skipped", result)
		}
		if after.Fingerprint == before.Fingerprint {
			c.Errorf("the fingerprint did not change with the weights")
		}
		before = after
	}
}

func checkFingerprint(c *checking) {
	s := c.learner()
	c.need(s.Fingerprint != nil, "Fingerprint, to check fingerprints")
	for range 2 {
		w := c.weights(s)
		if want := s.Fingerprint(w.Tensors); w.Fingerprint != want {
			c.Errorf("fingerprint %q of weights with %q", w.Fingerprint, want)
		}
		c.train(s)
	}
}

// checkLearns raises the log-probs of a batch by following their gradient.
func checkLearns(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	before := sum(c.logp(s, b))
	for range 5 {
		c.backward(s, b, -1)
		c.step(s, 1e-3)
	}
	if after := sum(c.logp(s, b)); !(after > before) {
		c.Errorf("5 steps towards a batch moved its log-prob from %v to %v", before, after)
	}
}

// checkCanary steps with a learning rate of 0: a new version with the same bytes.
func checkCanary(c *checking) {
	s := c.learner()
	before := c.weights(s)
	c.backward(s, c.batch(s, 0), 1)
	result := c.step(s, 0)
	after := c.weights(s)
	if result.Version != before.Version+1 || after.Version != result.Version {
		c.Errorf("a step with learning rate 0 from version %d gave %d; the weights say %d", before.Version, result.Version, after.Version)
	}
	c.sameWeights("a step with learning rate 0", after, before)
}

// checkSkipped steps with a NaN gradient between two good steps: it must leave no trace.
func checkSkipped(c *checking) {
	s, clean := c.learner(), c.learner()
	for _, l := range []Subject{s, clean} {
		c.train(l)
	}
	before := c.weights(s)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		c.backward(s, c.batch(s, 1), float32(bad))
		result := c.step(s, 1e-3)
		if !result.Skipped || result.Version != before.Version {
			c.Errorf("a step with gradient %v: %+v; want it skipped at version %d", bad, result, before.Version)
		}
		c.sameWeights(fmt.Sprintf("a step with gradient %v", bad), c.weights(s), before)
	}
	for _, l := range []Subject{s, clean} {
		c.train(l)
	}
	c.sameWeights("the step after skipped ones", c.weights(s), c.weights(clean))
}

// checkSaveLoad continues from a checkpoint in a fresh learner, bit for bit.
func checkSaveLoad(c *checking) {
	s, fresh := c.learner(), c.learner()
	c.train(s)
	c.train(s)
	dir := filepath.Join(c.TempDir(), "checkpoint")
	c.noError(s.Learner.Save(c.ctx, dir, []byte(`{"step":2}`)), "Save")
	saved := c.weights(s)
	c.train(fresh)
	state, err := fresh.Learner.Load(c.ctx, dir)
	c.noError(err, "Load")
	if string(state) != `{"step":2}` {
		c.Errorf("the caller's state came back as %q", state)
	}
	loaded := c.weights(fresh)
	c.sameWeights("loaded", loaded, saved)
	if loaded.Version != saved.Version || loaded.Parent != saved.Parent {
		c.Errorf("loaded version %d from %d; saved %d from %d", loaded.Version, loaded.Parent, saved.Version, saved.Parent)
	}
	for i := range 3 {
		c.train(s)
		c.train(fresh)
		c.sameWeights(fmt.Sprintf("step %d after the checkpoint", i+1), c.weights(fresh), c.weights(s))
	}
	if a, b := c.weights(s).Version, c.weights(fresh).Version; a != b {
		c.Errorf("version %d without and %d with a checkpoint in between", a, b)
	}
}

func checkBadLoad(c *checking) {
	s := c.learner()
	c.train(s)
	before := c.weights(s)
	_, err := s.Learner.Load(c.ctx, c.TempDir())
	c.wantError(err, "Load of an empty folder")
	_, err = s.Learner.Load(c.ctx, filepath.Join(c.TempDir(), "missing"))
	c.wantError(err, "Load of a missing folder")
	c.sameWeights("a failed Load", c.weights(s), before)
	c.train(s)
}

// batch packs three sequences of different lengths; scored tokens and temperatures vary.
func (c *checking) batch(s Subject, salt int) engine.Batch {
	caps := s.Learner.Capabilities()
	b := engine.Batch{Starts: []int32{0}}
	for i, length := range []int{9, 70, 24} {
		length = min(length, caps.MaxTokens, caps.MaxBatch/3)
		from := int32(len(b.Tokens))
		b.Tokens = append(b.Tokens, prompt(caps.Vocab, length, salt+i)...)
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
		for t := int32(1); t < int32(length); t++ {
			if t%3 != 0 || t == int32(length)-1 {
				b.Score = append(b.Score, from+t)
				b.Temperature = append(b.Temperature, []float32{1, 0.7, 1.3}[t%3])
			}
		}
	}
	return b
}

// backward adds the gradient of d times the sum of the batch's log-probs.
func (c *checking) backward(s Subject, b engine.Batch, d float32) {
	c.Helper()
	derivative := make([]float32, len(b.Score))
	for i := range derivative {
		derivative[i] = d
	}
	pass := c.forward(s, b, engine.Want{Grad: true})
	c.noError(pass.Backward(c.ctx, derivative, nil, nil), "Backward")
}

func (c *checking) step(s Subject, lr float64) engine.StepResult {
	c.Helper()
	result, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: lr})
	c.noError(err, "Step")
	return result
}

// train makes one step. What it learns depends on the version alone, so that equal learners stay equal.
func (c *checking) train(s Subject) {
	c.Helper()
	w, err := s.Learner.Weights(c.ctx)
	c.noError(err, "reading the weights")
	c.backward(s, c.batch(s, int(w.Version)), -0.5)
	c.step(s, 1e-2)
}

func (c *checking) sameWeights(what string, got, want engine.Weights) {
	c.Helper()
	if got.Fingerprint != want.Fingerprint {
		c.Errorf("%s: fingerprint %q; want %q", what, got.Fingerprint, want.Fingerprint)
	}
	if len(got.Tensors) != len(want.Tensors) {
		c.Fatalf("%s: %d tensors; want %d", what, len(got.Tensors), len(want.Tensors))
	}
	for i := range got.Tensors {
		c.sameBits(what+": "+got.Tensors[i].Name, got.Tensors[i].Data, want.Tensors[i].Data)
	}
}

func (c *checking) sameBits(what string, got, want []float32) {
	c.Helper()
	c.sameWithin(what, got, want, 0)
}

func (c *checking) sameWithin(what string, got, want []float32, tolerance float64) {
	c.Helper()
	if len(got) != len(want) {
		c.Fatalf("%s: %d numbers; want %d", what, len(got), len(want))
	}
	for i := range got {
		if !within(got[i], want[i], tolerance) {
			c.Errorf("%s: number %d is %v; want %v", what, i, got[i], want[i])
			return
		}
	}
}

// within compares bits when tolerance is 0.
func within(a, b float32, tolerance float64) bool {
	if tolerance == 0 {
		return math.Float32bits(a) == math.Float32bits(b)
	}
	return math.Abs(float64(a)-float64(b)) <= tolerance
}

func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }

func sum(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}
