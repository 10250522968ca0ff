// What each token did to the loss, for people who look at a rollout.

package train

import "molt/algo"

// TokenLoss gives the policy loss of each action token of a sample, divided by the step's denominator, so that the numbers
// of all samples of a step add up to the step's loss. It is nil where nothing asked for a gradient.
func (t *Trainer) TokenLoss(s *Sample) []float32 {
	if s.LogpNew == nil {
		return nil
	}
	loss := make([]float32, len(s.LogpNew))
	for i := range loss {
		one := algo.Tokens{LogpNew: s.LogpNew[i : i+1], Advantage: s.Advantage[i : i+1], Weight: s.Weight[i : i+1]}
		if s.LogpOld != nil {
			one.LogpOld = s.LogpOld[i : i+1]
		}
		loss[i] = float32(algo.PolicyLoss(make([]float32, 1), one, t.cfg.Loss, s.denominator).Loss)
	}
	return loss
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
