// Learners that break one promise each.

package enginetest_test

import (
	"context"
	"errors"
	"math"
	"slices"

	"molt/engine"
	"molt/engine/enginetest"
)

var background = context.Background()

// brokenLearners lists, for a check of the Learner, engines that break its promise.
var brokenLearners = map[string][]func(*subject){
	"Learner/Capabilities": {
		learning(func(_ engine.Learner, l *learner) { l.caps = func(c *engine.LearnerCapabilities) { c.Name = "" } }),
		learning(func(_ engine.Learner, l *learner) { l.caps = func(c *engine.LearnerCapabilities) { c.MaxBatch = 1 } }),
	},
	"Learner/BadBatch": {
		batching(func(b *engine.Batch, _ *engine.Want) {
			for i, id := range b.Tokens {
				b.Tokens[i] = min(max(id, 0), 31)
			}
		}),
		batching(func(b *engine.Batch, _ *engine.Want) { slices.Sort(b.Score) }),
		batching(func(b *engine.Batch, _ *engine.Want) { b.Temperature = nil }),
	},
	"Learner/TooLong": {
		learning(func(inner engine.Learner, l *learner) {
			l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
				p, err := inner.Forward(background, b, want)
				if err != nil {
					return nil, errors.New(err.Error())
				}
				return p, nil
			}
		}),
		learning(func(_ engine.Learner, l *learner) {
			l.caps = func(c *engine.LearnerCapabilities) { c.MaxBatch /= 2; c.MaxTokens /= 2 }
		}),
	},
	"Learner/Packing": {passing(func(b engine.Batch, _ engine.Want, p *pass) {
		if len(b.Starts) > 2 {
			p.logp[len(p.logp)-1] = math.Nextafter32(p.logp[len(p.logp)-1], -100)
		}
	})},
	"Learner/Causal": {
		passing(func(b engine.Batch, _ engine.Want, p *pass) { p.logp[0] -= float32(b.Tokens[len(b.Tokens)-1]) }),
		batching(func(b *engine.Batch, _ *engine.Want) { b.Tokens[len(b.Tokens)-1] = 0 }),
	},
	"Learner/OnePass": {learning(func(inner engine.Learner, l *learner) { // a new pass silently ends the one before
		last := func() {}
		l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
			last()
			p, err := inner.Forward(background, b, want)
			last = func() { p.Release() }
			return p, err
		}
	}), learning(func(inner engine.Learner, l *learner) {
		last := func() {}
		l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
			p, err := inner.Forward(background, b, want)
			if err == nil {
				last = func() { p.Release() }
			}
			return p, err
		}
		l.step = func(o engine.StepOptions) (engine.StepResult, error) { last(); return inner.Step(background, o) }
	})},
	"Learner/BackwardOnce": {
		passing(func(_ engine.Batch, _ engine.Want, p *pass) {
			p.backward = func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error {
				_ = inner.Backward(background, dLogp, dEntropy, dValue)
				return nil
			}
		}),
		batching(func(_ *engine.Batch, want *engine.Want) { want.Grad = true }),
		passing(func(b engine.Batch, _ engine.Want, p *pass) { // fills up derivatives that are missing
			p.backward = func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error {
				for len(dLogp) < len(b.Score) {
					dLogp = append(slices.Clip(dLogp), 0)
				}
				return inner.Backward(background, dLogp, dEntropy, dValue)
			}
		}),
	},
	"Learner/Version": {
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
			result, err := inner.Step(background, o)
			result.Version++
			return result, err
		}),
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
			result, err := inner.Step(background, o)
			result.GradNorm = 0
			return result, err
		}),
		weighing(func(w *engine.Weights) { w.Parent = 0 }),
		weighing(func(w *engine.Weights) { w.Fingerprint = "constant" }),
	},
	"Learner/Fingerprint": {weighing(func(w *engine.Weights) { w.Fingerprint = "constant" })},
	"Learner/Head": {stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) { // has no use for it
		o.Head = nil
		return inner.Step(background, o)
	})},
	"Learner/Learns": {deriving(scale(-1)), deriving(scale(0))},
	"Learner/Canary": {
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
			o.LR = max(o.LR, 1e-6)
			return inner.Step(background, o)
		}),
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
			result, err := inner.Step(background, o)
			result.Version = 0
			return result, err
		}),
	},
	"Learner/Skipped": {
		deriving(func(d []float32) []float32 { // hides what is not finite
			for i := range d {
				if x := float64(d[i]); math.IsNaN(x) || math.IsInf(x, 0) {
					d[i] = 0
				}
			}
			return d
		}),
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
			result, err := inner.Step(background, o)
			if result.Skipped {
				result.Version++
			}
			return result, err
		}),
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) { // moves although it says skipped
			result, err := inner.Step(background, o)
			if result.Skipped {
				leaveGradient(inner)
				_, _ = inner.Step(background, o)
			}
			return result, err
		}),
		stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) { // what it skips comes back later
			result, err := inner.Step(background, o)
			if result.Skipped {
				leaveGradient(inner)
			}
			return result, err
		}),
	},
	"Learner/SaveLoad": {
		learning(func(_ engine.Learner, l *learner) {
			l.load = func(string) ([]byte, error) { return []byte(`{"step":2}`), nil }
		}),
		learning(func(inner engine.Learner, l *learner) { // gradients are left over from before
			l.load = func(dir string) ([]byte, error) {
				state, err := inner.Load(background, dir)
				leaveGradient(inner)
				return state, err
			}
		}),
		learning(func(inner engine.Learner, l *learner) { // the version is not part of the checkpoint
			loaded := false
			l.load = func(dir string) ([]byte, error) { loaded = true; return inner.Load(background, dir) }
			l.weights = func() (engine.Weights, error) {
				w, err := inner.Weights(background)
				if loaded {
					w.Version = 0
				}
				return w, err
			}
		}),
		learning(func(inner engine.Learner, l *learner) { // the caller's state is lost
			l.load = func(dir string) ([]byte, error) {
				_, err := inner.Load(background, dir)
				return nil, err
			}
		}),
	},
	"Learner/BadLoad": {
		learning(func(inner engine.Learner, l *learner) {
			l.load = func(dir string) ([]byte, error) {
				state, _ := inner.Load(background, dir)
				return state, nil
			}
		}),
		learning(func(inner engine.Learner, l *learner) { // half loaded when it fails
			l.load = func(dir string) ([]byte, error) {
				state, err := inner.Load(background, dir)
				inner.(*enginetest.Toy).SetWeight("toy.value.weight", 0, 5)
				return state, err
			}
		}),
	},

	"Gradient/Additive": {deriving(func(d []float32) []float32 { return scale(1 / float32(len(d)))(d) })},
	"Gradient/Sums": {
		deriving(func(d []float32) []float32 { return scale(1 / float32(len(d)))(d) }),
		learning(func(inner engine.Learner, l *learner) { // a pass overwrites the gradient of the one before
			l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
				_, _ = inner.Step(background, engine.StepOptions{})
				return inner.Forward(background, b, want)
			}
		}),
	},
	"Gradient/Linear": {deriving(func(d []float32) []float32 {
		for i := range d {
			d[i] = min(max(d[i], -1), 1)
		}
		return d
	})},
	"Gradient/Release": {
		learning(func(inner engine.Learner, l *learner) { // a release drops the gradient of earlier passes
			l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
				alive, err := inner.Forward(background, b, want)
				if err != nil {
					return nil, err
				}
				return &pass{Pass: alive, logp: alive.Logp(), release: func() {
					alive.Release()
					_, _ = inner.Step(background, engine.StepOptions{})
				}}, nil
			}
		}),
		learning(func(inner engine.Learner, l *learner) { // a release adds a gradient
			l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
				alive, err := inner.Forward(background, b, want)
				if err != nil {
					return nil, err
				}
				return &pass{Pass: alive, logp: alive.Logp(), release: func() {
					_ = alive.Backward(background, slices.Repeat([]float32{1}, len(alive.Logp())), nil, nil)
				}}, nil
			}
		}),
	},
	"Gradient/Cleared": {stepping(func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error) {
		result, err := inner.Step(background, o)
		leaveGradient(inner)
		return result, err
	})},
	"Gradient/FiniteDifference": {
		deriving(scale(1.1)),
		deriving(func(d []float32) []float32 { slices.Reverse(d); return d }),
	},
	"Gradient/Alone": {passing(func(b engine.Batch, _ engine.Want, p *pass) { // divides by the tokens of the batch
		p.backward = func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error {
			return inner.Backward(background, scale(1/float32(len(b.Tokens)))(slices.Clone(dLogp)), dEntropy, dValue)
		}
	})},

	"Lane/Normalised": {
		passing(func(_ engine.Batch, _ engine.Want, p *pass) { p.logp[3] -= 0.1 }),
		passing(func(_ engine.Batch, _ engine.Want, p *pass) {
			for i := range p.logp {
				p.logp[i] += 0.001
			}
		}),
	},
	"Lane/Temperature": {batching(func(b *engine.Batch, _ *engine.Want) { b.Temperature = nil })},
	"Lane/Entropy": {
		passing(func(_ engine.Batch, _ engine.Want, p *pass) { p.entropy = scale(1.1)(p.entropy) }),
		batching(func(b *engine.Batch, want *engine.Want) {
			if want.Entropy {
				b.Temperature = nil
			}
		}),
	},
	"Lane/EntropyGradient": {passing(func(_ engine.Batch, _ engine.Want, p *pass) {
		p.backward = func(inner engine.Pass, dLogp, _, dValue []float32) error {
			return inner.Backward(background, dLogp, nil, dValue)
		}
	})},
	"Lane/Value": {
		learning(func(_ engine.Learner, l *learner) { l.caps = func(c *engine.LearnerCapabilities) { c.Value = false } }),
		batching(func(_ *engine.Batch, want *engine.Want) { want.Value = false }),
		passing(func(_ engine.Batch, want engine.Want, p *pass) {
			if want.Value {
				p.value[0] = float32(math.NaN())
			}
		}),
	},
	"Lane/ValueGradient": {passing(func(_ engine.Batch, _ engine.Want, p *pass) {
		p.backward = func(inner engine.Pass, dLogp, dEntropy, _ []float32) error {
			return inner.Backward(background, dLogp, dEntropy, nil)
		}
	})},
	"Lane/Unwanted": {
		batching(func(_ *engine.Batch, want *engine.Want) { want.Entropy = true }),
		batching(func(_ *engine.Batch, want *engine.Want) { want.Value = true }),
		passing(func(_ engine.Batch, want engine.Want, p *pass) {
			p.entropy, p.value = nil, nil
			p.backward = func(inner engine.Pass, dLogp, _, _ []float32) error {
				return inner.Backward(background, dLogp, nil, nil)
			}
		}),
	},

	"Fault/Lost": {learning(func(inner engine.Learner, l *learner) {
		l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
			p, err := inner.Forward(background, b, want)
			if err != nil {
				err = errors.New(err.Error())
			}
			return p, err
		}
	}), learning(func(inner engine.Learner, l *learner) {
		l.save = func(dir string) error { _ = inner.Save(background, dir, nil); return nil }
	})},
	"Fault/LostMidPass": {passing(func(_ engine.Batch, _ engine.Want, p *pass) {
		p.backward = func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error {
			_ = inner.Backward(background, dLogp, dEntropy, dValue)
			return nil
		}
	})},
}

// weighing spoils the weights that the learner gives.
func weighing(spoil func(*engine.Weights)) func(*subject) {
	return learning(func(inner engine.Learner, l *learner) {
		l.weights = func() (engine.Weights, error) {
			w, err := inner.Weights(background)
			spoil(&w)
			return w, err
		}
	})
}

// leaveGradient makes a learner accumulate what nobody asked for.
func leaveGradient(l engine.Learner) {
	p, err := l.Forward(background, engine.Batch{Tokens: []int32{1, 2}, Starts: []int32{0, 2}, Score: []int32{1}}, engine.Want{Grad: true})
	if err == nil {
		_ = p.Backward(background, []float32{1}, nil, nil)
	}
}
