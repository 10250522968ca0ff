package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRewardToGo(t *testing.T) {
	masks := [][]bool{mask(1, 0, 1, 1, 0), mask(0, 1, 1, 0, 0)}
	kl := [][]float32{{.5, 9, -.25, .75, -4}, {3, -.5, .25, 8, -2}}
	for _, c := range []struct {
		gamma float64
		row   int
		want  []float64
	}{
		{1, 0, []float64{1.8, 1.9, 1.9, 1.85, 0}},
		{1, 1, []float64{-.95, -.95, -1.05, 0, 0}},
		{.75, 0, []float64{.70859375, 1.078125, 1.4375, 1.85, 0}},
		{.75, 1, []float64{-.515625, -.6875, -1.05, 0, 0}},
	} {
		got := make([]float32, 5)
		RewardToGo(got, masks[c.row], kl[c.row], []float64{2, -1}[c.row], c.gamma, .2)
		near(t, "reward to go", got, c.want...)
	}
	got := repeat(7, 3)
	RewardToGo(got, mask(0, 0, 0), nil, 5, 1, 0)
	near(t, "no action token, no reward", got, 0, 0, 0)
}

// gae runs the estimator on rollouts of one segment each, and gives its advantages and returns.
func gae(cfg AdvantageConfig, reward []float64, action [][]bool, value, kl [][]float32, klCoef float64) (advantage, returns [][]float32) {
	b := Batch{Reward: reward, Action: action, Value: value, KL: kl}
	for r := range reward {
		b.Group, b.Rollout = append(b.Group, int64(r)), append(b.Rollout, r)
		advantage = append(advantage, repeat(nan, len(action[r])))
		b.Return = append(b.Return, repeat(nan, len(action[r])))
	}
	cfg.Estimator = "gae"
	Advantages(advantage, b, cfg, klCoef)
	return advantage, b.Return
}

func TestGAE(t *testing.T) {
	for _, c := range []struct {
		name              string
		action            []bool
		value             []float32
		raw, returns, out []float64
	}{
		// δ = .1 at the end; δ = .9 + .3 and A = 1.2 + .95·.1 before it; δ = −.3 − .5 and A = −.8 + .95·1.295 first.
		{"padding at the end", mask(1, 1, 1, 0, 0), []float32{.5, -.3, .9, 4, -7},
			[]float64{.43025, 1.295, .1, 0, 0}, []float64{.93025, .995, 1, 0, 0}, []float64{-.353603, 1.362644, -1.009042, 0, 0}},
		{"a tool's reply in the middle is bridged", mask(1, 1, 0, 0, 1, 1), []float32{.5, -.3, 9, -9, .7, .2},
			[]float64{.38465, 1.247, 0, 0, .26, .8}, []float64{.88465, .947, 0, 0, .96, 1}, []float64{-.744713, 1.483129, 0, 0, -1.06674, .328325}},
	} {
		cfg := AdvantageConfig{Gamma: 1, Lambda: .95, NoWhiten: true}
		a, r := gae(cfg, []float64{1}, [][]bool{c.action}, [][]float32{c.value}, nil, 0)
		near(t, c.name+": raw", a[0], c.raw...)
		near(t, c.name+": returns", r[0], c.returns...)
		cfg.NoWhiten = false
		a, r = gae(cfg, []float64{1}, [][]bool{c.action}, [][]float32{c.value}, nil, 0)
		for i := range c.out { // the literals have six digits
			equal(t, c.name+": whitened", math.Abs(float64(a[0][i])-c.out[i]) < 2e-6, true)
		}
		near(t, c.name+": returns are never whitened", r[0], c.returns...)
	}
}

