// What each token did, for people who look at a rollout.

package train

import "math"

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

// Change is how far the step's first update moved the sample: the mean |LogpNew − LogpOld| of its action tokens, in nats.
func (s *Sample) Change() float64 {
	if s.LogpNew == nil || s.LogpOld == nil {
		return 0
	}
	var sum float64
	for i := range s.LogpNew {
		sum += math.Abs(float64(s.LogpNew[i]) - float64(s.LogpOld[i]))
	}
	return sum / float64(len(s.LogpNew))
}
