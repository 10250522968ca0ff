// Batches that the checks make, what they do with a learner, and how its numbers are compared.

package enginetest

import (
	"math"
	"slices"

	"molt/engine"
)

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
	o := engine.StepOptions{LR: lr}
	if s.Learner.Capabilities().OwnHead {
		o.Head = &engine.HeadStep{LR: lr}
	}
	result, err := s.Learner.Step(c.ctx, o)
	c.noError(err, "Step")
	return result
}

// train makes one step. What it learns depends on the version alone, so that equal learners stay equal.
func (c *checking) train(s Subject) {
	c.Helper()
	w, err := s.Learner.Weights(c.ctx)
	c.noError(err, "reading the weights")
	b := c.batch(s, int(w.Version))
	d := slices.Repeat([]float32{-0.5}, len(b.Score))
	var dValue []float32
	if s.Learner.Capabilities().OwnHead {
		dValue = varied(len(b.Score))
	}
	pass := c.forward(s, b, engine.Want{Grad: true, Value: dValue != nil})
	c.noError(pass.Backward(c.ctx, d, nil, dValue), "Backward")
	c.step(s, 1e-2)
}

func (c *checking) sameWeights(what string, got, want engine.Weights) {
	c.Helper()
	if got.Fingerprint != want.Fingerprint {
		c.Errorf("%s: fingerprint %q; want %q", what, got.Fingerprint, want.Fingerprint)
	}
	c.sameTensors(what, got.Tensors, want.Tensors)
	if got.Adapter != nil && want.Adapter != nil {
		c.sameTensors(what, got.Adapter.Tensors, want.Adapter.Tensors)
	} else if got.Adapter != want.Adapter {
		c.Errorf("%s: an adapter is there: %t; want %t", what, got.Adapter != nil, want.Adapter != nil)
	}
}

func (c *checking) sameTensors(what string, got, want []engine.Tensor) {
	c.Helper()
	if len(got) != len(want) {
		c.Fatalf("%s: %d tensors; want %d", what, len(got), len(want))
	}
	for i := range got {
		c.sameBits(what+": "+got[i].Name, got[i].Data, want[i].Data)
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

// weights copies the learner's weights, so that they outlive its next step.
func (c *checking) weights(s Subject) engine.Weights {
	c.Helper()
	w, err := s.Learner.Weights(c.ctx)
	c.noError(err, "reading the weights")
	w.Tensors = cloned(w.Tensors)
	if w.Adapter != nil {
		a := *w.Adapter
		a.Tensors = cloned(a.Tensors)
		w.Adapter = &a
	}
	return w
}

func cloned(tensors []engine.Tensor) []engine.Tensor {
	list := slices.Clone(tensors)
	for i := range list {
		list[i].Data = slices.Clone(list[i].Data)
		list[i].Shape = slices.Clone(list[i].Shape)
	}
	return list
}

// score recomputes the log-probs of a reply by the learner.
func (c *checking) score(s Subject, r engine.Request, reply engine.Reply) []float32 {
	c.Helper()
	b := engine.Batch{Tokens: append(slices.Clone(r.Prompt), ids(reply)...)}
	b.Starts = []int32{0, int32(len(b.Tokens))}
	temperature := r.Sampling.Temperature
	if temperature == 0 {
		temperature = 1
	}
	for i := range reply.Tokens {
		b.Score = append(b.Score, int32(len(r.Prompt)+i))
		b.Temperature = append(b.Temperature, temperature)
	}
	return c.logp(s, b)
}

// logp runs one pass and gives its log-probs.
func (c *checking) logp(s Subject, b engine.Batch) []float32 {
	c.Helper()
	pass := c.forward(s, b, engine.Want{})
	defer pass.Release()
	return slices.Clone(pass.Logp())
}

func (c *checking) forward(s Subject, b engine.Batch, want engine.Want) engine.Pass {
	c.Helper()
	pass, err := s.Learner.Forward(c.ctx, b, want)
	c.noError(err, "Forward")
	if len(pass.Logp()) != len(b.Score) {
		c.Fatalf("Forward gave %d log-probs for %d scored tokens", len(pass.Logp()), len(b.Score))
	}
	return pass
}
