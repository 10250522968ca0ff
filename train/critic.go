// The critic: what it says before a batch, and what it learns from it.

package train

import (
	"context"
	"fmt"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// CriticState is where the critic is; a checkpoint holds it.
type CriticState struct {
	Version traj.Version `json:"version"` // of its weights
	Steps   int64        `json:"steps"`   // its optimizer steps, skipped ones included: where its schedule is
}

// frozen reports whether the critic learns alone: advantages from values that mean nothing yet would teach the policy noise.
func (t *Trainer) frozen() bool {
	return t.models.Critic != nil && t.state.Batches < t.cfg.Critic.Warmup
}

// fitCritic teaches the critic the returns, in the mini-batches of the policy.
func (t *Trainer) fitCritic(ctx context.Context, b *batch, res *Result) error {
	if t.models.Critic == nil {
		return nil
	}
	for range t.cfg.Critic.MaxEpochs {
		for _, mini := range b.miniBatches(t.cfg.BatchSize) {
			if err := t.updateCritic(ctx, mini, res); err != nil {
				return fmt.Errorf("train: critic: %w", err)
			}
		}
	}
	return nil
}

// updateCritic takes one optimizer step of the critic.
//
//	L = coefficient · 1/D · Σ a·½·(V − R)², clipped        D and a as in the policy's loss
func (t *Trainer) updateCritic(ctx context.Context, mini miniBatch, res *Result) error {
	denominator := t.cfg.Loss.Denominator(mini.size)
	for _, m := range pack(mini.samples, t.cfg.MicroTokens) {
		pass, err := t.models.Critic.Forward(ctx, m.batch, engine.Want{Value: true, Grad: true})
		if err != nil {
			return err
		}
		in := m.tokens(pass)
		in.Share = make([]float32, len(in.Value))
		algo.Shares(in.Share, in, t.cfg.Loss)
		dValue, dLogp := make([]float32, len(in.Value)), make([]float32, len(in.Value))
		res.Critic.Loss.Add(algo.ValueLoss(dValue, in, t.cfg.Value, denominator))
		if err := pass.Backward(ctx, dLogp, nil, dValue); err != nil {
			return err
		}
	}
	lr := t.cfg.Critic.LR(t.state.Critic.Steps)
	step, err := t.models.Critic.Step(ctx, engine.StepOptions{LR: lr, Clip: t.cfg.Critic.MaxNorm})
	if err != nil {
		return err
	}
	t.state.Critic = CriticState{Version: step.Version, Steps: t.state.Critic.Steps + 1}
	res.Critic.Steps.add(step, lr)
	return nil
}

// foresaw describes the values that the advantages were computed from, before the critic learns what they should have been.
func (s *Sample) foresaw(cfg algo.ValueConfig) algo.ValueStats {
	in := algo.Tokens{Value: s.ValueOld, ValueOld: s.ValueOld, Return: s.Return}
	return algo.ValueLoss(make([]float32, len(s.Return)), in, cfg, float64(len(s.Return)))
}
