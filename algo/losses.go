// The losses of one token, each with its derivative by the token's log-prob: new.

package algo

import "math"

// term is the loss of one token before weighting.
type term struct {
	value float64 // ℓ
	slope float64 // ℓ' = dℓ/dnew
	clip  clip    // the bound that made it 0, or limited it, if one did
}

type clip uint8

const (
	free clip = iota
	clippedLow
	clippedHigh
	clippedDual
	capped
)

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

// gspoClip is ppoClip with the ratio of the segment (GSPO-token, arXiv 2507.18071 §4.3):
//
//	s  = exp(mean(new − old)) over the segment      r_t = hold(s) · new_t/hold(new_t): equal to s, and dr_t/dnew_t = s
//	ℓ  = −min(s·A, clip(s, 1−low, 1+high)·A)        ℓ' = −s·A, or 0 for the whole segment where s is out of bounds
//
// Where all tokens of a segment have the same A, w and a, as with group estimators, this is the gradient of GSPO itself.
func gspoClip(r ratio, _, advantage float64, cfg *LossConfig) term {
	return ppoClip(r, 0, advantage, &LossConfig{ClipLow: cfg.ClipLow, ClipHigh: cfg.ClipHigh})
}

// cispo is REINFORCE with a clipped importance weight (MiniMax-M1, arXiv 2506.13585; no lower bound, as there).
// The weight is held constant, so no token loses its gradient, however far it moved.
//
//	ℓ  = −min(r, Ceiling)·A·new
//	ℓ' = −min(r, Ceiling)·A
func cispo(r ratio, logpNew, advantage float64, cfg *LossConfig) term {
	weight, clip := r.value, free
	if r.value > cfg.Ceiling {
		weight, clip = cfg.Ceiling, capped
	}
	return term{value: -weight * advantage * logpNew, slope: -weight * advantage, clip: clip}
}

// sapo is soft adaptive policy optimization (arXiv 2511.20347), σ the logistic function and τ one of two by
// the sign of A:
//
//	g  = σ(τ·(r − 1))
//	ℓ  = −4/τ · g · A
//	ℓ' = −4·g·(1 − g)·r·A       −A at r = 1, and fading on both sides of it
func sapo(r ratio, _, advantage float64, cfg *LossConfig) term {
	tau := cfg.TauNegative
	if advantage > 0 {
		tau = cfg.TauPositive
	}
	gate := 1 / (1 + math.Exp(-tau*(r.value-1)))
	return term{value: -4 / tau * gate * advantage, slope: -4 * gate * (1 - gate) * r.slope * advantage}
}

// policyGradient is REINFORCE (Williams 1992): no ratio and no bound. Its gradient is that of ppo at r = 1; its value has
// no meaning.
//
//	ℓ  = −A·new
//	ℓ' = −A
func policyGradient(_ ratio, logpNew, advantage float64, _ *LossConfig) term {
	return term{value: -advantage * logpNew, slope: -advantage}
}
