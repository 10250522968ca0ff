package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// corrected gives the weights for Old = 0 and the given LogpGen, all in one segment.
func corrected(cfg CorrectionConfig, gen ...float32) ([]float32, MismatchStats) {
	w := make([]float32, len(gen))
	s := Correct(w, Tokens{LogpOld: make([]float32, len(gen)), LogpGen: gen}, cfg)
	return w, s
}

func TestCorrect(t *testing.T) {
	ln10 := float32(math.Log(10))
	for _, c := range []struct {
		name     string
		cfg      CorrectionConfig
		gen      []float32 // Old is 0, so the mismatch is exp(−gen)
		want     []float64
		filtered float64
	}{
		{"geometric mean of 3 and 1/3 is 1: kept, each with its own weight",
			CorrectionConfig{"geometric", "mask", .5, 2}, []float32{-ln3, ln3}, []float64{3, 1. / 3}, 0},
		{"sequence: so is the product",
			CorrectionConfig{"sequence", "mask", .5, 2}, []float32{-ln3, ln3}, []float64{3, 1. / 3}, 0},
		{"sequence: product 9 is outside where the geometric mean 3 is not",
			CorrectionConfig{"sequence", "mask", .5, 5}, []float32{-ln3, -ln3}, []float64{0, 0}, 1},
		{"geometric: 3 is inside",
			CorrectionConfig{"geometric", "mask", .5, 5}, []float32{-ln3, -ln3}, []float64{3, 3}, 0},
		{"token mask: both are outside",
			CorrectionConfig{"token", "mask", .5, 2}, []float32{-ln3, ln3}, []float64{0, 0}, 1},
		{"token clip",
			CorrectionConfig{"token", "clip", .5, 2}, []float32{-ln3, ln3}, []float64{2, .5}, 1},
		{"token truncate limits only the top",
			CorrectionConfig{"token", "truncate", .5, 2}, []float32{ln10, -ln10}, []float64{.1, 2}, .5},
		{"the band is inclusive",
			CorrectionConfig{"token", "mask", 1, 1}, []float32{0, 0}, []float64{1, 1}, 0},
		{"off", CorrectionConfig{"off", "mask", .5, 2}, []float32{-ln3, ln3}, []float64{1, 1}, 0},
		{"overflow is bounded, then truncated",
			CorrectionConfig{"token", "truncate", .5, 2}, []float32{-1000}, []float64{2}, 1},
		{"overflow drops a judged segment",
			CorrectionConfig{"geometric", "mask", .5, 2}, []float32{-1000}, []float64{0}, 1},
		{"the original's spellings", CorrectionConfig{"geo", "mask", .5, 2}, []float32{-ln3, ln3}, []float64{3, 1. / 3}, 0},
		{"the original's spellings", CorrectionConfig{"token", "trunc", .5, 2}, []float32{-ln10}, []float64{2}, 1},
	} {
		w, s := corrected(c.cfg, c.gen...)
		near(t, c.name, w, c.want...)
		equal(t, c.name+": filtered", s.Filtered, int(c.filtered*float64(max(s.Units, 1))))
		equal(t, c.name+": tokens", s.Tokens, len(c.gen))
	}
}

func TestSegmentsAreJudgedOneByOne(t *testing.T) {
	in := Tokens{
		LogpOld: make([]float32, 4),
		LogpGen: []float32{-ln3, ln3, -2, -2},
		Starts:  []int32{0, 2, 2, 4}, // the second segment has no action token
	}
	w := make([]float32, 4)
	s := Correct(w, in, CorrectionConfig{"geometric", "mask", .5, 2})
	near(t, "weights", w, 3, 1./3, 0, 0)
	equal(t, "judged", s.Units, 2)
	equal(t, "dropped", s.Filtered, 1)
	mustPanic(t, "starts", func() {
		Correct(w, Tokens{LogpOld: in.LogpOld, LogpGen: in.LogpGen, Starts: []int32{0, 3}}, CorrectionConfig{Level: "off", Mode: "mask"})
	})
}

