// One batch of supervised fine-tuning: the policy is taught to say what the assistant said.

package train

import (
	"context"
	"fmt"

	"molt/algo"
	"molt/engine"
)

// Example is one conversation laid out as tokens.
type Example struct {
	Tokens []int32 // [T]
	Learn  []bool  // [T] true where the assistant speaks; the first token is never learned, having no prefix
}

// SFTResult is what one step of fine-tuning did.
type SFTResult struct {
	Loss   float64 // mean over learned tokens, in nats, before the step
	Learn  int     // learned tokens
	Tokens int     // all tokens
	Step   engine.StepResult
}

// SFTStep takes one optimizer step on the examples.
//
//	L = −Σ logp / (number of learned tokens of the step)        dL/dlogp = −1 / (number of learned tokens)
func SFTStep(ctx context.Context, l engine.Learner, examples []Example, microTokens int, o engine.StepOptions) (SFTResult, error) {
	res := count(examples)
	if res.Learn == 0 {
		return res, fmt.Errorf("train: no token of the batch is to be learned")
	}
	err := forward(ctx, l, examples, microTokens, true, func(logp []float32) []float32 {
		res.Loss -= sum(logp) / float64(res.Learn)
		dLogp := make([]float32, len(logp))
		for i := range dLogp {
			dLogp[i] = float32(-1 / float64(res.Learn))
		}
		return dLogp
	})
	if err != nil {
		return res, err
	}
	res.Step, err = l.Step(ctx, o)
	return res, err
}

// SFTLoss measures the examples without learning from them.
func SFTLoss(ctx context.Context, l engine.Learner, examples []Example, microTokens int) (SFTResult, error) {
	res := count(examples)
	if res.Learn == 0 {
		return res, fmt.Errorf("train: no token of the held-out conversations is to be learned")
	}
	err := forward(ctx, l, examples, microTokens, false, func(logp []float32) []float32 {
		res.Loss -= sum(logp) / float64(res.Learn)
		return nil
	})
	return res, err
}

// forward runs the examples in passes of at most microTokens, and where grad is set continues each with what use returns.
func forward(ctx context.Context, l engine.Learner, examples []Example, microTokens int, grad bool, use func(logp []float32) []float32) error {
	lengths := make([]int, len(examples))
	for i, e := range examples {
		lengths[i] = len(e.Tokens)
	}
	for _, bin := range algo.Pack(lengths, microTokens) {
		pass, err := l.Forward(ctx, pick(examples, bin), engine.Want{Grad: grad})
		if err != nil {
			return fmt.Errorf("train: forward: %w", err)
		}
		dLogp := use(pass.Logp())
		if !grad {
			pass.Release()
			continue
		}
		if err := pass.Backward(ctx, dLogp, nil, nil); err != nil {
			return fmt.Errorf("train: backward: %w", err)
		}
	}
	return nil
}

// pick packs the chosen examples behind one another.
func pick(examples []Example, chosen []int) engine.Batch {
	b := engine.Batch{Starts: []int32{0}}
	for _, i := range chosen {
		at := int32(len(b.Tokens))
		b.Tokens = append(b.Tokens, examples[i].Tokens...)
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
		for t, learn := range examples[i].Learn {
			if learn && t > 0 {
				b.Score = append(b.Score, at+int32(t))
			}
		}
	}
	return b
}

func count(examples []Example) SFTResult {
	var r SFTResult
	for _, e := range examples {
		r.Tokens += len(e.Tokens)
		for t, learn := range e.Learn {
			if learn && t > 0 {
				r.Learn++
			}
		}
	}
	return r
}

func sum(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}
