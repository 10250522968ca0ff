// The engines of a run of reinforcement learning. Everything but this file knows them by what engine.Generator and
// engine.Learner promise.

package run

import (
	"errors"

	"molt/engine"
	"molt/engine/local"
	"molt/run/leg"
	"molt/train"
)

// engines generate and train.
type engines struct {
	generator generator
	models    train.Models
}

// generator samples, and is handed the weights to sample from.
type generator interface {
	engine.Generator
	engine.WeightSink
}

// embedded starts the engines of this binary.
func embedded(p *rlPlan) (*engines, error) {
	e := &engines{}
	g, err := local.NewGenerator(p.shape, p.model.Weights, p.engine)
	if err != nil {
		return nil, leg.NotStarted(p.model.Path, err)
	}
	e.generator = proving(g, p.model.Weights)
	own := &companion{path: p.model.Path, shape: p.learned(), weights: p.model.Weights, engine: p.engine}
	for _, m := range []struct {
		*companion
		learner *engine.Learner
	}{{own, &e.models.Policy}, {p.others.critic, &e.models.Critic}} {
		if m.companion == nil {
			continue
		}
		l, err := local.NewLearner(m.shape, m.weights, m.engine)
		if err != nil {
			return nil, errors.Join(leg.NotStarted(m.path, err), e.close())
		}
		*m.learner = l
	}
	if r := p.others.reference; r != nil {
		s, err := local.NewScorer(r.shape, r.weights, r.engine)
		if err != nil {
			return nil, errors.Join(leg.NotStarted(r.path, err), e.close())
		}
		e.models.Reference = s
	}
	p.model.Release()
	return e, nil
}

// close ends what was started.
func (e *engines) close() error {
	errs := []error{e.generator.Close()}
	for _, l := range []engine.Scorer{e.models.Policy, e.models.Reference, e.models.Critic} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}
