// The critic: how far its values are from the returns that gae computed.

package algo

import "math"

// ValueConfig says how a critic learns. Without an estimator that reads values it has no effect.
type ValueConfig struct {
	Clip float64 // a value that moved further than this in the batch is pushed no further; ≥ 0, default 0.2; 0: off
	Coef float64 // weight of the value loss, where critic and policy share weights or a step; > 0, default 1
}

// ValueStats describes the tokens that ValueLoss saw.
type ValueStats struct {
	Tokens    int     // action tokens
	NonFinite int     // of these, tokens with a number that is not finite: they add nothing
	Moved     int     // tokens whose value moved by more than Clip since the start of the batch
	Loss      float64 // coef · Σ a·ℓ / denominator
	Sum       float64 // Σ ℓ

	returns, returns2, errors, errors2 float64 // Σ R, Σ R², Σ R − V, Σ (R − V)²
}

// ValueLoss adds to dValue [N] the derivative of coef · Σ a·ℓ / denominator by each token's value V. With V₀ = ValueOld
// and R = Return (PPO2, arXiv 1707.06347; the clip is that of its first implementation):
//
//	ℓ  = ½·max((V − R)², (clip(V, V₀ ± Clip) − R)²)
//	ℓ' = V − R      0 where V has left V₀ ± Clip and its clipped twin is further from R
func ValueLoss(dValue []float32, in Tokens, cfg ValueConfig, denominator float64) ValueStats {
	n := len(dValue)
	mustHave("Value", len(in.Value), n)
	mustHave("ValueOld", len(in.ValueOld), n)
	mustHave("Return", len(in.Return), n)
	in.mustShare(n)
	if n == 0 {
		return ValueStats{}
	}
	mustDivide(denominator)
	s := ValueStats{Tokens: n}
	var shared float64
	for i := range dValue {
		v, start, target := float64(in.Value[i]), float64(in.ValueOld[i]), float64(in.Return[i])
		value, slope := squaredError(v, start, target, cfg.Clip)
		gradient := cfg.Coef * in.share(i) * slope / denominator
		if !finite(v+start+target) || !(math.Abs(gradient) <= math.MaxFloat32) {
			s.NonFinite++
			continue
		}
		dValue[i] += float32(gradient)
		s.count(v, start, target, value, cfg.Clip)
		shared += in.share(i) * value
	}
	s.Loss = cfg.Coef * shared / denominator
	return s
}

func squaredError(v, start, target, clip float64) (value, slope float64) {
	value, slope = (v-target)*(v-target)/2, v-target
	if clip == 0 {
		return value, slope
	}
	held := min(max(v, start-clip), start+clip) - target
	if held*held/2 > value {
		return held * held / 2, 0
	}
	return value, slope
}

func (s *ValueStats) count(v, start, target, value, clip float64) {
	if clip != 0 && math.Abs(v-start) > clip {
		s.Moved++
	}
	s.Sum += value
	s.returns += target
	s.returns2 += target * target
	s.errors += target - v
	s.errors2 += (target - v) * (target - v)
}

// Add joins the statistics of another part of the same step.
func (s *ValueStats) Add(o ValueStats) {
	s.Tokens += o.Tokens
	s.NonFinite += o.NonFinite
	s.Moved += o.Moved
	s.Loss += o.Loss
	s.Sum += o.Sum
	s.returns += o.returns
	s.returns2 += o.returns2
	s.errors += o.errors
	s.errors2 += o.errors2
}

// Clipped is the fraction of tokens whose value moved by more than Clip.
func (s ValueStats) Clipped() float64 { return share(float64(s.Moved), s.Tokens) }

// Mean is the loss per token.
func (s ValueStats) Mean() float64 { return share(s.Sum, s.Tokens-s.NonFinite) }

// Explained is how much of the returns' variance the critic foresaw: 1 − var(R − V)/var(R). 1 is perfect, 0 no better than
// a constant, below 0 worse; 0 also where the returns do not vary.
func (s ValueStats) Explained() float64 {
	n := float64(s.Tokens - s.NonFinite)
	variance := s.returns2 - s.returns*s.returns/max(n, 1)
	if !(variance > 0) {
		return 0
	}
	return 1 - (s.errors2-s.errors*s.errors/n)/variance
}
