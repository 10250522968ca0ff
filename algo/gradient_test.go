package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The gradient is the derivative: each loss with each aggregation and each correction, KL and value losses too, against
// central differences, away from the kinks, to 1e-6. Lanes are multiples of 2⁻¹² below 8, so that steps of 2⁻¹⁰ are exact
// in float32.
func TestGradientIsTheDerivative(t *testing.T) {
	for _, loss := range Losses {
		for _, aggregation := range Aggregations {
			for _, level := range Levels {
				for _, mode := range Modes {
					if level.PerSegment && mode.Name != "mask" {
						continue // refused
					}
					correction := CorrectionConfig{level.Name, mode.Name, .1, 10}
					t.Run(loss.Name+" "+aggregation.Name+" "+level.Name+" "+mode.Name, func(t *testing.T) {
						rapid.Check(t, func(t *rapid.T) { checkPolicyGradient(t, loss, aggregation, correction) })
					})
				}
			}
		}
	}
}

const step = 1. / 1024

func checkPolicyGradient(t *rapid.T, loss Loss, aggregation Aggregation, correction CorrectionConfig) {
	in, cfg := drawTokens(t), drawLoss(t)
	cfg.Name, cfg.Aggregation = loss.Name, aggregation.Name
	Correct(in.Weight, in, correction)
	Shares(in.Share, in, cfg)
	if loss.PerSegment {
		equalInSegments(in) // where GSPO-token is GSPO
	}
	denominator := cfg.Denominator(StepSize{Tokens: 11, Rollouts: 3})
	gradient, unread := make([]float32, len(in.LogpNew)), make([]float32, len(in.LogpNew))
	PolicyLoss(gradient, in, cfg, denominator)
	for i := range gradient {
		moved := [][]float32{in.LogpNew}
		if loss.HoldsRatio {
			moved = append(moved, in.LogpOld) // both move, so the ratio stands still
		}
		if nearKink(in, i, loss, cfg) {
			continue
		}
		want := derivative(i, func() float64 { return PolicyLoss(unread, in, cfg, denominator).Loss }, moved...)
		agree(t, loss.Name, i, gradient[i], want)
	}
}

func TestKLGradientIsTheDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTokens(t)
		e, coef := rapid.SampledFrom(KLEstimators).Draw(t, "kl"), rapid.Float64Range(0, 2).Draw(t, "coef")
		gradient, unread := make([]float32, len(in.LogpNew)), make([]float32, len(in.LogpNew))
		KLLoss(gradient, in, e.Name, coef, 7)
		for i := range gradient {
			if d := float64(in.LogpNew[i]) - float64(in.LogpRef[i]); e.Name == "k2" && math.Abs(math.Abs(d)-math.Sqrt(20)) < 3*step ||
				e.Name == "k3" && (math.Exp(-d-3*step)-1+d > 10) != (math.Exp(-d+3*step)-1+d > 10) {
				continue // where k2 and k3 reach their limit
			}
			want := derivative(i, func() float64 { return KLLoss(unread, in, e.Name, coef, 7).Loss }, in.LogpNew)
			agree(t, e.Name, i, gradient[i], want)
		}
	})
}

func TestValueGradientIsTheDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTokens(t)
		cfg := ValueConfig{Clip: rapid.SampledFrom([]float64{0, .2, 1}).Draw(t, "clip"), Coef: rapid.Float64Range(.1, 2).Draw(t, "coef")}
		gradient, unread := make([]float32, len(in.Value)), make([]float32, len(in.Value))
		ValueLoss(gradient, in, cfg, 7)
		for i := range gradient {
			v, start, target := float64(in.Value[i]), float64(in.ValueOld[i]), float64(in.Return[i])
			held := min(max(v, start-cfg.Clip), start+cfg.Clip)
			if math.Abs(math.Abs(v-start)-cfg.Clip) < 3*step || math.Abs(math.Abs(held-target)-math.Abs(v-target)) < 3*step && held != v {
				continue
			}
			want := derivative(i, func() float64 { return ValueLoss(unread, in, cfg, 7).Loss }, in.Value)
			agree(t, "value", i, gradient[i], want)
		}
	})
}

// The bonus is linear in the entropy.
func TestEntropyGradientIsTheDerivative(t *testing.T) {
	in := Tokens{Entropy: []float32{2, 3, nan, 1}, Share: []float32{1, .25, 1, nan}}
	d := make([]float32, 4)
	nearly(t, "sum", EntropyLoss(d, in, .5, 10), 5)
	near(t, "gradient, and none where a number is not finite", d, -.05, -.0125, 0, 0)
	mustPanic(t, "lengths", func() { EntropyLoss(d, Tokens{}, 1, 1) })
}

