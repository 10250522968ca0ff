// Ratios between policies that should be the same and are not quite: the ratio of a token, exp(New − Old), and the
// mismatch between learner and generator, exp(Old − Gen), with the ways to correct for it.

package algo

import "math"

// maxExponent bounds log-ratios, so that exp stays far from overflow: e^30 is about 1e13.
const maxExponent = 30

// ratio is exp of a log-ratio bounded to ±maxExponent, and its derivative by the log-ratio: the same number, but 0 where
// the bound holds. NaN stays NaN.
type ratio struct{ value, slope float64 }

func ratioOf(logRatio float64) ratio {
	if within(logRatio, -maxExponent, maxExponent) {
		r := math.Exp(logRatio)
		return ratio{value: r, slope: r}
	}
	return ratio{value: math.Exp(bound(logRatio))}
}

// bound limits a log-ratio to ±maxExponent; NaN stays NaN.
func bound(logRatio float64) float64 { return min(max(logRatio, -maxExponent), maxExponent) }

// CorrectionConfig says how to correct for tokens that were not sampled by the learner's own weights: other kernels,
// other precision, older weights.
type CorrectionConfig struct {
	Level string  // a row of Levels: whose mismatch is judged; default "token"
	Mode  string  // a row of Modes: what happens outside of the band; default "mask"
	Low   float64 // lower end of the band, inclusive; 0..1, default 0.5
	High  float64 // upper end of the band, inclusive; ≥ 1, default 5
}

// Correct writes the importance weight of each action token to weight [N]. With m_t = exp(Old_t − Gen_t):
//
//	level      judged                                     mode       weight
//	off        nothing: every weight is 1                 mask       m_t inside the band, else 0
//	token      m_t                                        clip       m_t clamped to the band
//	sequence   exp(Σ (Old − Gen)) over the segment        truncate   m_t, but at most High
//	geometric  exp(mean(Old − Gen)) over the segment
//
// A kept token is always weighted by its own m_t, whatever level judged it. Weights are constants: no gradient passes.
// token × truncate is truncated importance sampling (TIS, as in IMPALA, arXiv 1802.01561), token × mask is IcePop
// (arXiv 2510.18855), sequence and geometric × mask drop whole segments. A token whose log-probs are not finite gets
// weight 0, and its segment is dropped when segments are judged.
//
// Where no step lies between Old and New, leave LogpOld nil: the correction is then from LogpNew.
func Correct(weight []float32, in Tokens, cfg CorrectionConfig) MismatchStats {
	old, gen := in.old(), in.LogpGen
	mustHave("LogpOld", len(old), len(weight))
	mustHave("LogpGen", len(gen), len(weight))
	level, mode := row(Levels, cfg.Level), row(Modes, cfg.Mode)

	var s MismatchStats
	starts := in.segments(len(weight))
	for k := range starts[1:] {
		lo, hi := starts[k], starts[k+1]
		sum := mismatch(weight[lo:hi], old[lo:hi], gen[lo:hi], &s)
		if level.unit == nil {
			correctTokens(weight[lo:hi], level, mode, cfg, &s)
		} else {
			correctSegment(weight[lo:hi], level.unit(sum, int(hi-lo)).value, cfg, &s)
		}
	}
	return s
}

// mismatch writes m_t = exp(old − gen), 0 where it is not finite, and returns the sum of the exponents.
func mismatch(m, old, gen []float32, s *MismatchStats) (sum float64) {
	for i := range m {
		d := float64(old[i]) - float64(gen[i])
		sum += d
		if !finite(d) {
			m[i] = 0
			s.NonFinite++
			continue
		}
		r := ratioOf(d).value
		m[i] = float32(r)
		s.count(d, r)
	}
	return sum
}

func correctTokens(weight []float32, level Level, mode Mode, cfg CorrectionConfig, s *MismatchStats) {
	s.Units += len(weight)
	for i, m := range weight {
		switch {
		case level.Off:
			weight[i] = 1
		case m > 0:
			weight[i] = float32(mode.weight(float64(m), cfg.Low, cfg.High))
		}
		if !level.Off && (weight[i] != m || m == 0) {
			s.Filtered++
		}
	}
}

// correctSegment drops the segment unless its ratio lies inside the band; a NaN does not.
func correctSegment(weight []float32, r float64, cfg CorrectionConfig, s *MismatchStats) {
	if len(weight) == 0 {
		return
	}
	s.Units++
	if !(cfg.Low <= r && r <= cfg.High) {
		clear(weight)
		s.Filtered++
	}
}

// The ratio of a segment, from the sum of its n log-ratios.
func sequenceRatio(sum float64, _ int) ratio  { return ratioOf(sum) }
func geometricRatio(sum float64, n int) ratio { return ratioOf(sum / float64(n)) }

// What a mode makes of one token's mismatch.
func maskWeight(m, low, high float64) float64 {
	if low <= m && m <= high {
		return m
	}
	return 0
}
func clipWeight(m, low, high float64) float64   { return min(max(m, low), high) }
func truncateWeight(m, _, high float64) float64 { return min(m, high) }
