// The distance to the reference policy: four estimators of KL(new‖ref) from one sample per token, the KL as a loss with
// its gradient or as a part of the reward, and the controllers of its coefficient.

package algo

import "math"

// KLConfig says how the reference holds the policy back. Without a reference it has no effect.
type KLConfig struct {
	Estimator string  // a row of KLEstimators; default "k2"
	Coef      float64 // weight of the KL at the start; ≥ 0, default 0: no reference is read
	AsLoss    bool    // add the KL to the loss; false: take it from the reward, where the estimator reads it; default true
	Target    float64 // nats; the coefficient follows the KL towards it; ≥ 0, default 0: the coefficient stays
	Horizon   float64 // rollouts over which the coefficient follows; > 0, default 10000
}

// The estimators, with d = log new − log ref of a token that was sampled, and r its ratio exp(New − Old) (Schulman,
// "Approximating KL Divergence", 2020; k3 is eq. 4 of DeepSeekMath, arXiv 2402.03300). Each returns its value and its
// derivative by new. k2 and k3 are limited to 10 as in the original, and flat there.
//
//	k1 = d                     k1' = 1               unbiased; as a loss its gradient is 0 on average: noise
//	k2 = d²/2                  k2' = d               the gradient is that of the KL itself, on fresh tokens
//	k3 = exp(−d) − 1 + d       k3' = 1 − exp(−d)     unbiased, never negative; the gradient is that of KL(ref‖new)
//
// k3_unbiased is k3 times the ratio (DeepSeek-V3.2, arXiv 2512.02556 §3.1). Tokens are sampled from old; the ratio makes
// value and gradient those of KL(new‖ref) wherever new has moved to. It needs no limit: the exponential cancels.
//
//	r·k3                       r·d
func k1(d float64, _ ratio) (value, slope float64) {
	if b := bound(d); b != d {
		return b, 0
	}
	return d, 1
}

func k2(d float64, _ ratio) (value, slope float64) {
	d = bound(d)
	return limit(d*d/2, d)
}

func k3(d float64, _ ratio) (value, slope float64) {
	d = bound(d)
	r := math.Exp(-d)
	return limit(excess(r, -d), 1-r)
}

func k3Unbiased(d float64, r ratio) (value, slope float64) {
	d = bound(d)
	return r.value * excess(math.Exp(-d), -d), r.slope * d
}

func limit(value, slope float64) (float64, float64) {
	if value > 10 {
		return 10, 0
	}
	return value, slope
}

// TokenKL writes the estimate for each token of logp against ref, 0 where it is not finite: what Batch.KL takes.
func TokenKL(dst, logp, ref []float32, estimator string) {
	mustHave("logp", len(logp), len(dst))
	mustHave("ref", len(ref), len(dst))
	estimate := row(KLEstimators, estimator).estimate
	for i := range dst {
		value, _ := estimate(float64(logp[i])-float64(ref[i]), ratio{1, 1})
		if !finite(value) {
			value = 0
		}
		dst[i] = float32(value)
	}
}

// KLStats describes the tokens that KLLoss saw.
type KLStats struct {
	Tokens    int     // action tokens
	NonFinite int     // of these, tokens whose log-probs are not finite: they add nothing
	Loss      float64 // coef · Σ a·k / denominator
	Sum       float64 // Σ k
}

// KLLoss adds to dLogp [N] the derivative of coef · Σ a·k(New − Ref) / denominator by each token's LogpNew, with a from
// in.Share.
func KLLoss(dLogp []float32, in Tokens, estimator string, coef, denominator float64) KLStats {
	n, old := len(dLogp), in.old()
	mustHave("LogpNew", len(in.LogpNew), n)
	mustHave("LogpOld", len(old), n)
	mustHave("LogpRef", len(in.LogpRef), n)
	in.mustShare(n)
	if n == 0 {
		return KLStats{}
	}
	mustDivide(denominator)
	e := row(KLEstimators, estimator)
	s := KLStats{Tokens: n}
	var shared float64
	for i := range dLogp {
		d, logRatio := float64(in.LogpNew[i])-float64(in.LogpRef[i]), 0.0
		if e.ReadsOld {
			logRatio = float64(in.LogpNew[i]) - float64(old[i])
		}
		value, slope := e.estimate(d, ratioOf(logRatio))
		gradient := coef * in.share(i) * slope / denominator
		if !finite(d+logRatio) || !(math.Abs(gradient) <= math.MaxFloat32) {
			s.NonFinite++
			continue
		}
		dLogp[i] += float32(gradient)
		s.Sum += value
		shared += in.share(i) * value
	}
	s.Loss = coef * shared / denominator
	return s
}

// Add joins the statistics of another part of the same step.
func (s *KLStats) Add(o KLStats) {
	s.Tokens += o.Tokens
	s.NonFinite += o.NonFinite
	s.Loss += o.Loss
	s.Sum += o.Sum
}

// Mean estimates KL(new‖ref) per token, in nats.
func (s KLStats) Mean() float64 { return share(s.Sum, s.Tokens-s.NonFinite) }

// NextCoef is the coefficient after a step of so many rollouts in which the KL per token was measured. It stays where
// it is without a target; with one it follows (arXiv 1909.08593 §2.2):
//
//	coef ← coef · (1 + clip(kl/target − 1, −0.2, 0.2) · rollouts/horizon)
func (c KLConfig) NextCoef(coef, kl float64, rollouts int) float64 {
	if c.Target == 0 || !finite(kl) {
		return coef
	}
	e := min(max(kl/c.Target-1, -0.2), 0.2)
	return coef * (1 + e*float64(rollouts)/c.Horizon)
}
