package local

import (
	"context"
	"errors"
	"fmt"

	"molt/engine"
	"molt/numeric/model"
)

// pass implements engine.Pass. Its lanes lie in the scorer's memory: they are gone when the pass has ended.
type pass struct {
	*model.Pass // nil when the pass has ended
	scorer      *Scorer
	want        engine.Want
}

func (p *pass) Logp() []float32 {
	if p.Pass == nil {
		return nil
	}
	return p.Pass.Logp
}

func (p *pass) Entropy() []float32 {
	if p.Pass == nil {
		return nil
	}
	return p.Pass.Entropy
}

func (p *pass) Value() []float32 {
	if p.Pass == nil {
		return nil
	}
	return p.Pass.Value
}

// Backward implements engine.Pass. Derivatives that do not fit leave the pass alive.
func (p *pass) Backward(_ context.Context, dLogp, dEntropy, dValue []float32) error {
	switch {
	case p.Pass == nil:
		return errors.New("local: backward: the pass has ended")
	case !p.want.Grad:
		return errors.New("local: backward: the pass was not asked for gradients")
	}
	if err := errors.Join(
		fits("log-prob", dLogp, true, p.Logp()),
		fits("entropy", dEntropy, dEntropy != nil, p.Entropy()),
		fits("value", dValue, dValue != nil, p.Value()),
	); err != nil {
		return err
	}
	p.Pass.Backward(p.scorer.grads, dLogp, dEntropy, dValue)
	p.Release()
	return nil
}

func fits(lane string, d []float32, given bool, of []float32) error {
	if given && len(d) != len(of) {
		return fmt.Errorf("local: backward: %d derivatives of a %s lane of %d", len(d), lane, len(of))
	}
	return nil
}

// Release implements engine.Pass.
func (p *pass) Release() {
	if p.scorer.living == p {
		p.scorer.living, p.Pass = nil, nil
	}
}