// derivative is that of f by element i of the lanes, moved together: central differences, extrapolated (Richardson).
func derivative(i int, f func() float64, lanes ...[]float32) float64 {
	at := func(h float32) float64 {
		for _, lane := range lanes {
			lane[i] += h
			defer func(was float32) { lane[i] = was }(lane[i] - h)
		}
		return f()
	}
	wide, narrow := (at(2*step)-at(-2*step))/(4*step), (at(step)-at(-step))/(2*step)
	return (4*narrow - wide) / 3
}

func agree(t *rapid.T, what string, i int, gradient float32, want float64) {
	if got := float64(gradient); math.Abs(got-want) > 1e-6*(1e-3+math.Abs(want)) {
		t.Fatalf("%s, token %d: gradient %v, differences say %v", what, i, got, want)
	}
}

// nearKink reports whether the loss of token i is not smooth within two steps.
func nearKink(in Tokens, i int, loss Loss, cfg LossConfig) bool {
	if !loss.Clips {
		return false
	}
	d := float64(in.LogpNew[i]) - float64(in.LogpOld[i])
	if loss.PerSegment {
		k := segmentOf(in, i)
		r := segmentRatio(in.LogpNew[in.Starts[k]:in.Starts[k+1]], in.LogpOld[in.Starts[k]:in.Starts[k+1]], loss.unit)
		d = math.Log(r.value)
	}
	for _, kink := range []float64{math.Log(1 - cfg.ClipLow), math.Log(1 + cfg.ClipHigh), math.Log(cfg.DualClip)} {
		if math.Abs(d-kink) < 3*step {
			return true
		}
	}
	return false
}

func segmentOf(in Tokens, i int) int {
	k := 0
	for int(in.Starts[k+1]) <= i {
		k++
	}
	return k
}

// equalInSegments gives all tokens of a segment the advantage and weight of its first.
func equalInSegments(in Tokens) {
	for i := range in.LogpNew {
		first := in.Starts[segmentOf(in, i)]
		in.Advantage[i], in.Weight[i] = in.Advantage[first], in.Weight[first]
	}
}

// drawTokens draws up to 8 tokens in up to 3 segments of two rollouts: the first two segments belong to one.
func drawTokens(t *rapid.T) Tokens {
	n := rapid.IntRange(1, 8).Draw(t, "n")
	lane := func(name string, low, high int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rapid.IntRange(low*4096, high*4096).Draw(t, name)) / 4096
		}
		return out
	}
	one := rapid.IntRange(0, n).Draw(t, "second segment")
	two := rapid.IntRange(one, n).Draw(t, "third segment")
	return Tokens{
		LogpNew: lane("new", -5, 0), LogpOld: lane("old", -5, 0), LogpGen: lane("gen", -5, 0), LogpRef: lane("ref", -5, 0),
		Advantage: lane("advantage", -3, 3), Weight: lane("weight", 0, 4), Share: repeat(1, n),
		Value: lane("value", -2, 2), ValueOld: lane("start", -2, 2), Return: lane("return", -2, 2),
		Starts: []int32{0, int32(one), int32(two), int32(n)}, RolloutTokens: []int32{int32(two), int32(two), int32(n - two)},
	}
}

func drawLoss(t *rapid.T) LossConfig {
	return LossConfig{
		Name:        rapid.SampledFrom(Losses).Draw(t, "loss").Name,
		ClipLow:     rapid.Float64Range(0, .9).Draw(t, "low"),
		ClipHigh:    rapid.Float64Range(0, 2).Draw(t, "high"),
		DualClip:    rapid.SampledFrom([]float64{0, 1.5, 3, 10}).Draw(t, "dual"),
		Ceiling:     rapid.Float64Range(1, 5).Draw(t, "ceiling"),
		TauPositive: rapid.Float64Range(.5, 2).Draw(t, "tau positive"),
		TauNegative: rapid.Float64Range(.5, 2).Draw(t, "tau negative"),
		Proximal:    "decoupled",
		Aggregation: rapid.SampledFrom(Aggregations).Draw(t, "aggregation").Name,
		MaxTokens:   rapid.IntRange(1, 9).Draw(t, "max tokens"),
	}
}
