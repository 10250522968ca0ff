// The policy loss. A loss depends on the model only through one number per token, its log-probability, so its whole
// gradient is one number per token too. Here that number is summed up; losses.go has it beside each formula, and engines
// continue the chain rule.
//
//	new, old  log-prob of the token now, and at the start of the batch      r = exp(new − old)
//	A         its advantage                                                w   its mismatch weight (ratio.go, lag.go)
//	a         its part in the loss (aggregate.go)

package algo

import "math"

// LossConfig chooses the loss of a token, its bounds, and how tokens add up.
type LossConfig struct {
	Name        string  // a row of Losses; default "ppo"
	ClipLow     float64 // ppo, gspo: no push below ratio 1−ClipLow; 0..1, default 0.2; gspo's ratios want about 0.0003
	ClipHigh    float64 // ppo, gspo: no push above ratio 1+ClipHigh; ≥ 0, default 0.2. DAPO raises it (0.28) to keep entropy
	DualClip    float64 // ppo: no push down where the ratio is above it, for A < 0; > 1, default 0: off
	Ceiling     float64 // cispo: the largest weight that a ratio may be; ≥ 1, default 5
	TauPositive float64 // sapo: how fast the gate closes for A > 0; > 0, default 1
	TauNegative float64 // sapo: for A < 0; > 0, default 1.05: faster, for a push down spreads over all other tokens
	Proximal    string  // a row of Proximals: what the ratio compares with; default "decoupled"
	Aggregation string  // a row of Aggregations; default "token_mean"
	MaxTokens   int     // constant: the length that the sum over a rollout is divided by; ≥ 1
}

// PolicyLoss adds to dLogp [N] the derivative of the policy loss by each token's LogpNew.
//
//	L = Σ a·w·ℓ / denominator        dL/dnew = a·w·ℓ' / denominator
//
// ℓ is the loss that cfg names; a, w and A are constants. denominator is cfg.Denominator of the whole optimizer step, over
// all micro-batches and ranks. A token with a number that is not finite adds nothing and is counted; where a loss has one
// ratio for a segment, so is the segment.
func PolicyLoss(dLogp []float32, in Tokens, cfg LossConfig, denominator float64) LossStats {
	if len(dLogp) > 0 {
		mustDivide(denominator)
	}
	return policyLoss(dLogp, nil, len(dLogp), in, cfg, denominator)
}

// TokenLosses writes a·w·ℓ of each token to dst [N], 0 for a token that adds nothing: what a report shows token by token.
// Their sum over the denominator is LossStats.Loss.
func TokenLosses(dst []float64, in Tokens, cfg LossConfig) {
	clear(dst)
	policyLoss(nil, dst, len(dst), in, cfg, 1)
}

// policyLoss adds gradients to dLogp and writes losses, each [n] or nil.
func policyLoss(dLogp []float32, losses []float64, n int, in Tokens, cfg LossConfig, denominator float64) LossStats {
	loss, old := row(Losses, cfg.Name), row(Proximals, cfg.Proximal).lane(&in)
	in.mustFit(n, old)
	s := LossStats{Tokens: n}
	var shared float64 // Σ a·w·ℓ
	starts := in.segments(n)
	for k := range starts[1:] {
		lo, hi := starts[k], starts[k+1]
		var whole ratio // of the segment
		if loss.PerSegment {
			whole = segmentRatio(in.LogpNew[lo:hi], old[lo:hi], loss.unit)
		}
		for i := lo; i < hi; i++ {
			logp, advantage, weight, part := float64(in.LogpNew[i]), float64(in.Advantage[i]), in.weight(int(i)), in.share(int(i))
			logRatio := logp - float64(old[i])
			own := ratioOf(logRatio)
			r := own
			if loss.PerSegment {
				r = whole
			}
			t := loss.token(r, logp, advantage, &cfg)
			gradient := part * (weight * t.slope) / denominator
			if !finite(logRatio+r.value+advantage+weight+part) || !(math.Abs(gradient) <= math.MaxFloat32) {
				s.NonFinite++
				continue
			}
			s.count(gradient, logRatio, own.value, r.value, t.clip)
			shared += part * (weight * t.value)
			if dLogp != nil {
				dLogp[i] += float32(gradient)
			}
			if losses != nil {
				losses[i] = part * (weight * t.value)
			}
		}
	}
	if n > 0 {
		s.Loss = shared / denominator
	}
	return s
}

// segmentRatio is the one ratio of a segment; NaN when a log-prob in it is not finite.
func segmentRatio(logpNew, old []float32, unit func(sum float64, n int) ratio) ratio {
	var sum float64
	for i := range logpNew {
		sum += float64(logpNew[i]) - float64(old[i])
	}
	if !finite(sum) {
		return ratio{math.NaN(), math.NaN()}
	}
	return unit(sum, len(logpNew))
}

// mustFit panics unless every lane that the policy loss reads has n tokens.
func (in *Tokens) mustFit(n int, old []float32) {
	mustHave("LogpNew", len(in.LogpNew), n)
	mustHave("log-probs to compare with", len(old), n)
	mustHave("Advantage", len(in.Advantage), n)
	if in.Weight != nil {
		mustHave("Weight", len(in.Weight), n)
	}
	in.mustShare(n)
}
