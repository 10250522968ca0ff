package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"molt/engine"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/traj"
)

// Learner implements engine.Learner: a scorer whose weights, or the adapter over them, are under training. One goroutine
// drives it.
type Learner struct {
	Scorer
	optimizer *optim.Optimizer
	head      *optim.Optimizer // of the value head; nil where optimizer steps it, or there is none
	headGrad  []float32
	version   traj.Version
	parent    traj.Version
	print     string // fingerprint of the weights; "" until asked for
}

// NewLearner makes a learner that starts from w, which it copies, with a fresh optimizer. Close frees its memory. With
// Config.LoRA it trains the adapter of w, or a fresh one where w has none, and keeps the matrices under it in place of copying
// them: they must not change until Close. With Config.Head the value head is no part of w,
// and starts with zeros: it foresees nothing until it has learned.
func NewLearner(shape model.Config, w engine.Weights, config Config) (*Learner, error) {
	if err := config.Validate(shape); err != nil {
		return nil, err
	}
	config = config.resolve(shape)
	w, err := config.start(shape, w)
	if err != nil {
		return nil, err
	}
	s, err := newScorer(shape, w, config)
	if err != nil {
		return nil, fmt.Errorf("local: starting a learner: %w", err)
	}
	l := &Learner{Scorer: *s, version: w.Version, parent: w.Parent, print: w.Fingerprint}
	if err := l.prepare(w); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// start is w with the adapter that is trained first.
func (c Config) start(shape model.Config, w engine.Weights) (engine.Weights, error) {
	switch {
	case c.LoRA.Rank == 0 && w.Adapter != nil:
		return w, errors.New("local: starting a learner: the weights have an adapter; merge it, or train it with LoRA")
	case c.LoRA.Rank == 0:
		return w, nil
	case w.Adapter != nil:
		return w, c.LoRA.matches(w.Adapter, model.Layout(shape))
	}
	var err error
	if w.Adapter, err = c.LoRA.fresh(model.Layout(shape), w.Fingerprint); err == nil {
		w.Fingerprint = peft(w.Adapter).Fingerprint(w.Fingerprint)
	}
	return w, err
}

// prepare sets the weights and allocates what training needs beside them.
func (l *Learner) prepare(w engine.Weights) (err error) {
	if l.grads, err = model.NewGrads(l.shape); err != nil {
		return err
	}
	if w.Adapter != nil {
		base := slices.Clone(w.Tensors) // Config.Copied may clear those of w
		l.held.copy(w)
		l.held.Refresh(l.pool)
		l.held.base = w.Adapter.Base
		l.held.adapt = adaptationOf(l.held.Params(), l.grads.Params(), base, w.Adapter, l.config.Threads)
	}
	l.held.set(w, l.pool)
	l.work = model.NewWork(l.held.Model, l.pool, l.config.batchBudget())
	params, head, err := l.config.trains(l.shape)
	if err != nil {
		return err
	}
	l.bind(params)
	l.bind(head)
	if l.optimizer, err = optim.New(params, l.config.Optimizer, l.config.Threads); err != nil || head == nil {
		return err
	}
	l.headGrad = head[0].Grad
	l.head, err = optim.New(head, *l.config.Head, l.config.Threads)
	return err
}

// bind gives parameters under training their numbers and gradients.
func (l *Learner) bind(params []optim.Param) {
	data, grad := map[string][]float32{}, map[string][]float32{}
	for i, p := range l.held.Params() {
		data[p.Name], grad[p.Name] = p.Data, l.grads.Params()[i].Data
	}
	if l.held.adapt != nil {
		for i, f := range l.held.adapt.factors() {
			data[f.Name], grad[f.Name] = f.Data, l.held.adapt.gradients()[i]
		}
	}
	for i := range params {
		params[i].Data, params[i].Grad = data[params[i].Name], grad[params[i].Name]
	}
}

// Capabilities implements engine.Learner.
func (l *Learner) Capabilities() engine.LearnerCapabilities {
	c := l.Scorer.Capabilities()
	c.OwnHead = l.head != nil
	return c
}

// Step implements engine.Learner.
func (l *Learner) Step(ctx context.Context, o engine.StepOptions) (engine.StepResult, error) {
	if err := l.ready(ctx, "step"); err != nil {
		return engine.StepResult{}, err
	}
	if err := l.checkStep(o); err != nil {
		return engine.StepResult{}, err
	}
	result := l.norms()
	if o.Head != nil && o.Head.Only {
		result.GradNorm = 0
	}
	if sum := result.GradNorm + result.HeadNorm; math.IsNaN(sum) || math.IsInf(sum, 0) {
		result.Skipped = true
	} else {
		l.take(o, result)
	}
	l.grads.Zero()
	result.Version = l.version
	return result, nil
}

func (l *Learner) checkStep(o engine.StepOptions) error {
	usable := func(lr, clip float64) bool { return lr >= 0 && clip >= 0 && !math.IsInf(lr, 0) }
	switch {
	case !usable(o.LR, o.Clip):
		return fmt.Errorf("local: step with learning rate %g and clip %g; both must be at least 0, and the rate finite", o.LR, o.Clip)
	case (o.Head != nil) != (l.head != nil):
		return fmt.Errorf("local: step with options for the value head: %t; with an optimizer of its own for it: %t", o.Head != nil, l.head != nil)
	case o.Head != nil && !usable(o.Head.LR, o.Head.Clip):
		return fmt.Errorf("local: step of the value head with learning rate %g and clip %g; both must be at least 0, and the rate finite", o.Head.LR, o.Head.Clip)
	}
	return nil
}

// norms are those of the gradients that were accumulated, of what is trained.
func (l *Learner) norms() (r engine.StepResult) {
	if l.held.adapt != nil {
		l.held.adapt.project(l.pool)
	}
	r.GradNorm = l.optimizer.Norm(l.pool)
	if l.head != nil {
		r.HeadNorm = l.head.Norm(l.pool)
	}
	return r
}

// take steps what is to step.
func (l *Learner) take(o engine.StepOptions, norms engine.StepResult) {
	if o.Head != nil {
		l.head.Step(l.pool, o.Head.LR, shrink(norms.HeadNorm, o.Head.Clip))
		if o.Head.Only {
			return
		}
	}
	l.optimizer.Step(l.pool, o.LR, shrink(norms.GradNorm, o.Clip))
	l.moved()
	l.parent, l.version = l.version, l.version+1
}

// moved makes numbers that were changed the ones that passes use.
func (l *Learner) moved() {
	if l.held.adapt != nil {
		l.held.adapt.merge(l.pool)
	}
	l.held.Refresh(l.pool)
	l.print = ""
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
	if l.held.Model == nil {
		return engine.Weights{}, errors.New("local: reading the weights: the learner is closed")
	}
	w := engine.Weights{Version: l.version, Parent: l.parent, Tensors: l.held.baseTensors()}
	if l.held.adapt != nil {
		w.Adapter = l.held.adapt.adapter()
	}
	if l.print == "" {
		l.print = printOf(w)
	}
	w.Fingerprint = l.print
	return w, nil
}

// printOf is the fingerprint of weights whose base is as it was.
func printOf(w engine.Weights) string {
	if w.Adapter == nil {
		return fingerprint(w.Tensors)
	}
	return peft(w.Adapter).Fingerprint(w.Adapter.Base)
}

// Close implements engine.Learner.
func (l *Learner) Close() error {
	if l.held.Model == nil {
		return nil
	}
	for _, o := range []*optim.Optimizer{l.optimizer, l.head} {
		if o != nil {
			o.Free()
		}
	}
	if l.grads != nil {
		l.grads.Free()
	}
	return l.Scorer.Close()
}
