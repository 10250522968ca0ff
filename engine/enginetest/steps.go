// What every Learner promises about steps and checkpoints.

package enginetest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"molt/engine"
)

var stepChecks = []Check{
	{"Learner/Version", checkStepVersion},
	{"Learner/Fingerprint", checkFingerprint},
	{"Learner/Learns", checkLearns},
	{"Learner/Canary", checkCanary},
	{"Learner/Skipped", checkSkipped},
	{"Learner/SaveLoad", checkSaveLoad},
	{"Learner/BadLoad", checkBadLoad},
	{"Learner/Head", checkHead},
}

func checkStepVersion(c *checking) {
	s := c.learner()
	before := c.weights(s)
	for i := range 3 {
		c.backward(s, c.batch(s, i), 1)
		result := c.step(s, 1e-3)
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
		if want := s.Fingerprint(w); w.Fingerprint != want {
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
		if s.Learner.Capabilities().OwnHead {
			c.sameBits(fmt.Sprintf("values %d steps after the checkpoint", i+1), c.value(fresh, c.batch(fresh, 0)), c.value(s, c.batch(s, 0)))
		}
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

// checkHead steps a value head alone: values move, and the policy keeps its bits and its version. Where the head has no
// optimizer of its own, options for one are refused.
func checkHead(c *checking) {
	s := c.learner()
	if !s.Learner.Capabilities().OwnHead {
		c.backward(s, c.batch(s, 0), 1)
		_, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: 1e-3, Head: &engine.HeadStep{LR: 1e-3}})
		c.wantError(err, "Step of a value head that has no optimizer of its own")
		return
	}
	b, before := c.batch(s, 0), c.weights(s)
	logp, value := c.logp(s, b), c.value(s, b)
	_, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: 1e-3})
	c.wantError(err, "Step without options for the value head")
	c.moveHead(s)
	c.sameWeights("steps of the value head alone", c.weights(s), before)
	if v := c.weights(s).Version; v != before.Version {
		c.Errorf("version %d after steps of the value head alone; want %d", v, before.Version)
	}
	c.sameBits("log-probs after steps of the value head alone", c.logp(s, b), logp)
	if slices.Equal(c.value(s, b), value) {
		c.Errorf("values stay %v after steps of the value head", value[0])
	}
	c.train(s)
	if after := c.weights(s); after.Version != before.Version+1 || after.Fingerprint == before.Fingerprint {
		c.Errorf("a step of both gave version %d from %d, fingerprint %q from %q", after.Version, before.Version, after.Fingerprint, before.Fingerprint)
	}
}

// moveHead raises the values of a batch by its value head alone.
func (c *checking) moveHead(s Subject) {
	c.Helper()
	for range 3 {
		pass := c.forward(s, c.batch(s, 0), engine.Want{Value: true, Grad: true})
		n := len(pass.Logp())
		d := slices.Repeat([]float32{-1}, n)
		c.noError(pass.Backward(c.ctx, ones(n), nil, d), "Backward")
		result, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: 1e-2, Head: &engine.HeadStep{LR: 1e-1, Only: true}})
		c.noError(err, "Step")
		if !(result.HeadNorm > 0) || result.GradNorm != 0 || result.Skipped {
			c.Errorf("a step of the value head alone: %+v; want a gradient norm of the head, and none of the policy", result)
		}
	}
}

// value runs one pass and gives its values.
func (c *checking) value(s Subject, b engine.Batch) []float32 {
	c.Helper()
	pass := c.forward(s, b, engine.Want{Value: true})
	defer pass.Release()
	return slices.Clone(pass.Value())
}
