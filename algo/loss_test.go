package algo

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

var clip20 = LossConfig{Name: "ppo", ClipLow: .2, ClipHigh: .2}

// gradients runs PolicyLoss on zeroed gradients, with the number of tokens as denominator.
func gradients(in Tokens, cfg LossConfig) ([]float32, LossStats) {
	d := make([]float32, len(in.LogpNew))
	return d, PolicyLoss(d, in, cfg, max(1, float64(len(d))))
}

func TestPolicyLossOfTwoTokens(t *testing.T) {
	in := Tokens{LogpNew: []float32{1, -1}, LogpOld: []float32{0, 0}, Advantage: []float32{1, 1}}
	_, s := gradients(in, clip20)
	nearly(t, "loss", s.Loss, -(1.2+math.Exp(-1))/2)
	nearly(t, "clipped", s.Clipped(), .5)
	equal(t, "with a gradient", s.Active, 1)
	nearly(t, "k3", s.MeanKL3(), (math.E+math.Exp(-1)-2)/2)
	nearly(t, "smallest ratio", s.RatioMin, math.Exp(-1))
	nearly(t, "largest ratio", s.RatioMax, math.E)
}

// KL(old‖new) is estimated from tokens that old sampled: k1 is Old − New.
func TestApproximateKL(t *testing.T) {
	_, s := gradients(Tokens{LogpNew: []float32{-2, nan}, LogpOld: []float32{-1, 0}, Advantage: []float32{1, 1}}, clip20)
	nearly(t, "k1", s.MeanKL1(), 1)
	nearly(t, "k3", s.MeanKL3(), math.Exp(-1))
	tiny := Tokens{LogpNew: []float32{-4.6566134e-10}, LogpOld: []float32{-9.313227e-10}, Advantage: []float32{1}}
	_, s = gradients(tiny, clip20)
	equal(t, "k3 is not negative where rounding would have it so", s.KL3, 0)
}

// The mismatch weight multiplies the loss and its gradient. Old = New, so the ratio is 1 and A is 1.
func TestMismatchWeightsTheLoss(t *testing.T) {
	ln10 := float32(math.Log(10))
	for _, c := range []struct {
		cfg  CorrectionConfig
		gen  []float32
		loss float64
	}{
		{CorrectionConfig{"geometric", "mask", .5, 2}, []float32{-ln3, ln3}, -(3 + 1./3) / 2},
		{CorrectionConfig{"token", "mask", .5, 2}, []float32{-ln3, ln3}, 0},
		{CorrectionConfig{"token", "clip", .5, 2}, []float32{-ln3, ln3}, -(2 + .5) / 2},
		{CorrectionConfig{"token", "truncate", .5, 2}, []float32{ln10, -ln10}, -(.1 + 2) / 2},
		{CorrectionConfig{"off", "mask", .5, 2}, []float32{-ln3, ln3}, -1},
		{CorrectionConfig{"token", "truncate", .5, 2}, []float32{-1000}, -2},
		{CorrectionConfig{"geometric", "mask", .5, 2}, []float32{-1000}, 0},
	} {
		n := len(c.gen)
		in := Tokens{LogpNew: make([]float32, n), LogpOld: make([]float32, n), LogpGen: c.gen, Advantage: repeat(1, n), Weight: make([]float32, n)}
		Correct(in.Weight, in, c.cfg)
		d, s := gradients(in, clip20)
		nearly(t, fmt.Sprint(c.cfg), s.Loss, c.loss)
		for i := range d {
			nearly(t, fmt.Sprint(c.cfg, ": gradient"), float64(d[i]), -float64(in.Weight[i])/float64(n))
		}
	}
}

// Where no step lies between, Old is New held constant: PPO is then REINFORCE, with gradient −A over the denominator.
func TestOnPolicyIsReinforce(t *testing.T) {
	in := Tokens{LogpNew: []float32{-3, -.5, -7, -1}, Advantage: []float32{1, -2, .5, -1.5}}
	for _, cfg := range []LossConfig{clip20, {Name: "policy_gradient"}} {
		d, s := gradients(in, cfg)
		near(t, cfg.Name, d, -.25, .5, -.125, .375)
		equal(t, "ratios", [2]float64{s.RatioMin, s.RatioMax}, [2]float64{1, 1})
	}
	_, s := gradients(in, LossConfig{Name: "pg"})
	nearly(t, "loss", s.Loss, -(-3+1-3.5+1.5)/4)
}

