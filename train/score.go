// What a batch compares with: log-probs at its start and under the reference, and the critic's values.

package train

import (
	"context"
	"fmt"

	"molt/engine"
)

// score fills what the batch compares with, before any weight moves.
func (t *Trainer) score(ctx context.Context, b *batch) error {
	if err := t.scoreOld(ctx, b); err != nil {
		return fmt.Errorf("train: log-probs at the start of the batch: %w", err)
	}
	if err := t.scoreReference(ctx, b); err != nil {
		return fmt.Errorf("train: reference log-probs: %w", err)
	}
	if err := t.scoreValues(ctx, b); err != nil {
		return fmt.Errorf("train: the critic's values: %w", err)
	}
	return nil
}

// scoreOld fills LogpOld, the log-probs under the policy's weights at the start of the batch. It costs a pass only where
// it must: on an exact generator they are what the generator reported, and where nothing reads them, or the batch makes a
// single optimizer step, LogpOld stays nil and that step's own pass has them.
func (t *Trainer) scoreOld(ctx context.Context, b *batch) error {
	if !t.klInReward() && (t.frozen() || t.cfg.MaxEpochs == 1 && len(b.miniBatches(t.cfg.BatchSize)) == 1) {
		return nil
	}
	var unknown []*Segment
	for _, s := range b.segments {
		if !s.exact {
			unknown = append(unknown, s)
		}
	}
	if len(unknown) > 0 && !t.klInReward() && !t.cfg.ReadsOld() {
		return nil
	}
	for _, s := range b.segments {
		if s.exact {
			s.LogpOld = s.LogpGen
		}
	}
	return t.pass(ctx, t.models.Policy, unknown, engine.Want{}, func(s *Segment) *[]float32 { return &s.LogpOld })
}

// scoreReference fills LogpRef where the KL is read.
func (t *Trainer) scoreReference(ctx context.Context, b *batch) error {
	if !t.klInReward() && (!t.klInLoss() || t.frozen()) {
		return nil
	}
	return t.pass(ctx, t.models.Reference, b.segments, engine.Want{}, func(s *Segment) *[]float32 { return &s.LogpRef })
}

// scoreValues fills ValueOld where there is a critic.
func (t *Trainer) scoreValues(ctx context.Context, b *batch) error {
	if !t.criticises() {
		return nil
	}
	return t.pass(ctx, t.critic(), b.segments, engine.Want{Value: true}, func(s *Segment) *[]float32 { return &s.ValueOld })
}

// pass runs the segments through a learner without keeping the graph, and fills a lane with the values if they are wanted,
// with the log-probs otherwise.
func (t *Trainer) pass(ctx context.Context, l engine.Scorer, segments []*Segment, want engine.Want, lane func(*Segment) *[]float32) error {
	for _, m := range pack(segments, t.cfg.MicroTokens) {
		pass, err := l.Forward(ctx, m.batch, want)
		if err != nil {
			return err
		}
		from := pass.Logp()
		if want.Value {
			from = pass.Value()
		}
		for i, s := range m.segments {
			*lane(s) = append([]float32(nil), from[m.starts[i]:m.starts[i+1]]...)
		}
		pass.Release()
	}
	return nil
}
