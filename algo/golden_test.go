package algo

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// What scripts/goldens/algo/golden.py writes: the same formulas in PyTorch, gradients by autograd in float64.
type golden struct {
	Torch       string
	Starts      []int32
	Denominator float64
	Losses      []struct {
		LogpNew, LogpOld, LogpGen, LogpRef, Advantage []float32

		Loss       LossConfig
		Correction CorrectionConfig
		Estimator  string
		Coef       float64

		WantWeight, WantGradient, WantKLGradient []float64
		WantLoss, WantKL, WantKL3                float64
		WantMismatchKL1, WantMismatchKL3         float64
		WantEffective                            float64
	}
	Advantages []struct {
		Estimator   string
		NoWhiten    bool
		Gamma, Coef float64
		Reward      []float64
		Group       []int64
		Rollout     []int
		Action      [][]bool
		KL          [][]float32
		Want        [][]float64
	}
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestLossesAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases: 3 losses by 6 corrections", len(g.Losses), 18)
	var seen LossStats
	for _, c := range g.Losses {
		name := fmt.Sprint(c.Loss, c.Correction, c.Estimator)
		in := Tokens{LogpNew: c.LogpNew, LogpOld: c.LogpOld, LogpGen: c.LogpGen, LogpRef: c.LogpRef,
			Advantage: c.Advantage, Weight: make([]float32, len(c.LogpNew)), Starts: g.Starts}
		d, dKL := make([]float32, len(c.LogpNew)), make([]float32, len(c.LogpNew))

		m := Correct(in.Weight, in, c.Correction)
		s := PolicyLoss(d, in, c.Loss, g.Denominator)
		k := KLLoss(dKL, in, c.Estimator, c.Coef, g.Denominator)

		near(t, name+": weights", in.Weight, c.WantWeight...)
		near(t, name+": gradient", d, c.WantGradient...)
		near(t, name+": KL gradient", dKL, c.WantKLGradient...)
		for i := range d {
			equal(t, name+": exactly 0 where autograd says so", d[i] == 0, c.WantGradient[i] == 0)
			equal(t, name+": exactly 0 where autograd says so", dKL[i] == 0, c.WantKLGradient[i] == 0)
		}
		near(t, name+": loss, KL, k3 of the step", []float64{s.Loss, k.Loss, s.MeanKL3()}, c.WantLoss, c.WantKL, c.WantKL3)
		near(t, name+": mismatch", []float64{m.MeanKL1(), m.MeanKL3(), m.EffectiveShare()},
			c.WantMismatchKL1, c.WantMismatchKL3, c.WantEffective)
		seen.Add(s)
	}
	equal(t, "every bound was met", seen.ClippedLow > 0 && seen.ClippedHigh > 0 && seen.ClippedDual > 0, true)
}

func TestAdvantagesAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases", len(g.Advantages), 9)
	for _, c := range g.Advantages {
		b := Batch{Reward: c.Reward, Group: c.Group, Rollout: c.Rollout, Action: c.Action, KL: c.KL}
		got := make([][]float32, len(c.Action))
		for k := range got {
			got[k] = repeat(nan, len(c.Action[k]))
		}
		Advantages(got, b, AdvantageConfig{Estimator: c.Estimator, Gamma: c.Gamma, NoWhiten: c.NoWhiten}, c.Coef)
		for k := range got {
			near(t, fmt.Sprintf("%s, segment %d", c.Estimator, k), got[k], c.Want[k]...)
		}
	}
}