func TestMismatchStats(t *testing.T) {
	_, s := corrected(CorrectionConfig{"token", "truncate", 0, 100}, -.1)
	nearly(t, "k1 is gen − old", s.MeanKL1(), -.1)
	nearly(t, "k3", s.MeanKL3(), math.Exp(.1)-1-.1)

	_, s = corrected(CorrectionConfig{"off", "mask", 0, 1}, -ln3, ln3, 0) // m = 3, 1/3, 1
	nearly(t, "k1", s.MeanKL1(), 0)
	nearly(t, "k3", s.MeanKL3(), (3+1./3+1-3)/3)
	nearly(t, "worst", s.Worst, math.Log(3))
	m := 3 + 1./3 + 1
	nearly(t, "effective share", s.EffectiveShare(), m*m/(9+1./9+1)/3)

	equal(t, "of nothing", Correct(nil, Tokens{}, CorrectionConfig{"geometric", "mask", 1, 1}), MismatchStats{})
	equal(t, "of nothing", MismatchStats{}.EffectiveShare(), 0)
}

// Without a step between, LogpOld is LogpNew.
func TestCorrectFromNewWhereNothingLiesBetween(t *testing.T) {
	in := Tokens{LogpNew: []float32{0}, LogpGen: []float32{-ln3}}
	w := make([]float32, 1)
	Correct(w, in, CorrectionConfig{"token", "truncate", 0, 100})
	near(t, "weight", w, 3)
}

func TestCorrectOfHostileNumbers(t *testing.T) {
	bad := []float32{nan, inf, -inf}
	for _, level := range Levels {
		for _, mode := range Modes {
			cfg := CorrectionConfig{level.Name, mode.Name, .5, 2}
			for _, old := range bad {
				for _, gen := range append(bad, -1) {
					in := Tokens{LogpOld: []float32{old, -1, -1}, LogpGen: []float32{gen, -1, -1}, Starts: []int32{0, 2, 3}}
					w := repeat(7, 3)
					s := Correct(w, in, cfg)
					switch {
					case level.Off:
						near(t, level.Name, w, 1, 1, 1)
					case level.PerSegment:
						near(t, level.Name, w, 0, 0, 1)
					default:
						near(t, level.Name, w, 0, 1, 1)
					}
					equal(t, level.Name+": counted", s.NonFinite, 1)
					for _, v := range []float64{s.MeanKL1(), s.MeanKL3(), s.Worst, s.EffectiveShare()} {
						equal(t, level.Name+" "+mode.Name+": finite statistics", finite(v), true)
					}
				}
			}
		}
	}
}

// Weights obey their band, and equal log-probs need no correction, at every level and mode.
func TestCorrectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(Levels).Draw(t, "level")
		mode := rapid.SampledFrom(Modes).Draw(t, "mode")
		cfg := CorrectionConfig{level.Name, mode.Name, rapid.Float64Range(0, 1).Draw(t, "low"), rapid.Float64Range(1, 9).Draw(t, "high")}
		logp := rapid.SliceOfN(rapid.Float32Range(-20, 0), 1, 20)
		old := logp.Draw(t, "old")
		gen := rapid.SliceOfN(rapid.Float32Range(-20, 0), len(old), len(old)).Draw(t, "gen")
		w := make([]float32, len(old))

		s := Correct(w, Tokens{LogpOld: old, LogpGen: gen}, cfg)
		for i := range w {
			m := math.Exp(float64(old[i]) - float64(gen[i]))
			kept := close6(float64(w[i])/m, 1)
			switch {
			case level.Off:
				equal(t, "off", w[i], 1)
			case level.PerSegment || mode.Name == "mask":
				equal(t, "own mismatch or nothing", kept || w[i] == 0, true)
			default:
				equal(t, "bounded", float64(w[i]) <= cfg.High*(1+1e-6), true)
				equal(t, "own mismatch inside the band", kept || m < cfg.Low || m > cfg.High*(1-1e-6), true)
			}
		}
		equal(t, "KL is not negative", s.KL3 >= 0, true)
		equal(t, "no more than all tokens are effective", s.EffectiveShare() <= 1+1e-9, true)

		s = Correct(w, Tokens{LogpOld: old, LogpGen: old}, cfg)
		for i := range w {
			equal(t, "no mismatch, no correction", w[i], 1)
		}
		nearly(t, "all tokens are effective", s.EffectiveShare(), 1)
		equal(t, "nothing is filtered", s.Filtered, 0)
	})
}

func TestRatioIsBoundedAndFlatBeyond(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 30, -30} {
		r := ratioOf(x)
		equal(t, "slope", r.slope, r.value)
		equal(t, "value", r.value, math.Exp(x))
	}
	for _, x := range []float64{30.001, 1e308, math.Inf(1)} {
		equal(t, "above", ratioOf(x), ratio{value: math.Exp(30)})
		equal(t, "below", ratioOf(-x), ratio{value: math.Exp(-30)})
	}
}
