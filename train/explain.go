// What each token did to the loss, for people who look at a rollout.

package train

import "molt/algo"

// TokenLoss gives the policy loss of each action token of a sample over the step's denominator, so that the numbers of
// all samples of a step add up to the step's loss. It is nil where nothing asked for a gradient.
func (t *Trainer) TokenLoss(s *Sample) []float32 {
	if s.LogpNew == nil {
		return nil
	}
	losses := make([]float64, len(s.LogpNew))
	algo.TokenLosses(losses, algo.Tokens{LogpNew: s.LogpNew, LogpOld: s.LogpOld, Advantage: s.Advantage, Weight: s.Weight}, t.cfg.Loss)
	share := make([]float32, len(losses))
	for i, l := range losses {
		share[i] = float32(l / s.denominator)
	}
	return share
}

// PerToken puts one number for each action token at its place in the segment [T], 0 elsewhere; nil stays nil.
func (s *Sample) PerToken(values []float32) []float32 {
	if values == nil {
		return nil
	}
	out := make([]float32, len(s.Segment.Tokens))
	for i, t := range s.score {
		out[t] = values[i]
	}
	return out
}

// Old gives LogpOld as the loss read it: LogpNew where no step lies between the two; nil where nothing asked for a gradient.
func (s *Sample) Old() []float32 {
	if s.LogpOld == nil {
		return s.LogpNew
	}
	return s.LogpOld
}