// Losses 1 2 | 4 5 | 6 in three micro-batches: (1+2+4+5+6)/5 = 3.6, not the mean of means 4. At ratio 1 the loss is −A.
func TestGlobalTokenMean(t *testing.T) {
	mean := func(batches ...[]float32) (global, meanOfMeans float64, gradient float32) {
		tokens := 0
		for _, a := range batches {
			tokens += len(a)
		}
		var total LossStats
		for _, losses := range batches {
			in := Tokens{LogpNew: make([]float32, len(losses)), Advantage: make([]float32, len(losses))}
			for i, l := range losses {
				in.Advantage[i] = -l
			}
			d := make([]float32, len(losses))
			s := PolicyLoss(d, in, clip20, float64(tokens))
			total.Add(s)
			meanOfMeans += s.Loss * float64(tokens) / float64(s.Tokens) / float64(len(batches))
			gradient += d[0]
		}
		equal(t, "tokens", total.Tokens, tokens)
		return total.Loss, meanOfMeans, gradient
	}
	global, local, _ := mean([]float32{1, 2}, []float32{4, 5}, []float32{6})
	nearly(t, "global", global, 3.6)
	nearly(t, "local", local, 4)
	global, local, gradient := mean([]float32{2, 2, 2}, []float32{10})
	nearly(t, "global", global, 4)
	nearly(t, "local", local, 6)
	nearly(t, "gradient of the first tokens", float64(gradient), (2.+10)/4)

	// A denominator of the whole step, 100, and 3 tokens here of loss −1 each.
	s := PolicyLoss(make([]float32, 3), Tokens{LogpNew: make([]float32, 3), Advantage: repeat(1, 3)}, clip20, 100)
	nearly(t, "its part of the step", s.Loss, -3./100)
}

// However a step is cut into micro-batches, between segments, the gradients are the same bits and the statistics add up.
func TestCutsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTokens(t)
		cfg := drawLoss(t)
		n := len(in.LogpNew)
		in.Share = make([]float32, n)
		Shares(in.Share, in, cfg)
		whole := make([]float32, n)
		want := PolicyLoss(whole, in, cfg, float64(n))

		parts := make([]float32, n)
		var got LossStats
		for k := range in.Starts[1:] {
			lo, hi := in.Starts[k], in.Starts[k+1]
			got.Add(PolicyLoss(parts[lo:hi], slice(in, int(lo), int(hi)), cfg, float64(n)))
		}
		for i := range whole {
			equal(t, "gradient", parts[i], whole[i])
		}
		nearly(t, "loss", got.Loss, want.Loss)
		nearly(t, "k3", got.KL3, want.KL3)
		losses := make([]float64, n)
		TokenLosses(losses, in, cfg)
		var sum float64
		for _, l := range losses {
			sum += l
		}
		nearly(t, "token by token", sum/float64(n), want.Loss)
		got.Loss, got.KL1, got.KL3 = want.Loss, want.KL1, want.KL3 // equal up to rounding
		equal(t, "statistics", got, want)
	})
}

func TestTokenLosses(t *testing.T) {
	in := Tokens{LogpNew: []float32{1, -1, nan}, LogpOld: []float32{0, 0, 0}, Advantage: []float32{1, 1, 1}, Weight: []float32{1, 2, 1}}
	got := make([]float64, 3)
	TokenLosses(got, in, clip20)
	near(t, "weighted", got, -1.2, -2*math.Exp(-1), 0)
}

// The global token mean has no length bias: a token of a wrong rollout is pushed equally, whether the rollout has 10
// tokens or 100 (Dr.GRPO, §3.1).
func TestLengthDoesNotScaleTheGradient(t *testing.T) {
	b := Batch{Reward: []float64{1, 0, 0}, Group: []int64{0, 0, 0}, Rollout: []int{0, 1, 2}}
	var advantage [][]float32
	for _, length := range []int{10, 10, 100} {
		action := make([]bool, length)
		for i := range action {
			action[i] = true
		}
		b.Action = append(b.Action, action)
		advantage = append(advantage, make([]float32, length))
	}
	Advantages(advantage, b, AdvantageConfig{Estimator: "dr_grpo", Gamma: 1}, 0)
	first := func(rollout int) float64 {
		n := len(advantage[rollout])
		d := make([]float32, n)
		PolicyLoss(d, Tokens{LogpNew: make([]float32, n), Advantage: advantage[rollout]}, clip20, 120)
		return float64(d[0])
	}
	nearly(t, "10 tokens", first(1), 1./3/120)
	nearly(t, "100 tokens", first(2), 1./3/120)
}

func TestGradientsAccumulate(t *testing.T) {
	in := Tokens{LogpNew: []float32{0}, Advantage: []float32{1}}
	d := []float32{10}
	PolicyLoss(d, in, clip20, 1)
	near(t, "on top of what was there", d, 9)
}

