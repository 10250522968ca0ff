package algo

import (
	"math"
	"testing"
)

func TestWeighLag(t *testing.T) {
	lag := []int32{0, 1, 2, 50, -1}
	for _, c := range []struct {
		name string
		cfg  LagConfig
		want []float64
	}{
		{"the zero value changes nothing", LagConfig{}, []float64{2, 2, 2, 2, 2}},
		{"nor does a factor of 1", LagConfig{Decay: 1}, []float64{2, 2, 2, 2, 2}},
		{"half for every version", LagConfig{Decay: .5}, []float64{2, 1, .5, 2 * math.Pow(.5, 50), 2}},
	} {
		w := repeat(2, 5)
		WeighLag(w, lag, c.cfg)
		near(t, c.name, w, c.want...)
	}
	mustPanic(t, "lengths", func() { WeighLag(repeat(1, 2), lag, LagConfig{}) })
}

func TestLags(t *testing.T) {
	in := Tokens{
		LogpOld: []float32{0, 0, 0, 0, nan}, LogpGen: []float32{0, -ln3, ln3, -.1, 0},
		Lag: []int32{0, 2, 2, 50, 1}, Weight: []float32{1, 3, 0, .5, 0},
	}
	s := Lags(in)
	equal(t, "lag 0", s[0].Mismatch.Tokens, 1)
	nearly(t, "lag 0: KL", s[0].Mismatch.MeanKL3(), 0)
	equal(t, "lag 1 is not finite", [2]int{s[1].Mismatch.Tokens, s[1].Mismatch.NonFinite}, [2]int{0, 1})
	nearly(t, "lag 2: KL", s[2].Mismatch.MeanKL3(), (3+1./3-2)/2)
	nearly(t, "lag 2: worst", s[2].Mismatch.Worst, math.Log(3))
	nearly(t, "lag 2: what the correction left", s[2].Weight, 3)
	nearly(t, "lag 50 is in the last bin", s[len(s)-1].Mismatch.MeanKL1(), -.1)

	both := s
	both.Add(s)
	equal(t, "adds up", both[2].Mismatch.Tokens, 4)
	nearly(t, "so does the weight", both[2].Weight, 6)
	equal(t, "of nothing", Lags(Tokens{}), LagStats{})
	mustPanic(t, "lengths", func() { Lags(Tokens{LogpOld: in.LogpOld, LogpGen: in.LogpGen}) })
}
