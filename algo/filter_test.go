package algo

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFilter(t *testing.T) {
	plain := Default()
	strict := plain
	strict.Filter = FilterConfig{MinGraded: 3, Dynamic: true, Low: 0, High: 1}
	kl, entropy, whitened, perToken := plain, plain, plain, plain
	kl.KL.Coef = .1
	entropy.EntropyCoef = .1
	whitened.Advantage.Estimator = "reinforce_baseline"
	perToken.Advantage.Estimator = "reinforce"
	for _, c := range []struct {
		name   string
		cfg    Config
		reward []float64
		want   Reason
	}{
		{"mixed", plain, []float64{1, 0, 0}, Kept},
		{"nothing was graded", plain, nil, Incomplete},
		{"one of many was graded", plain, []float64{1}, Kept},
		{"one of many, three wanted", strict, []float64{1, 0}, Incomplete},
		{"all failed", plain, []float64{0, 0, 0}, Flat},
		{"all failed", strict, []float64{0, 0, 0}, TooHard},
		{"all solved", strict, []float64{1, 1, 1}, TooEasy},
		{"bounds are exclusive", strict, []float64{1, 1, .999}, Kept},
		{"equal, inside the bounds", strict, []float64{.5, .5, .5}, Flat},
		{"equal, but the KL has a gradient", kl, []float64{1, 1}, Kept},
		{"equal, but the entropy has a gradient", entropy, []float64{1, 1}, Kept},
		{"equal, but whitening moves it off 0", whitened, []float64{1, 1}, Kept},
		{"equal, but nothing is compared", perToken, []float64{1, 1}, Kept},
	} {
		equal(t, c.name, Filter(c.reward, c.cfg), c.want)
	}
}

// Skipping a flat group is exactly the same step: its advantages are all 0, and only its tokens count.
func TestFlatGroupsHaveNoGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Default()
		cfg.Advantage.Estimator = rapid.SampledFrom(Estimators).Draw(t, "estimator").Name
		n := rapid.IntRange(2, 9).Draw(t, "n")
		reward := make([]float64, n)
		for i := range reward {
			reward[i] = rapid.Float64Range(-10, 10).Draw(t, "reward")
		}
		if rapid.Bool().Draw(t, "equal") {
			for i := range reward {
				reward[i] = reward[0]
			}
		}
		if Filter(reward, cfg) == Flat {
			for _, a := range perRollout(cfg.Advantage.Estimator, make([]int64, n), reward...) {
				equal(t, "advantage", a, 0)
			}
		}
	})
}
