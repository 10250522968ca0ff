// What a step reports about its tokens. Statistics hold sums and extremes, so that those of micro-batches add up in any
// grouping; the means are methods.

package algo

import "math"

// LossStats describes what PolicyLoss saw. The zero value is that of no tokens.
type LossStats struct {
	Tokens    int     // action tokens
	NonFinite int     // of these, tokens with a number that is not finite: they add nothing below. A healthy run has none
	Active    int     // tokens whose gradient is not 0; a step without any changes nothing
	Loss      float64 // Σ a·w·ℓ / denominator: summed over a step, the step's loss

	ClippedLow  int // tokens whose gradient a bound made 0: A < 0 and ratio below 1−ClipLow
	ClippedHigh int // A > 0 and ratio above 1+ClipHigh
	ClippedDual int // A < 0 and ratio above DualClip
	Capped      int // cispo: ratio above Ceiling, which limits the gradient and does not end it

	KL1      float64 // Σ Old − New: estimates tokens × KL(old‖new); may be negative
	KL3      float64 // Σ r − 1 − log r: the same with less variance, never negative
	RatioMin float64 // smallest and largest ratio; 0 when there is no finite token
	RatioMax float64
}

// count takes one token: its gradient, its own log-ratio and exp of it, and the ratio that the loss judged.
func (s *LossStats) count(gradient, logRatio, own, judged float64, c clip) {
	switch c {
	case clippedLow:
		s.ClippedLow++
	case clippedHigh:
		s.ClippedHigh++
	case clippedDual:
		s.ClippedDual++
	case capped:
		s.Capped++
	}
	if gradient != 0 {
		s.Active++
	}
	if s.RatioMax == 0 {
		s.RatioMin = judged
	}
	s.RatioMin, s.RatioMax = min(s.RatioMin, judged), max(s.RatioMax, judged)
	s.KL1 -= logRatio
	s.KL3 += excess(own, logRatio)
}

// Add joins the statistics of another part of the same step.
func (s *LossStats) Add(o LossStats) {
	if s.RatioMax == 0 {
		s.RatioMin = o.RatioMin
	} else if o.RatioMax != 0 {
		s.RatioMin = min(s.RatioMin, o.RatioMin)
	}
	s.RatioMax = max(s.RatioMax, o.RatioMax)
	s.Tokens += o.Tokens
	s.NonFinite += o.NonFinite
	s.Active += o.Active
	s.Loss += o.Loss
	s.ClippedLow += o.ClippedLow
	s.ClippedHigh += o.ClippedHigh
	s.ClippedDual += o.ClippedDual
	s.Capped += o.Capped
	s.KL1 += o.KL1
	s.KL3 += o.KL3
}

// Clipped is the fraction of tokens that a bound took the gradient from, or limited it.
func (s LossStats) Clipped() float64 {
	return share(float64(s.ClippedLow+s.ClippedHigh+s.ClippedDual+s.Capped), s.Tokens)
}

// MeanKL1 and MeanKL3 estimate KL(old‖new) per token, in nats.
func (s LossStats) MeanKL1() float64 { return share(s.KL1, s.Tokens-s.NonFinite) }
func (s LossStats) MeanKL3() float64 { return share(s.KL3, s.Tokens-s.NonFinite) }

// MismatchStats describes how far generator and learner are apart. It does not depend on the correction, but for Units
// and Filtered. The zero value is that of no tokens.
type MismatchStats struct {
	Tokens    int     // action tokens with finite log-probs
	NonFinite int     // the others. A healthy run has none
	Units     int     // what was judged: tokens, or segments with at least one
	Filtered  int     // of these, the ones whose weight is not their own mismatch: zeroed, clamped or dropped
	KL1       float64 // Σ Gen − Old: estimates tokens × KL(gen‖old); may be negative
	KL3       float64 // Σ m − 1 − log m: the same with less variance, never negative
	Worst     float64 // largest |Old − Gen|, nats
	sum, sum2 float64 // Σ m, Σ m²
}

// count takes one token's log-mismatch d = Old − Gen and its exponential.
func (s *MismatchStats) count(d, m float64) {
	s.Tokens++
	s.KL1 -= d
	s.KL3 += excess(m, d)
	s.Worst = max(s.Worst, math.Abs(d))
	s.sum += m
	s.sum2 += m * m
}

// Add joins the statistics of other tokens.
func (s *MismatchStats) Add(o MismatchStats) {
	s.Tokens += o.Tokens
	s.NonFinite += o.NonFinite
	s.Units += o.Units
	s.Filtered += o.Filtered
	s.KL1 += o.KL1
	s.KL3 += o.KL3
	s.Worst = max(s.Worst, o.Worst)
	s.sum += o.sum
	s.sum2 += o.sum2
}

// MeanKL1 and MeanKL3 estimate KL(gen‖old) per token, in nats.
func (s MismatchStats) MeanKL1() float64 { return share(s.KL1, s.Tokens) }
func (s MismatchStats) MeanKL3() float64 { return share(s.KL3, s.Tokens) }

// EffectiveShare is the effective sample size per token, (Σ m)² / (N · Σ m²): 1 when all tokens weigh the same, 1/N when
// one outweighs all others. It is that of the uncorrected weights.
func (s MismatchStats) EffectiveShare() float64 {
	if s.sum2 == 0 {
		return 0
	}
	return s.sum * s.sum / s.sum2 / float64(s.Tokens)
}

// excess is r − 1 − log r, which is below 0 by rounding only.
func excess(r, logR float64) float64 { return max(0, r-1-logR) }

// share is sum/n, and 0 for nothing.
func share(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// mean is exact for equal values: it averages the distances from the first.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	var sum float64
	for _, v := range x {
		sum += v - x[0]
	}
	return x[0] + sum/float64(len(x))
}

// sampleStd is the standard deviation with n−1 in the denominator; 0 for fewer than two values.
func sampleStd(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m := mean(x)
	var sum float64
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}
