// Log-probs that the loss compares with: at the start of the step, and under the reference.

package train

import (
	"context"
	"fmt"
	"math"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// scoreOld fills LogpOld, the log-probs under the learner's weights at the start of the step. It costs a pass only where
// it must: when the batch makes a single optimizer step they are the log-probs of that step's own pass (LogpOld stays
// nil), and on an exact generator they are what the generator reported.
func (t *Trainer) scoreOld(ctx context.Context, b *batch) error {
	needed := t.reference != nil && !t.cfg.KL.AsLoss // the reward reads them
	if !needed && t.cfg.MaxEpochs == 1 && len(b.miniBatches(t.cfg.BatchSize)) == 1 {
		return nil
	}
	var unknown []*Sample
	for _, s := range b.samples {
		if s.exact {
			s.LogpOld = s.LogpGen
		} else {
			unknown = append(unknown, s)
		}
	}
	return t.score(ctx, t.learner, unknown, func(s *Sample, logp []float32) { s.LogpOld = logp })
}

// scoreReference fills LogpRef where KL is wanted.
func (t *Trainer) scoreReference(ctx context.Context, b *batch) error {
	if t.reference == nil {
		return nil
	}
	return t.score(ctx, t.reference, b.samples, func(s *Sample, logp []float32) { s.LogpRef = logp })
}

// score runs the samples through a learner without keeping the pass.
func (t *Trainer) score(ctx context.Context, l engine.Learner, samples []*Sample, give func(*Sample, []float32)) error {
	for _, m := range pack(samples, t.cfg.MicroTokens) {
		pass, err := l.Forward(ctx, m.batch, engine.Want{})
		if err != nil {
			return err
		}
		logp := append([]float32(nil), pass.Logp()...)
		pass.Release()
		for i, s := range m.samples {
			give(s, logp[m.starts[i]:m.starts[i+1]])
		}
	}
	return nil
}

// checkExact compares, on an exact generator and before the first optimizer step of the batch, what the generator
// reported with what the learner computes at the same weights. One differing bit stops the run: generator and learner do
// not hold the same policy, and nothing computed from here on would mean what it says.
func (t *Trainer) checkExact(m micro, in algo.Tokens, start traj.Version) error {
	if t.state.Version != start {
		return nil
	}
	for i, s := range m.samples {
		if !s.exact {
			continue
		}
		for k := m.starts[i]; k < m.starts[i+1]; k++ {
			if math.Float32bits(in.LogpNew[k]) != math.Float32bits(in.LogpGen[k]) {
				r := s.Segment.Rollout
				return fmt.Errorf("train: group %d sample %d action token %d: the generator reported log-prob %v and the learner computes %v "+
					"with the same weights (version %d); they do not serve the same policy",
					r.Group, r.Sample, k-m.starts[i], in.LogpGen[k], in.LogpNew[k], t.state.Version)
			}
		}
	}
	return nil
}
