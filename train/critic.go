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

// criticises reports whether there is a critic: a model of its own, or a value head on the policy.
func (t *Trainer) criticises() bool { return t.models.Critic != nil || t.shared() }

// shared reports whether the critic is a value head on the policy, which learns in the policy's own steps.
func (t *Trainer) shared() bool { return t.models.Policy.Capabilities().OwnHead }

// critic is what computes values.
func (t *Trainer) critic() engine.Learner {
	if t.shared() {
		return t.models.Policy
	}
	return t.models.Critic
}

// frozen reports whether the critic learns alone: advantages from values that mean nothing yet would teach the policy noise.
func (t *Trainer) frozen() bool {
	return t.criticises() && t.state.Batches < t.cfg.Critic.Warmup
}

// fitCritic teaches the critic the returns, in the mini-batches of the policy. One that shares the policy's trunk learns
// with it (update), and here only while the policy is frozen, its head alone.
func (t *Trainer) fitCritic(ctx context.Context, b *batch, res *Result) error {
	if !t.criticises() || t.shared() && !t.frozen() {
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
	for _, m := range pack(mini.segments, t.cfg.MicroTokens) {
		pass, err := t.critic().Forward(ctx, m.batch, engine.Want{Value: true, Grad: true})
		if err != nil {
			return err
		}
		in := m.tokens(pass)
		in.Share = make([]float32, len(in.Value))
		algo.Shares(in.Share, in, t.cfg.Loss)
		dLogp := make([]float32, len(in.Value))
		if err := pass.Backward(ctx, dLogp, nil, t.valueLoss(in, denominator, res)); err != nil {
			return err
		}
	}
	if t.shared() {
		head := t.headStep()
		head.Only = true
		step, err := t.models.Policy.Step(ctx, engine.StepOptions{Head: head})
		if err == nil {
			t.headStepped(step, res)
		}
		return err
	}
	lr := t.cfg.Critic.LR(t.state.Critic.Steps)
	step, err := t.models.Critic.Step(ctx, engine.StepOptions{LR: lr, Clip: t.cfg.Critic.MaxNorm})
	if err == nil {
		t.criticStepped(step, lr, res)
	}
	return err
}

// valueLoss returns the derivative of the value loss by each token's value.
func (t *Trainer) valueLoss(in algo.Tokens, denominator float64, res *Result) []float32 {
	dValue := make([]float32, len(in.Value))
	res.Critic.Loss.Add(algo.ValueLoss(dValue, in, t.cfg.Value, denominator))
	return dValue
}

// criticStepped notes an optimizer step of the critic.
func (t *Trainer) criticStepped(step engine.StepResult, lr float64, res *Result) {
	t.state.Critic = CriticState{Version: step.Version, Steps: t.state.Critic.Steps + 1}
	res.Critic.Steps.add(step, lr)
}

// headStep is how a critic that shares the policy's trunk steps next; nil without one.
func (t *Trainer) headStep() *engine.HeadStep {
	if !t.shared() {
		return nil
	}
	return &engine.HeadStep{LR: t.cfg.Critic.LR(t.state.Critic.Steps), Clip: t.cfg.Critic.MaxNorm}
}

// headStepped notes it.
func (t *Trainer) headStepped(step engine.StepResult, res *Result) {
	if t.shared() {
		step.GradNorm = step.HeadNorm
		t.criticStepped(step, t.cfg.Critic.LR(t.state.Critic.Steps), res)
	}
}

// foresaw describes the values that the advantages were computed from, before the critic learns what they should have been.
func (s *Segment) foresaw(cfg algo.ValueConfig) algo.ValueStats {
	in := algo.Tokens{Value: s.ValueOld, ValueOld: s.ValueOld, Return: s.Return}
	return algo.ValueLoss(make([]float32, len(s.Return)), in, cfg, float64(len(s.Return)))
}
