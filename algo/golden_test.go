package algo

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// What scripts/goldens/algo/golden.py writes: the same formulas in PyTorch, gradients by autograd in float64.
type golden struct {
	Torch  string
	Inputs struct {
		LogpNew, LogpOld, LogpGen, LogpRef, Advantage []float32

		Starts, RolloutTokens []int32
	}
	Step      StepSize
	Low, High float64

	Corrections []struct {
		Level, Mode         string
		Want                []float64
		KL1, KL3, Effective float64
	}
	Losses []struct {
		Loss        LossConfig
		Level, Mode string

		WantLoss     float64
		WantGradient []float64
	}
	KL []struct {
		Estimator, Aggregation string
		Coef, WantLoss         float64
		WantGradient           []float64
	}
	Values []struct {
		Value, Start, Return    []float32
		Clip, Coef              float64
		Aggregation             string
		WantLoss, WantExplained float64
		WantGradient            []float64
	}
	Advantages []struct {
		Estimator           string
		NoWhiten            bool
		Gamma, Lambda, Coef float64
		Reward              []float64
		Group               []int64
		Rollout             []int
		Action              [][]bool
		KL, Value           [][]float32
		Want, WantReturn    [][]float64
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

// tokens lays the inputs out for one correction and one aggregation.
func (g golden) tokens(c CorrectionConfig, cfg LossConfig) (Tokens, MismatchStats) {
	i := g.Inputs
	n := len(i.LogpNew)
	in := Tokens{LogpNew: i.LogpNew, LogpOld: i.LogpOld, LogpGen: i.LogpGen, LogpRef: i.LogpRef, Advantage: i.Advantage,
		Weight: make([]float32, n), Share: make([]float32, n), Starts: i.Starts, RolloutTokens: i.RolloutTokens}
	m := Correct(in.Weight, in, c)
	Shares(in.Share, in, cfg)
	return in, m
}

func TestCorrectionsAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases", len(g.Corrections), 6)
	for _, c := range g.Corrections {
		in, m := g.tokens(CorrectionConfig{c.Level, c.Mode, g.Low, g.High}, LossConfig{})
		near(t, c.Level+" "+c.Mode, in.Weight, c.Want...)
		near(t, c.Level+": mismatch", []float64{m.MeanKL1(), m.MeanKL3(), m.EffectiveShare()}, c.KL1, c.KL3, c.Effective)
	}
}

func TestLossesAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases: 6 losses by 6 corrections by 4 aggregations, and 2 coupled", len(g.Losses), 6*6*4+2)
	var seen LossStats
	for _, c := range g.Losses {
		name := fmt.Sprint(c.Loss, c.Level, c.Mode)
		in, _ := g.tokens(CorrectionConfig{c.Level, c.Mode, g.Low, g.High}, c.Loss)
		d := make([]float32, len(in.LogpNew))
		s := PolicyLoss(d, in, c.Loss, c.Loss.Denominator(g.Step))
		nearly(t, name+": loss", s.Loss, c.WantLoss)
		gradientsAgree(t, name, d, c.WantGradient)
		seen.Add(s)
	}
	for bound, met := range map[string]int{"low": seen.ClippedLow, "high": seen.ClippedHigh, "dual": seen.ClippedDual, "ceiling": seen.Capped} {
		equal(t, bound+" was met", met > 0, true)
	}
}

func TestKLAgreesWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases", len(g.KL), 4*4)
	for _, c := range g.KL {
		cfg := LossConfig{Aggregation: c.Aggregation, MaxTokens: 12}
		in, _ := g.tokens(CorrectionConfig{Level: "off", Mode: "mask"}, cfg)
		d := make([]float32, len(in.LogpNew))
		s := KLLoss(d, in, c.Estimator, c.Coef, cfg.Denominator(g.Step))
		nearly(t, c.Estimator+": loss", s.Loss, c.WantLoss)
		gradientsAgree(t, c.Estimator, d, c.WantGradient)
	}
}

func TestValuesAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases", len(g.Values), 2*4)
	for _, c := range g.Values {
		cfg := LossConfig{Aggregation: c.Aggregation, MaxTokens: 12}
		in, _ := g.tokens(CorrectionConfig{Level: "off", Mode: "mask"}, cfg)
		in.Value, in.ValueOld, in.Return = c.Value, c.Start, c.Return
		d := make([]float32, len(c.Value))
		s := ValueLoss(d, in, ValueConfig{Clip: c.Clip, Coef: c.Coef}, cfg.Denominator(g.Step))
		near(t, "loss, explained", []float64{s.Loss, s.Explained()}, c.WantLoss, c.WantExplained)
		gradientsAgree(t, "value", d, c.WantGradient)
	}
}

func gradientsAgree(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	near(t, name+": gradient", got, want...)
	for i := range got {
		equal(t, name+": exactly 0 where autograd says so", got[i] == 0, want[i] == 0)
	}
}

func TestAdvantagesAgreeWithPyTorch(t *testing.T) {
	g := readGolden(t)
	equal(t, "cases", len(g.Advantages), 4+2*5)
	for _, c := range g.Advantages {
		b := Batch{Reward: c.Reward, Group: c.Group, Rollout: c.Rollout, Action: c.Action, KL: c.KL, Value: c.Value}
		got := make([][]float32, len(c.Action))
		for k := range got {
			got[k] = repeat(nan, len(c.Action[k]))
			b.Return = append(b.Return, repeat(nan, len(c.Action[k])))
		}
		Advantages(got, b, AdvantageConfig{Estimator: c.Estimator, Gamma: c.Gamma, Lambda: c.Lambda, NoWhiten: c.NoWhiten}, c.Coef)
		for k := range got {
			name := fmt.Sprintf("%s, segment %d", c.Estimator, k)
			near(t, name, got[k], c.Want[k]...)
			if c.WantReturn != nil {
				near(t, name+": returns", b.Return[k], c.WantReturn[k]...)
			}
		}
	}
}
