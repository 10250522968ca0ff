package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The penalty of DAPO, figure by figure: 20 tokens at most, growing over the last 5.
func TestOverlong(t *testing.T) {
	reward := []float64{1, 1, 1, 1, 1, 1}
	overlong(reward, []int{0, 15, 16, 18, 20, 50}, LengthConfig{Max: 20, Buffer: 5, Factor: .5})
	near(t, "reward", reward, 1, 1, .9, .7, .5, .5)
}

func TestLinear(t *testing.T) {
	reward := []float64{1, 1, 0, 0, 1}
	linear(reward, []int{10, 30, 10, 30, 20}, LengthConfig{Factor: 1, Solved: 1})
	near(t, "short is good, unless it is wrong", reward, 1.5, .5, 0, -.5, 1)
	linear(reward, []int{7, 7, 7, 7, 7}, LengthConfig{Factor: 1, Solved: 1})
	near(t, "equal lengths change nothing", reward, 1.5, .5, 0, -.5, 1)
}

func TestCosine(t *testing.T) {
	cfg := LengthConfig{Max: 100, Solved: 1, CorrectShort: 2, CorrectLong: 1, WrongShort: -10, WrongLong: 0}
	reward := []float64{1, 1, 1, 0, 0, 0, 1, math.NaN()}
	cosine(reward, []int{0, 50, 100, 0, 50, 100, 101, 0}, cfg)
	near(t, "reward", reward[:7], 2, 1.5, 1, -10, -5, 0, -10)
	equal(t, "not graded stays so", math.IsNaN(reward[7]), true)
}

func TestShapeRewards(t *testing.T) {
	shape := func(change func(c *Config), reward ...float64) []float64 {
		c := Default()
		change(&c)
		group, length := []int64{0, 0, 1, 1}, []int{10, 20, 10, 20}
		ShapeRewards(reward, group[:len(reward)], length[:len(reward)], c, Running{})
		return reward
	}
	near(t, "the default clips", shape(func(*Config) {}, 1, -20, 30, .5), 1, -10, 10, .5)
	near(t, "so does the zero value", shape(func(c *Config) { c.Reward = RewardConfig{} }, 1, -20, 30, .5), 1, -10, 10, .5)
	near(t, "scaled, then clipped", shape(func(c *Config) { c.Reward.Scale = 20 }, 1, .1), 10, 2)
	near(t, "by length, in each group", shape(func(c *Config) { c.Reward.Length.Shape = "linear" }, 1, 1, 0, 0), 1.5, .5, 0, -.5)
	near(t, "all of it", shape(func(c *Config) {
		c.Reward = RewardConfig{Length: LengthConfig{Shape: "overlong", Max: 20, Buffer: 10, Factor: 1}, Scale: 4, Normalise: "group"}
	}, 1, 1), .5*math.Sqrt2, -.5*math.Sqrt2) // 4 and 0: mean 2, sample std 2·sqrt 2
	mustPanic(t, "lengths", func() { ShapeRewards([]float64{1}, []int64{0}, nil, Default(), Running{}) })
}

func TestNormalisations(t *testing.T) {
	group := []int64{0, 0, 1, 1}
	for name, want := range map[string][]float64{
		"off":   {1, 3, 10, 10},
		"group": {-math.Sqrt(.5), math.Sqrt(.5), 0, 0},
		"batch": {-5 / math.Sqrt(66./3), -3 / math.Sqrt(66./3), 4 / math.Sqrt(66./3), 4 / math.Sqrt(66./3)}, // Σ (r − 6)² = 66
	} {
		reward := []float64{1, 3, 10, 10}
		c := Default()
		c.Reward.Normalise = name
		ShapeRewards(reward, group, make([]int, 4), c, Running{})
		near(t, name, reward, want...)
	}

	// The run has seen 2 and 4 before: mean 5, Σ (r − mean)² = 9 + 1 + 16 + 4 + 0 + 0.
	c := Default()
	c.Reward.Normalise = "running"
	reward := []float64{9, 7, 5, 5 - 2}
	seen := ShapeRewards(reward, group, make([]int, 4), c, Running{}.Add([]float64{2, 4}))
	std := math.Sqrt((9 + 1 + 16 + 4 + 0 + 4) / 5.)
	near(t, "seen", []float64{seen.Count, seen.Mean, seen.Std()}, 6, 5, std)
	near(t, "running", reward, 4/std, 2/std, 0, -2/std)
}

// What a run has seen does not depend on how it came in batches, and a reward that is not finite is not seen.
func TestRunning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-9, 9), 0, 20).Draw(t, "x")
		cut := rapid.IntRange(0, len(x)).Draw(t, "cut")
		s := Running{}.Add(x[:cut]).Add([]float64{math.NaN(), math.Inf(1)}).Add(x[cut:])
		near(t, "moments", []float64{s.Count, s.Mean, s.Std()}, float64(len(x)), mean(x), sampleStd(x))
	})
}

// Shifting and scaling a group's rewards does not change what a scale-free estimator makes of them: why Rules refuses it.
func TestScaleFree(t *testing.T) {
	for _, e := range Estimators {
		if e.group == nil {
			continue
		}
		a, b := make([]float64, 3), make([]float64, 3)
		e.group(a, []float64{1, 0, .25}, AdvantageConfig{K: 2})
		e.group(b, []float64{12, 2, 4.5}, AdvantageConfig{K: 2})
		equal(t, e.Name, close6(a[0], b[0]), e.ScaleFree)
	}
}
