// What each token did, for people who look at a rollout.

package train

import "math"

// PerToken puts one number for each action token at its place in the segment [T], 0 elsewhere; nil stays nil.
func (s *Segment) PerToken(values []float32) []float32 {
	if values == nil {
		return nil
	}
	out := make([]float32, len(s.Layout.Tokens))
	for i, t := range s.score {
		out[t] = values[i]
	}
	return out
}

// Old gives LogpOld as the loss read it: LogpNew where no optimizer step lies between the two; nil where nothing asked for a gradient.
func (s *Segment) Old() []float32 {
	if s.LogpOld == nil {
		return s.LogpNew
	}
	return s.LogpOld
}

// Change is how far the first optimizer steps moved the segment before it was trained on: the mean |LogpNew − LogpOld| of its action tokens, in nats.
func (s *Segment) Change() float64 {
	if s.LogpNew == nil || s.LogpOld == nil {
		return 0
	}
	var sum float64
	for i := range s.LogpNew {
		sum += math.Abs(float64(s.LogpNew[i]) - float64(s.LogpOld[i]))
	}
	return sum / float64(len(s.LogpNew))
}