// Against the definition, Σ (γλ)^l δ_{t+l} over the action tokens that follow, with and without KL, for any γ and λ; λ = 0 is
// the one-step error and λ = 1 the discounted return minus the value.
func TestGAEIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		action := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "action")
		value := rapid.SliceOfN(rapid.Float32Range(-2, 2), n, n).Draw(t, "value")
		kl := rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(t, "kl")
		reward := rapid.Float64Range(-3, 3).Draw(t, "reward")
		gamma := rapid.SampledFrom([]float64{1, .97, .5, 0}).Draw(t, "gamma")
		lambda := rapid.SampledFrom([]float64{1, .95, .5, 0}).Draw(t, "lambda")
		cfg := AdvantageConfig{Gamma: gamma, Lambda: lambda, NoWhiten: true}
		a, returns := gae(cfg, []float64{reward}, [][]bool{action}, [][]float32{value}, [][]float32{kl}, .1)

		var at []int // the action tokens
		for i, is := range action {
			if is {
				at = append(at, i)
			} else {
				equal(t, "observations", [2]float32{a[0][i], returns[0][i]}, [2]float32{})
			}
		}
		r := func(j int) float64 {
			r := -.1 * float64(kl[at[j]])
			if j == len(at)-1 {
				r += reward
			}
			return r
		}
		v := func(j int) float64 {
			if j == len(at) {
				return 0
			}
			return float64(value[at[j]])
		}
		for j := range at {
			var want, ret float64
			for l := j; l < len(at); l++ {
				want += math.Pow(gamma*lambda, float64(l-j)) * (r(l) + gamma*v(l+1) - v(l))
				ret += math.Pow(gamma, float64(l-j)) * r(l)
			}
			got := float64(a[0][at[j]])
			equal(t, "the sum", math.Abs(got-want) < 1e-5, true)
			equal(t, "returns", math.Abs(float64(returns[0][at[j]])-got-v(j)) < 1e-5, true)
			if lambda == 0 {
				equal(t, "one step", math.Abs(got-(r(j)+gamma*v(j+1)-v(j))) < 1e-5, true)
			}
			if lambda == 1 {
				equal(t, "return minus value", math.Abs(got-(ret-v(j))) < 1e-5, true)
			}
		}
	})
}

// A rollout in several segments is one rollout: values reach across its segments and never into another rollout.
func TestGAECrossesSegmentsNotRollouts(t *testing.T) {
	cfg := AdvantageConfig{Estimator: "gae", Gamma: .9, Lambda: .8, NoWhiten: true}
	whole, _ := gae(cfg, []float64{1}, [][]bool{mask(1, 1, 1, 1)}, [][]float32{{.1, .2, .3, .4}}, nil, 0)
	b := Batch{
		Reward: []float64{1, 50}, Group: []int64{0, 0}, Rollout: []int{0, 1, 0},
		Action: [][]bool{mask(1, 0, 1), mask(1), mask(0, 1, 1)},
		Value:  [][]float32{{.1, nan, .2}, {70}, {nan, .3, .4}},
	}
	a := [][]float32{repeat(0, 3), repeat(0, 1), repeat(0, 3)}
	Advantages(a, b, cfg, 0)
	w := whole[0]
	near(t, "first segment", a[0], float64(w[0]), 0, float64(w[1]))
	near(t, "last segment", a[2], 0, float64(w[2]), float64(w[3]))
	near(t, "the other rollout", a[1], -20)
}

// Every token is judged by the teacher: what it finds likelier than the student did is good, whatever the reward.
func TestDistill(t *testing.T) {
	old, teacher := []float32{-1, -2, -3}, []float32{-2, -2, -.5}
	kl := make([]float32, 3)
	TokenKL(kl, old, teacher, "k1")
	b := Batch{Reward: []float64{100}, Group: []int64{0}, Rollout: []int{0}, Action: [][]bool{mask(1, 0, 1)}, KL: [][]float32{kl}}
	a := [][]float32{repeat(nan, 3)}
	Advantages(a, b, AdvantageConfig{Estimator: "on_policy_distill", Gamma: 1}, .5)
	near(t, "coef · (teacher − student)", a[0], -.5, 0, 1.25)
}
