// One batch of reinforcement learning.

package train

import (
	"context"
	"fmt"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// Trainer applies batches of groups to the models. It is driven by one goroutine.
type Trainer struct {
	cfg    Config
	models Models
	state  State
}

// Models are the learners that a trainer drives.
type Models struct {
	Policy    engine.Learner
	Reference engine.Scorer  // frozen: the policy is held near it, or taught by it; nil where nothing measures that distance
	Critic    engine.Learner // has a value head; nil without an estimator that reads values, or where the policy has the head
}

// State is what a trainer carries from batch to batch; a checkpoint holds it.
type State struct {
	Version traj.Version `json:"version"` // of the policy
	Steps   int64        `json:"steps"`   // optimizer steps of the policy, skipped ones included: where the schedule is
	Batches int64        `json:"batches"` // batches consumed
	KL      float64      `json:"kl_coef"` // current weight of the KL divergence
	Rewards algo.Running `json:"rewards"` // seen so far
	Critic  CriticState  `json:"critic"`
}

// New returns a trainer that starts from state.
func New(cfg Config, models Models, state State) *Trainer {
	return &Trainer{cfg: cfg, models: models, state: state}
}

// State returns what a checkpoint must hold besides what Save of policy and critic writes.
func (t *Trainer) State() State { return t.state }

// Step trains on one batch: what is compared with (score.go), what rollouts are worth (reward.go), how much better each
// token did than expected (advantage.go); then the critic learns (critic.go), and the policy. Groups that are marked as
// filtered are left out. On error the models may have taken some of the batch's optimizer steps: go back to the last
// checkpoint.
func (t *Trainer) Step(ctx context.Context, groups []*traj.Group) (*Result, error) {
	b, err := newBatch(groups, t.state.Version, t.cfg)
	if err != nil {
		return nil, err
	}
	if err := t.score(ctx, b); err != nil {
		return nil, err
	}
	res := t.begin(b)
	t.rewards(b)
	t.advantages(b, res)
	if err := t.checkUnpassed(ctx, b); err != nil {
		return nil, err
	}
	if err := t.fitCritic(ctx, b, res); err != nil {
		return nil, err
	}
	if err := t.fitPolicy(ctx, b, res); err != nil {
		return nil, err
	}
	t.state.Batches++
	if res.Reference.Tokens > 0 {
		t.state.KL = t.cfg.KL.NextCoef(t.state.KL, res.Reference.Mean(), len(b.rollouts))
	}
	return res.finish(t.state.Version), nil
}

// fitPolicy takes one optimizer step for each mini-batch, MaxEpochs times over, unless the critic learns alone.
func (t *Trainer) fitPolicy(ctx context.Context, b *batch, res *Result) error {
	if res.Frozen {
		return nil
	}
	for range t.cfg.MaxEpochs {
		for _, mini := range b.miniBatches(t.cfg.BatchSize) {
			if err := t.update(ctx, mini, res); err != nil {
				return err
			}
		}
	}
	return nil
}

// update takes one optimizer step on a mini-batch: forward, loss, backward for each micro-batch, then the step. The
// denominator counts all of the mini-batch, what has no gradient included, so how it is cut into micro-batches changes
// nothing.
func (t *Trainer) update(ctx context.Context, mini miniBatch, res *Result) error {
	trained := t.withGradient(mini.segments)
	if len(trained) == 0 {
		res.Idle++
		return nil
	}
	denominator := t.cfg.Loss.Denominator(mini.size)
	want := engine.Want{Grad: true, Entropy: t.cfg.EntropyCoef != 0, Value: t.shared()}
	for _, m := range pack(trained, t.cfg.MicroTokens) {
		pass, err := t.models.Policy.Forward(ctx, m.batch, want)
		if err != nil {
			return fmt.Errorf("train: forward: %w", err)
		}
		in := m.tokens(pass)
		if err := t.checkExact(m, in, res.Before); err != nil {
			pass.Release()
			return err
		}
		dLogp, dEntropy, dValue := t.loss(&in, denominator, res)
		m.record(in, dLogp, t.cfg.Loss, denominator)
		res.Tokens += len(m.batch.Tokens)
		if err := pass.Backward(ctx, dLogp, dEntropy, dValue); err != nil {
			return fmt.Errorf("train: backward: %w", err)
		}
	}
	return t.apply(ctx, res)
}

// loss returns the derivative of everything that is minimised by each action token's log-prob, by its entropy where a bonus
// is wanted, and by its value where the critic shares the policy's trunk. w is a token's weight by mismatch and age, a its
// part in the loss, D the denominator:
//
//	L = 1/D · Σ a·(w·ℓ + KL coefficient · KL(new‖ref) − entropy coefficient · entropy + value coefficient · ½·(V − R)², clipped)
func (t *Trainer) loss(in *algo.Tokens, denominator float64, res *Result) (dLogp, dEntropy, dValue []float32) {
	n := len(in.LogpNew)
	in.Weight, in.Share, dLogp = make([]float32, n), make([]float32, n), make([]float32, n)
	res.Mismatch.Add(algo.Correct(in.Weight, *in, t.cfg.Correction))
	algo.WeighLag(in.Weight, in.Lag, t.cfg.Lag)
	res.Lags.Add(algo.Lags(*in))
	algo.Shares(in.Share, *in, t.cfg.Loss)
	res.Loss.Add(algo.PolicyLoss(dLogp, *in, t.cfg.Loss, denominator))
	if t.klInLoss() {
		res.Reference.Add(algo.KLLoss(dLogp, *in, t.cfg.KL.Estimator, t.state.KL, denominator))
	}
	if in.Entropy != nil {
		dEntropy = make([]float32, n)
		res.entropySum += algo.EntropyLoss(dEntropy, *in, t.cfg.EntropyCoef, denominator)
	}
	if in.Value != nil {
		dValue = t.valueLoss(*in, denominator, res)
	}
	return dLogp, dEntropy, dValue
}

// apply takes the optimizer step for the accumulated gradients.
func (t *Trainer) apply(ctx context.Context, res *Result) error {
	lr := t.cfg.LR(t.state.Steps)
	step, err := t.models.Policy.Step(ctx, engine.StepOptions{LR: lr, Clip: t.cfg.MaxNorm, Head: t.headStep()})
	if err != nil {
		return fmt.Errorf("train: optimizer step: %w", err)
	}
	t.state.Steps++
	t.state.Version = step.Version
	t.headStepped(step, res)
	res.Steps.add(step, lr)
	return nil
}

// withGradient leaves out the segments whose every advantage is 0, where nothing else asks for a gradient.
func (t *Trainer) withGradient(segments []*Segment) []*Segment {
	if t.cfg.EntropyCoef != 0 || t.klInLoss() || t.shared() {
		return segments
	}
	var kept []*Segment
	for _, s := range segments {
		if s.hasAdvantage() {
			kept = append(kept, s)
		}
	}
	return kept
}

func (t *Trainer) klInLoss() bool {
	return t.models.Reference != nil && t.cfg.KL.AsLoss && t.state.KL > 0
}
func (t *Trainer) klInReward() bool { return t.models.Reference != nil && !t.cfg.KL.AsLoss }
