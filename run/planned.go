// How long a run would take: the arithmetic that it needs, by the speed of this machine. It is right within a factor of two or
// so where lengths are known, and a bound where they are not.

package run

import (
	"fmt"

	"molt/run/machine"
	"molt/run/recipe"
)

// effort is what a run computes.
type effort struct {
	parameters int64
	trained    int64 // tokens that are learned from, counted as often as they are
	scored     int64 // tokens that are only scored
	generated  int64 // tokens that are sampled
	threads    int
}

// Shares of the speed of a large matrix product that training and generating reach (molt bench).
const (
	trainingShare   = 0.6
	generatingShare = 0.15
)

// seconds is the time that the effort takes here. A token costs two operations for each parameter forwards, four backwards.
func (e effort) seconds() float64 {
	work := float64(6*e.trained+2*e.scored)/trainingShare + float64(2*e.generated)/generatingShare
	return work * float64(e.parameters) / machine.Speed(e.threads)
}

// rollouts is the most that so many rollouts may sample, prompts left aside.
func rolloutTokens(c *recipe.Config, rollouts int64) int64 {
	return rollouts * int64(min(c.Rollout.MaxLen, c.Agent.MaxTurns*c.Rollout.MaxNewTokens))
}

func (p *rlPlan) effort() effort {
	c := p.cfg
	all := p.steps * int64(c.Rollout.BatchSize*c.Rollout.Samples)
	e := effort{parameters: int64(p.shape.ParamCount()), generated: rolloutTokens(c, all), threads: c.Engine.Threads}
	tokens := all * int64(c.Rollout.MaxLen)
	e.trained, e.scored = tokens*int64(c.Train.MaxEpochs), tokens
	if c.Compares() {
		e.scored += tokens
	}
	if c.Criticises() {
		e.trained += tokens * int64(p.criticEpochs())
	}
	evaluations := int64(1)
	if c.Eval.Steps > 0 {
		evaluations += p.steps / int64(c.Eval.Steps)
	}
	e.generated += rolloutTokens(c, evaluations*int64(len(p.heldOut)*c.Eval.Samples))
	return e
}

func (p *sftPlan) effort() effort {
	tokens := 0
	for _, e := range p.examples {
		tokens += len(e.Tokens)
	}
	each := float64(tokens) / float64(len(p.examples))
	e := effort{parameters: int64(p.shape.ParamCount()), trained: int64(each * float64(p.steps) * float64(p.cfg.Train.BatchSize)), threads: p.cfg.Engine.Threads}
	evaluations := int64(1)
	if p.cfg.Eval.Steps > 0 {
		evaluations += p.steps / int64(p.cfg.Eval.Steps)
	}
	for _, h := range p.heldOut {
		e.scored += evaluations * int64(len(h.Tokens))
	}
	return e
}

// roughly writes a time as people guess it.
func roughly(seconds float64) string {
	switch {
	case seconds < 10:
		return "a few seconds"
	case seconds < 90:
		return fmt.Sprintf("about %d s", 10*int(seconds/10+0.5))
	case seconds < 90*60:
		return fmt.Sprintf("about %.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("about %.0f h", seconds/3600)
	}
	return fmt.Sprintf("about %.0f days", seconds/(24*3600))
}
