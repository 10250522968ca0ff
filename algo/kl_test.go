package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// d = New − Ref, and each estimator's value and slope there.
func TestKLEstimators(t *testing.T) {
	for _, c := range []struct {
		name         string
		d            float64
		value, slope float64
	}{
		{"k1", 0, 0, 1}, {"k1", 2, 2, 1}, {"k1", -2, -2, 1},
		{"k1", math.Inf(1), 30, 0}, {"k1", -1000, -30, 0},
		{"k2", 0, 0, 0}, {"k2", 2, 2, 2}, {"k2", -2, 2, -2},
		{"k2", 5, 10, 0}, {"k2", math.Inf(-1), 10, 0}, // limited, and flat there
		{"k3", 0, 0, 0}, {"k3", 1, math.Exp(-1), 1 - math.Exp(-1)}, {"k3", -1, math.E - 2, 1 - math.E},
		{"k3", -1000, 10, 0}, {"k3", 1000, 10, 0},
		{"k3_unbiased", 0, 0, 0}, {"k3_unbiased", 1, math.Exp(-1), 1}, {"k3_unbiased", -1, math.E - 2, -1},
	} {
		value, slope := row(KLEstimators, c.name).estimate(c.d, fresh)
		near(t, c.name, []float64{value, slope}, c.value, c.slope)
	}
}

func TestTokenKLIsFinite(t *testing.T) {
	logp, ref := []float32{-1, -inf, nan, 0, -inf}, []float32{-3, -inf, 0, -inf, 0}
	for name, want := range map[string][]float64{
		"k1": {2, 0, 0, 30, -30}, "k2": {2, 0, 0, 10, 10}, "k3": {math.Exp(-2) + 1, 0, 0, 10, 10},
	} {
		dst := repeat(nan, 5)
		TokenKL(dst, logp, ref, name)
		near(t, name, dst, want...)
	}
}

func TestKLLoss(t *testing.T) {
	in := Tokens{LogpNew: []float32{-1, -2, nan}, LogpRef: []float32{-2, -1, 0}}
	d := []float32{1, 0, 0}
	s := KLLoss(d, in, "k2", .5, 10)
	near(t, "gradient: coef·d/denominator, on top of what was there", d, 1+.05, -.05, 0)
	nearly(t, "loss", s.Loss, .5*(.5+.5)/10)
	nearly(t, "KL per finite token", s.Mean(), .5)
	equal(t, "counted", s.NonFinite, 1)

	var sum KLStats
	sum.Add(s)
	equal(t, "adds up", sum, s)
	equal(t, "of nothing", KLLoss(nil, Tokens{}, "k3", 1, 0), KLStats{})
	mustPanic(t, "lengths", func() { KLLoss(d, Tokens{LogpNew: in.LogpNew}, "k2", 1, 1) })
}

// Over all tokens of a small vocabulary, weighted by the policy that samples them: k1 and k3 estimate KL(new‖ref)
// without bias; the gradient of k2 is that of the KL, and the gradient of k1 vanishes, which is why it is no loss.
func TestWhatTheEstimatorsEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float64Range(-1, 1), 4, 4)
		z, ref := logits.Draw(t, "logits"), logSoftmax(logits.Draw(t, "ref"))
		logp := logSoftmax(z)
		var kl, e1, e3 float64
		for v := range logp {
			p, d := math.Exp(logp[v]), logp[v]-ref[v]
			v1, _ := k1(d, fresh)
			v3, _ := k3(d, fresh)
			kl, e1, e3 = kl+p*d, e1+p*v1, e3+p*v3
		}
		nearly(t, "k1 is unbiased", e1, kl)
		nearly(t, "k3 is unbiased", e3, kl)

		for j := range z { // dKL/dz_j by the score function: E[slope · dlogp/dz_j]
			var g1, g2 float64
			for v := range logp {
				p, d := math.Exp(logp[v]), logp[v]-ref[v]
				score := -math.Exp(logp[j])
				if v == j {
					score++
				}
				_, s1 := k1(d, fresh)
				_, s2 := k2(d, fresh)
				g1, g2 = g1+p*s1*score, g2+p*s2*score
			}
			nearly(t, "k1 pulls nowhere", g1, 0)
			nearly(t, "k2 pulls like the KL", g2, klSlope(z, ref, j))
		}
	})
}

// k3_unbiased on tokens that an older policy sampled: weighted by what that policy sampled, value and gradient are those
// of the KL of the policy as it is now.
func TestUnbiasedOnOldTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float64Range(-1, 1), 4, 4)
		z, ref, old := logits.Draw(t, "logits"), logSoftmax(logits.Draw(t, "ref")), logSoftmax(logits.Draw(t, "old"))
		logp := logSoftmax(z)
		var kl, e float64
		g := make([]float64, len(z))
		for v := range logp {
			d := logp[v] - ref[v]
			value, slope := k3Unbiased(d, ratioOf(logp[v]-old[v]))
			kl, e = kl+math.Exp(logp[v])*d, e+math.Exp(old[v])*value
			for j := range z {
				score := -math.Exp(logp[j])
				if v == j {
					score++
				}
				g[j] += math.Exp(old[v]) * slope * score
			}
		}
		nearly(t, "value", e, kl)
		for j := range z {
			nearly(t, "gradient", g[j], klSlope(z, ref, j))
		}
	})
}

// klSlope is dKL(softmax(z)‖ref)/dz_j by central differences.
func klSlope(z, ref []float64, j int) float64 {
	const h = 1e-4
	at := func(step float64) (kl float64) {
		moved := append([]float64(nil), z...)
		moved[j] += step
		for v, l := range logSoftmax(moved) {
			kl += math.Exp(l) * (l - ref[v])
		}
		return kl
	}
	return (at(h) - at(-h)) / (2 * h)
}

func logSoftmax(z []float64) []float64 {
	var sum float64
	for _, v := range z {
		sum += math.Exp(v)
	}
	out := make([]float64, len(z))
	for i, v := range z {
		out[i] = v - math.Log(sum)
	}
	return out
}

func TestKLController(t *testing.T) {
	adaptive := KLConfig{Target: .01, Horizon: 100}
	for _, c := range []struct {
		kl       float64
		rollouts int
		want     float64
	}{
		{.011, 100, .11}, {0, 100, .08}, {.01, 100, .1}, {1, 100, .12}, {.02, 10, .102},
		{math.NaN(), 100, .1}, {math.Inf(1), 100, .1},
	} {
		nearly(t, "adaptive", adaptive.NextCoef(.1, c.kl, c.rollouts), c.want)
		equal(t, "fixed", KLConfig{Horizon: 100}.NextCoef(.1, c.kl, c.rollouts), .1)
	}
}

// fresh is the ratio of a token that the policy itself sampled.
var fresh = ratio{1, 1}
