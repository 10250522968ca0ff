// The policy loss. A loss depends on the model only through one number per token, its log-probability, so its whole
// gradient is one number per token too. Here that number stands beside its formula; engines continue the chain rule.
//
//	new, old  log-prob of the token now, and at the start of the step      r = exp(new − old)
//	A         its advantage                                                w   its mismatch weight (ratio.go)

package algo

import "math"

// LossConfig chooses the loss of a token and its bounds.
type LossConfig struct {
	Name     string  // a row of Losses; default "ppo"
	ClipLow  float64 // ppo: no push below ratio 1−ClipLow; 0..1, default 0.2
	ClipHigh float64 // ppo: no push above ratio 1+ClipHigh; ≥ 0, default 0.2. DAPO raises it (0.28) to keep entropy
	DualClip float64 // ppo: no push down where the ratio is above it, for A < 0; > 1, default 0: off
}

// PolicyLoss adds to dLogp [N] the derivative of the policy loss by each token's LogpNew.
//
//	L = Σ w·ℓ / denominator        dL/dnew = w·ℓ' / denominator
//
// ℓ is the loss that cfg names; w and A are constants. denominator is the number of action tokens of the whole optimizer step, over all
// micro-batches and ranks (the global token mean of DAPO, arXiv 2503.14476 §3.3): parts of a step are summed, never
// averaged, so how it was cut changes nothing. A token with a number that is not finite adds nothing and is counted.
func PolicyLoss(dLogp []float32, in Tokens, cfg LossConfig, denominator float64) LossStats {
	in.mustFit(len(dLogp))
	if len(dLogp) == 0 {
		return LossStats{}
	}
	mustDivide(denominator)
	loss, old := row(Losses, cfg.Name).token, in.old()
	s := LossStats{Tokens: len(dLogp)}
	for i := range dLogp {
		logRatio := float64(in.LogpNew[i]) - float64(old[i])
		advantage, weight := float64(in.Advantage[i]), 1.0
		if in.Weight != nil {
			weight = float64(in.Weight[i])
		}
		r := ratioOf(logRatio)
		t := loss(r, float64(in.LogpNew[i]), advantage, &cfg)
		gradient := weight * t.slope / denominator
		if !finite(logRatio+advantage+weight) || math.Abs(gradient) > math.MaxFloat32 {
			s.NonFinite++
			continue
		}
		dLogp[i] += float32(gradient)
		s.count(weight*t.value, gradient, logRatio, r.value, t.clip)
	}
	s.Loss = s.Sum / denominator
	return s
}

// ppoClip is the clipped surrogate of PPO (arXiv 1707.06347, eq. 7), with a bound for each side (Clip-Higher: DAPO,
// arXiv 2503.14476 §3.1) and an optional second bound for A < 0 (dual clip: arXiv 1912.09729, eq. 5).
//
//	ℓ  = −min(r·A, clip(r, 1−low, 1+high)·A)       with dual clip c and A < 0: at most −c·A
//	ℓ' = −r·A, because dr/dnew = r                  but 0 where ℓ is flat:
//
//	     A > 0 and r > 1+high    more probable already, and would be pushed further up
//	     A < 0 and r < 1−low     less probable already, and would be pushed further down
//	     A < 0 and r > c         so far off that this one token would rule the step
//
// A token that moved against the sign of A is not clipped by low or high: its gradient brings it back.
func ppoClip(r ratio, _, advantage float64, cfg *LossConfig) term {
	low, high, dual := 1-cfg.ClipLow, 1+cfg.ClipHigh, cfg.DualClip
	switch {
	case advantage > 0 && r.value > high:
		return term{value: -high * advantage, slope: 0, clip: clippedHigh}
	case advantage < 0 && r.value < low:
		return term{value: -low * advantage, slope: 0, clip: clippedLow}
	case advantage < 0 && r.value > dual && dual > 0:
		return term{value: -dual * advantage, slope: 0, clip: clippedDual}
	}
	return term{value: -r.value * advantage, slope: -r.slope * advantage}
}

// policyGradient is REINFORCE (Williams 1992): no ratio and no bound. Its gradient is that of ppo at r = 1; its value has
// no meaning.
//
//	ℓ  = −A·new
//	ℓ' = −A
func policyGradient(_ ratio, logpNew, advantage float64, _ *LossConfig) term {
	return term{value: -advantage * logpNew, slope: -advantage}
}

// EntropyBonus adds to dEntropy [N] the derivative of −coef · Σ H / denominator by each token's entropy H (nats, from
// the pass): the same −coef/denominator for every token. It returns the sum of H.
func EntropyBonus(dEntropy, entropy []float32, coef, denominator float64) float64 {
	mustHave("entropy", len(entropy), len(dEntropy))
	if len(entropy) > 0 {
		mustDivide(denominator)
	}
	var sum float64
	for i, h := range entropy {
		if finite(float64(h)) {
			dEntropy[i] -= float32(coef / denominator)
			sum += float64(h)
		}
	}
	return sum
}

// TokenLosses writes w·ℓ of each token to dst [N], 0 for a token that adds nothing: what a report shows token by token.
// Their sum is LossStats.Sum.
func TokenLosses(dst []float64, in Tokens, cfg LossConfig) {
	in.mustFit(len(dst))
	unused := make([]float32, 1)
	for i := range dst {
		dst[i] = PolicyLoss(unused, in.Slice(i, i+1), cfg, 1).Sum
	}
}

// term is the loss of one token before weighting.
type term struct {
	value float64 // ℓ
	slope float64 // ℓ' = dℓ/dnew
	clip  clip    // the bound that made it 0, if one did
}

type clip uint8

const (
	free clip = iota
	clippedLow
	clippedHigh
	clippedDual
)
