// Tokens of older versions: a rollout that was sampled while the weights changed holds some of several. Correct weighs each
// token by its mismatch, whatever its age; here age itself counts.

package algo

import "math"

// LagConfig says how the age of a token changes its weight. The zero value changes nothing.
type LagConfig struct {
	Decay float64 // a token's weight falls by this factor with every version of lag; 0..1, default 0: off, as is 1
}

// WeighLag multiplies weight [N], as Correct wrote it, by what each token's lag leaves of it:
//
//	w ← w · Decay^lag
func WeighLag(weight []float32, lag []int32, cfg LagConfig) {
	mustHave("Lag", len(lag), len(weight))
	for i, l := range lag {
		if l > 0 && cfg.Decay != 0 {
			weight[i] *= float32(math.Pow(cfg.Decay, float64(l)))
		}
	}
}

// LagStats describes the tokens of each lag: index 0 holds those of the learner's own version, the last index those of
// that lag or more. Statistics of other tokens are joined with Add.
type LagStats [17]LagBin

// LagBin describes the tokens of one lag.
type LagBin struct {
	Mismatch MismatchStats // of Old against Gen, uncorrected; nothing is judged, so Units stays 0
	Weight   float64       // Σ of the weights, after correction
}

// Lags reads Lag, LogpOld, LogpGen and Weight.
func Lags(in Tokens) (s LagStats) {
	old := in.old()
	mustHave("Lag", len(in.Lag), len(old))
	mustHave("LogpGen", len(in.LogpGen), len(old))
	for i, l := range in.Lag {
		bin := &s[min(max(int(l), 0), len(s)-1)]
		bin.Weight += in.weight(i)
		d := float64(old[i]) - float64(in.LogpGen[i])
		if !finite(d) {
			bin.Mismatch.NonFinite++
			continue
		}
		bin.Mismatch.count(d, ratioOf(d).value)
	}
	return s
}

// Add joins the statistics of other tokens.
func (s *LagStats) Add(o LagStats) {
	for l := range s {
		s[l].Mismatch.Add(o[l].Mismatch)
		s[l].Weight += o[l].Weight
	}
}
