package local

import (
	"context"
	"errors"
	"fmt"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
)

// Scorer implements engine.Scorer: a model that never changes. It holds no gradients, no optimizer and no activations but
// those of one layer. One goroutine drives it.
type Scorer struct {
	config Config
	shape  model.Config
	held   held
	pool   *kernel.Pool
	work   *model.Work
	grads  *model.Grads // of a learner: where passes add to
	living *pass
}

// NewScorer makes a scorer of w, which it copies. Close frees its memory. Config.Optimizer, LoRA and Head are not read.
func NewScorer(shape model.Config, w engine.Weights, config Config) (*Scorer, error) {
	config.Head = nil
	config = config.resolve(shape)
	if err := config.validateMachine(shape); err != nil {
		return nil, err
	}
	s, err := newScorer(shape, w, config)
	if err != nil {
		return nil, fmt.Errorf("local: starting a scorer: %w", err)
	}
	s.held.set(w, s.pool)
	s.work = model.NewWork(s.held.Model, s.pool, config.scoreBudget())
	return s, nil
}

// newScorer checks w. The caller sets the weights, and what passes work in.
func newScorer(shape model.Config, w engine.Weights, config Config) (*Scorer, error) {
	m, err := model.New(shape)
	if err != nil {
		return nil, err
	}
	s := &Scorer{config: config, shape: shape, held: hold(m, config.given(m.Params()), config)}
	if err := s.held.check(w); err != nil {
		m.Free()
		return nil, err
	}
	s.pool = kernel.NewPool(config.Threads)
	return s, nil
}

// Capabilities implements engine.Scorer.
func (s *Scorer) Capabilities() engine.LearnerCapabilities {
	return engine.LearnerCapabilities{
		Name:      "local",
		Numerics:  numerics,
		Value:     s.shape.ValueHead,
		Vocab:     s.shape.Vocab,
		MaxTokens: s.shape.MaxPositions,
		MaxBatch:  s.config.BatchTokens,
	}
}

// ready refuses what may not happen beside a living pass, or after the context has ended or the scorer has closed.
func (s *Scorer) ready(ctx context.Context, doing string) error {
	switch {
	case s.held.Model == nil:
		return fmt.Errorf("local: %s: the learner is closed", doing)
	case s.living != nil:
		return fmt.Errorf("local: %s: a pass is alive; end it with Backward or Release", doing)
	case ctx.Err() != nil:
		return fmt.Errorf("local: %s: %w", doing, ctx.Err())
	}
	return nil
}

// Forward implements engine.Scorer.
func (s *Scorer) Forward(ctx context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	if err := s.ready(ctx, "forward"); err != nil {
		return nil, err
	}
	if err := s.check(b, want); err != nil {
		return nil, err
	}
	p := &pass{scorer: s, want: want}
	p.Pass = s.held.Forward(s.work, model.Batch(b), model.Want(want))
	s.living = p
	return p, nil
}

func (s *Scorer) check(b engine.Batch, want engine.Want) error {
	if err := b.Validate(s.shape.Vocab, s.shape.MaxPositions); err != nil {
		return err
	}
	if len(b.Tokens) > s.config.BatchTokens {
		return fmt.Errorf("local: forward of %d tokens, more than BatchTokens, %d: %w", len(b.Tokens), s.config.BatchTokens, engine.ErrTooLong)
	}
	if want.Value && !s.shape.ValueHead {
		return errors.New("local: forward with values: the model has no value head")
	}
	if want.Grad && s.grads == nil {
		return errors.New("local: forward with gradients: these weights never change")
	}
	return s.work.Fits(model.Batch(b))
}

// Close implements engine.Scorer.
func (s *Scorer) Close() error {
	if s.held.Model == nil {
		return nil
	}
	if s.living != nil {
		s.living.Release()
	}
	s.pool.Close()
	s.work.Free()
	s.held.free()
	s.held.Model = nil
	return nil
}
