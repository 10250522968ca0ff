package local

import (
	"context"
	"fmt"
	"math"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/traj"
)

// Learner implements engine.Learner. One goroutine drives it.
type Learner struct {
	config    Config
	shape     model.Config
	model     *model.Model
	pool      *kernel.Pool
	work      *model.Work
	grads     *model.Grads
	optimizer *optim.Optimizer
	version   traj.Version
	parent    traj.Version
	print     string // fingerprint of the weights; "" until asked for
	living    *pass
}

// NewLearner makes a learner that starts from w, which it copies, with a fresh optimizer. Close frees its memory.
func NewLearner(shape model.Config, w engine.Weights, config Config) (*Learner, error) {
	if err := config.Validate(shape); err != nil {
		return nil, err
	}
	config = config.resolve(shape)
	m, err := model.New(shape)
	if err != nil {
		return nil, err
	}
	if err := checkWeights(m.Params(), w); err != nil {
		m.Free()
		return nil, fmt.Errorf("local: starting a learner: %w", err)
	}
	l := &Learner{config: config, shape: shape, model: m}
	if err := l.prepare(); err != nil {
		m.Free()
		return nil, err
	}
	l.version, l.parent, l.print = w.Version, w.Parent, w.Fingerprint
	setWeights(m, w, l.pool)
	l.work = model.NewWork(m, l.pool, config.batchBudget())
	return l, nil
}

// prepare allocates what training needs beside the weights.
func (l *Learner) prepare() (err error) {
	if l.grads, err = model.NewGrads(l.shape); err != nil {
		return err
	}
	if l.optimizer, err = optim.New(trained(l.model.Params(), l.grads.Params()), l.config.Optimizer, l.config.Threads); err != nil {
		l.grads.Free()
		return err
	}
	l.pool = kernel.NewPool(l.config.Threads)
	return nil
}

// trained pairs weights with gradients for the optimizer; grads is nil where only names and shapes matter.
func trained(weights, grads []model.Param) []optim.Param {
	params := make([]optim.Param, len(weights))
	for i, p := range weights {
		params[i] = optim.Param{Name: p.Name, Shape: p.Shape, Decay: p.Decay, Data: p.Data}
		if grads != nil {
			params[i].Grad = grads[i].Data
		}
	}
	return params
}

// Capabilities implements engine.Learner.
func (l *Learner) Capabilities() engine.LearnerCapabilities {
	return engine.LearnerCapabilities{
		Name:      "local",
		Numerics:  numerics,
		Value:     l.shape.ValueHead,
		Vocab:     l.shape.Vocab,
		MaxTokens: l.shape.MaxPositions,
		MaxBatch:  l.config.BatchTokens,
	}
}

// ready refuses what may not happen beside a living pass, or after the context has ended or the learner has closed.
func (l *Learner) ready(ctx context.Context, doing string) error {
	switch {
	case l.model == nil:
		return fmt.Errorf("local: %s: the learner is closed", doing)
	case l.living != nil:
		return fmt.Errorf("local: %s: a pass is alive; end it with Backward or Release", doing)
	case ctx.Err() != nil:
		return fmt.Errorf("local: %s: %w", doing, ctx.Err())
	}
	return nil
}

// Forward implements engine.Learner.
func (l *Learner) Forward(ctx context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	if err := l.ready(ctx, "forward"); err != nil {
		return nil, err
	}
	if err := l.check(b, want); err != nil {
		return nil, err
	}
	p := &pass{learner: l, want: want}
	p.Pass = l.model.Forward(l.work, model.Batch(b), model.Want(want))
	l.living = p
	return p, nil
}

func (l *Learner) check(b engine.Batch, want engine.Want) error {
	if err := b.Validate(l.shape.Vocab, l.shape.MaxPositions); err != nil {
		return err
	}
	if len(b.Tokens) > l.config.BatchTokens {
		return fmt.Errorf("local: forward of %d tokens, more than BatchTokens, %d: %w", len(b.Tokens), l.config.BatchTokens, engine.ErrTooLong)
	}
	if want.Value && !l.shape.ValueHead {
		return fmt.Errorf("local: forward with values: the model has no value head")
	}
	return l.work.Fits(model.Batch(b))
}

// Step implements engine.Learner.
func (l *Learner) Step(ctx context.Context, o engine.StepOptions) (engine.StepResult, error) {
	if err := l.ready(ctx, "step"); err != nil {
		return engine.StepResult{}, err
	}
	if !(o.LR >= 0 && o.Clip >= 0) || math.IsInf(o.LR, 0) {
		return engine.StepResult{}, fmt.Errorf("local: step with learning rate %g and clip %g; both must be at least 0, and the rate finite", o.LR, o.Clip)
	}
	result := engine.StepResult{Version: l.version, GradNorm: l.optimizer.Norm(l.pool)}
	result.Skipped = math.IsNaN(result.GradNorm) || math.IsInf(result.GradNorm, 0)
	if !result.Skipped {
		l.optimizer.Step(l.pool, o.LR, shrink(result.GradNorm, o.Clip))
		l.model.Refresh(l.pool)
		l.parent, l.version, l.print = l.version, l.version+1, ""
		result.Version = l.version
	}
	l.grads.Zero()
	return result, nil
}

// shrink is what gradients are multiplied by so that their norm is at most clip; 0 does not clip.
func shrink(norm, clip float64) float64 {
	if clip > 0 && norm > clip {
		return clip / norm
	}
	return 1
}

// Weights implements engine.Learner.
func (l *Learner) Weights(context.Context) (engine.Weights, error) {
	if l.model == nil {
		return engine.Weights{}, fmt.Errorf("local: reading the weights: the learner is closed")
	}
	w := engine.Weights{Version: l.version, Parent: l.parent, Tensors: tensors(l.model.Params())}
	if l.print == "" {
		l.print = fingerprint(w.Tensors)
	}
	w.Fingerprint = l.print
	return w, nil
}

// Close implements engine.Learner.
func (l *Learner) Close() error {
	if l.model == nil {
		return nil
	}
	if l.living != nil {
		l.living.Release()
	}
	l.pool.Close()
	l.work.Free()
	l.optimizer.Free()
	l.grads.Free()
	l.model.Free()
	l.model = nil
	return nil
}