// A number that is not finite gives no gradient, hurts no other token, and is counted.
func TestPolicyLossOfHostileNumbers(t *testing.T) {
	sound := Tokens{LogpNew: []float32{-1, 0}, LogpOld: []float32{-1, 0}, Advantage: []float32{1, 1}, Weight: []float32{1, 1}}
	for _, bad := range []float32{nan, inf, -inf} {
		for lane := range 4 {
			in := Tokens{LogpNew: []float32{-1, 0}, LogpOld: []float32{-1, 0}, Advantage: []float32{1, 1}, Weight: []float32{1, 1}}
			[][]float32{in.LogpNew, in.LogpOld, in.Advantage, in.Weight}[lane][0] = bad
			in.Starts = []int32{0, 1, 2}
			for _, l := range Losses {
				cfg := Default().Loss
				cfg.Name = l.Name
				d, s := gradients(in, cfg)
				whole, _ := gradients(sound, cfg)
				near(t, "gradients", d, 0, float64(whole[1]))
				equal(t, "counted", s.NonFinite, 1)
				finiteStats(t, s)
			}
		}
	}
	equalInf := Tokens{LogpNew: []float32{-inf}, LogpOld: []float32{-inf}, Advantage: []float32{0}}
	_, s := gradients(equalInf, clip20)
	equal(t, "equal −∞", s.Loss, 0)
	finiteStats(t, s)
}

func TestPolicyLossOfExtremeRatios(t *testing.T) {
	for _, c := range []struct{ new, old, a, gradient float32 }{
		{0, 1000, 1, 0}, {0, 1000, -1, 0}, // ratio e^−30
		{1000, 0, 1, 0}, {1000, 0, -1, 0}, // ratio e^30: clipped, and bounded
		{1000, 0, 0, 0},
		{0, 0, math.MaxFloat32, -math.MaxFloat32},
		{29, 0, -math.MaxFloat32, 0}, // the gradient would overflow
	} {
		d, s := gradients(Tokens{LogpNew: []float32{c.new}, LogpOld: []float32{c.old}, Advantage: []float32{c.a}}, clip20)
		equal(t, fmt.Sprint(c, ": gradient"), d[0], c.gradient)
		finiteStats(t, s)
		equal(t, fmt.Sprint(c, ": overflow is counted"), s.NonFinite == 1, c.new == 29)
	}
}

func TestPolicyLossOfNothing(t *testing.T) {
	for _, l := range Losses {
		equal(t, l.Name, PolicyLoss(nil, Tokens{}, LossConfig{Name: l.Name}, 0), LossStats{})
	}
	s := LossStats{}
	s.Add(LossStats{})
	equal(t, "sum of nothing", s, LossStats{})
	equal(t, "means of nothing", [3]float64{s.Clipped(), s.MeanKL1(), s.MeanKL3()}, [3]float64{})
}

func TestPolicyLossRefusesMistakes(t *testing.T) {
	one := []float32{0}
	for name, f := range map[string]func(){
		"lengths":           func() { PolicyLoss(one, Tokens{LogpNew: one}, clip20, 1) },
		"old":               func() { PolicyLoss(one, Tokens{LogpNew: one, LogpOld: []float32{0, 0}, Advantage: one}, clip20, 1) },
		"weight":            func() { PolicyLoss(one, Tokens{LogpNew: one, Advantage: one, Weight: []float32{}}, clip20, 1) },
		"denominator 0":     func() { PolicyLoss(one, Tokens{LogpNew: one, Advantage: one}, clip20, 0) },
		"denominator NaN":   func() { PolicyLoss(one, Tokens{LogpNew: one, Advantage: one}, clip20, math.NaN()) },
		"unknown loss":      func() { PolicyLoss(one, Tokens{LogpNew: one, Advantage: one}, LossConfig{Name: "pp"}, 1) },
		"entropy lengths":   func() { EntropyLoss(one, Tokens{}, 1, 1) },
		"entropy over zero": func() { EntropyLoss(one, Tokens{Entropy: one}, 1, 0) },
	} {
		mustPanic(t, name, f)
	}
}

func TestEntropyLoss(t *testing.T) {
	d := []float32{1, 0, 0}
	sum := EntropyLoss(d, Tokens{Entropy: []float32{2, 3, nan}}, .5, 10)
	near(t, "gradient", d, 1-.05, -.05, 0)
	nearly(t, "sum", sum, 5)
	equal(t, "of nothing", EntropyLoss(nil, Tokens{}, 1, 0), 0)
}

func TestGatherLeavesObservationsOut(t *testing.T) {
	got := Gather([]float32{9}, []float32{nan, 1, inf, 2}, mask(0, 1, 0, 1))
	near(t, "action tokens", got, 9, 1, 2)
	mustPanic(t, "lengths", func() { Gather(nil, []float32{1}, nil) })
}

func finiteStats(t tester, s LossStats) {
	t.Helper()
	for _, v := range []float64{s.Loss, s.KL1, s.KL3, s.RatioMin, s.RatioMax} {
		if !finite(v) {
			t.Fatalf("statistics are not finite: %+v", s)
		}
	}
}
