// One batch of reinforcement learning.

package train

import (
	"context"
	"fmt"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// Trainer applies batches of groups to a learner. It is driven by one goroutine.
type Trainer struct {
	cfg       Config
	learner   engine.Learner
	reference engine.Learner // frozen weights for KL; nil without
	state     State
}

// State is what a trainer carries from batch to batch; a checkpoint holds it.
type State struct {
	Version traj.Version `json:"version"` // of the learner
	Steps   int64        `json:"steps"`   // optimizer steps taken, skipped ones included: where the schedule is
	Batches int64        `json:"batches"` // batches consumed
	KL      float64      `json:"kl_coef"` // current weight of the KL divergence
}

// New returns a trainer that starts from state. reference may be nil when no KL is wanted.
func New(cfg Config, learner, reference engine.Learner, state State) *Trainer {
	return &Trainer{cfg: cfg, learner: learner, reference: reference, state: state}
}

// State returns what a checkpoint must hold besides what Learner.Save writes.
func (t *Trainer) State() State { return t.state }

// Step trains on one batch. Groups that are marked as filtered are left out. On error the learner may have taken some of
// the batch's optimizer steps: go back to the last checkpoint.
func (t *Trainer) Step(ctx context.Context, groups []*traj.Group) (*Result, error) {
	b, err := newBatch(groups, t.state.Version, t.cfg)
	if err != nil {
		return nil, err
	}
	if err := t.scoreOld(ctx, b); err != nil {
		return nil, fmt.Errorf("train: log-probs at the start of the step: %w", err)
	}
	if err := t.scoreReference(ctx, b); err != nil {
		return nil, fmt.Errorf("train: reference log-probs: %w", err)
	}
	res := &Result{Before: t.state.Version, KLCoef: t.state.KL, Rewards: b.rewards(t.cfg), Actions: actions(b.samples), Samples: b.samples}
	res.Advantage = t.advantages(b)
	for range t.cfg.MaxEpochs {
		for _, mini := range b.miniBatches(t.cfg.BatchSize) {
			if err := t.update(ctx, mini, res); err != nil {
				return nil, err
			}
		}
	}
	t.state.Batches++
	if res.Reference.Tokens > 0 {
		t.state.KL = t.cfg.KL.NextCoef(t.state.KL, res.Reference.Mean(), len(b.rollouts))
	}
	return res.finish(t.state.Version), nil
}

// update takes one optimizer step on a mini-batch: forward, loss, backward for each micro-batch, then the step. The
// denominator is the mini-batch's number of action tokens, those without gradient included, so how the mini-batch is cut
// into micro-batches changes nothing.
func (t *Trainer) update(ctx context.Context, mini []*Sample, res *Result) error {
	denominator := float64(actions(mini))
	trained := t.withGradient(mini)
	if len(trained) == 0 {
		res.Idle++
		return nil
	}
	want := engine.Want{Grad: true, Entropy: t.cfg.EntropyCoef != 0}
	for _, m := range pack(trained, t.cfg.MicroTokens) {
		pass, err := t.learner.Forward(ctx, m.batch, want)
		if err != nil {
			return fmt.Errorf("train: forward: %w", err)
		}
		in := m.tokens(pass.Logp())
		if err := t.checkExact(m, in, res.Before); err != nil {
			pass.Release()
			return err
		}
		dLogp, dEntropy := t.loss(&in, pass, denominator, res)
		m.record(in, dLogp, denominator)
		res.Tokens += len(m.batch.Tokens)
		if err := pass.Backward(ctx, dLogp, dEntropy, nil); err != nil {
			return fmt.Errorf("train: backward: %w", err)
		}
	}
	return t.apply(ctx, res)
}

// loss returns the derivative of everything that is minimised by each action token's log-prob, and by its entropy where
// a bonus is wanted.
//
//	L = policy loss + KL coefficient · KL(new‖ref) − entropy coefficient · entropy
func (t *Trainer) loss(in *algo.Tokens, pass engine.Pass, denominator float64, res *Result) (dLogp, dEntropy []float32) {
	dLogp = make([]float32, len(in.LogpNew))
	in.Weight = make([]float32, len(in.LogpNew))
	res.Mismatch.Add(algo.Correct(in.Weight, *in, t.cfg.Correction))
	res.Loss.Add(algo.PolicyLoss(dLogp, *in, t.cfg.Loss, denominator))
	if t.klInLoss() {
		res.Reference.Add(algo.KLLoss(dLogp, *in, t.cfg.KL.Estimator, t.state.KL, denominator))
	}
	if t.cfg.EntropyCoef == 0 {
		return dLogp, nil
	}
	dEntropy = make([]float32, len(dLogp))
	res.entropySum += algo.EntropyBonus(dEntropy, pass.Entropy(), t.cfg.EntropyCoef, denominator)
	return dLogp, dEntropy
}

// apply takes the optimizer step for the accumulated gradients.
func (t *Trainer) apply(ctx context.Context, res *Result) error {
	lr := t.cfg.LR(t.state.Steps)
	step, err := t.learner.Step(ctx, engine.StepOptions{LR: lr, Clip: t.cfg.MaxNorm})
	if err != nil {
		return fmt.Errorf("train: optimizer step: %w", err)
	}
	t.state.Steps++
	t.state.Version = step.Version
	res.step(step, lr)
	return nil
}

// withGradient leaves out the samples whose every advantage is 0, where nothing else asks for a gradient.
func (t *Trainer) withGradient(mini []*Sample) []*Sample {
	if t.cfg.EntropyCoef != 0 || t.klInLoss() {
		return mini
	}
	var kept []*Sample
	for _, s := range mini {
		if s.hasAdvantage() {
			kept = append(kept, s)
		}
	}
	return kept
}

func (t *Trainer) klInLoss() bool { return t.reference != nil && t.cfg.KL.AsLoss && t.state.KL > 0 }
