package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The whole table of group estimators, small enough to check by hand.
func TestGroupEstimators(t *testing.T) {
	for _, c := range []struct {
		name     string
		estimate func(advantage, reward []float64)
		reward   []float64
		want     []float64
	}{
		{"grpo", GRPO, []float64{1, 0, 0, 0}, []float64{1.5, -.5, -.5, -.5}}, // sample std .5
		{"grpo: a constant has no winner", GRPO, []float64{.5, .5, .5}, []float64{0, 0, 0}},
		{"grpo: nor has one that float64 cannot average", GRPO, []float64{.1, .1, .1}, []float64{0, 0, 0}},
		{"grpo: alone", GRPO, []float64{2}, []float64{0}},
		{"dr_grpo", DrGRPO, []float64{1, 0, 0, 0}, []float64{.75, -.25, -.25, -.25}},
		{"dr_grpo", DrGRPO, []float64{5, 3}, []float64{1, -1}},
		{"dr_grpo: alone", DrGRPO, []float64{2}, []float64{0}},
		{"rloo", RLOO, []float64{1, 0, 0, 0}, []float64{1, -1. / 3, -1. / 3, -1. / 3}},
		{"rloo", RLOO, []float64{5, 3}, []float64{2, -2}},
		{"rloo: alone keeps its reward", RLOO, []float64{2}, []float64{2}},
	} {
		got := make([]float64, len(c.reward))
		c.estimate(got, c.reward)
		near(t, c.name, got, c.want...)
	}
}

// perRollout runs an estimator on rollouts of one action token each.
func perRollout(estimator string, group []int64, reward ...float64) []float32 {
	b := Batch{Reward: reward, Group: group}
	advantage := make([][]float32, len(reward))
	for r := range reward {
		b.Rollout = append(b.Rollout, r)
		b.Action = append(b.Action, mask(1))
		advantage[r] = make([]float32, 1)
	}
	Advantages(advantage, b, AdvantageConfig{Estimator: estimator, Gamma: 1}, 0)
	out := make([]float32, len(reward))
	for r := range out {
		out[r] = advantage[r][0]
	}
	return out
}

func TestBaselinesCompareInsideAGroupOnly(t *testing.T) {
	two := []int64{7, 7, 3, 3}
	near(t, "dr_grpo", perRollout("dr_grpo", two, 1, 0, 5, 3), .5, -.5, 1, -1)
	near(t, "rloo", perRollout("rloo", two, 1, 0, 5, 3), 1, -1, 2, -2)
	near(t, "groups may be interleaved", perRollout("rloo", []int64{7, 3, 7, 3}, 1, 5, 0, 3), 1, 2, -1, -2)
	// reinforce_baseline: .75, −.25, −.25, −.25, then whitened: standard deviation sqrt(.1875).
	s := math.Sqrt(.1875)
	near(t, "reinforce_baseline", perRollout("reinforce_baseline", []int64{1, 1, 1, 1}, 1, 0, 0, 0), .75/s, -.25/s, -.25/s, -.25/s)
}

// A rollout with two segments has one reward: the mean of A = 1 and B = 0.5 is 0.75, not 0.8333.
func TestFanOutCountsRolloutsNotSegments(t *testing.T) {
	b := Batch{
		Reward:  []float64{1, .5},
		Group:   []int64{0, 0},
		Rollout: []int{0, 0, 1},
		Action:  [][]bool{mask(0, 1), mask(0, 0, 1), mask(0, 1)},
	}
	a := [][]float32{make([]float32, 2), make([]float32, 3), make([]float32, 2)}
	s := Advantages(a, b, AdvantageConfig{Estimator: "dr_grpo", Gamma: 1}, 0)
	near(t, "A, first segment", a[0], 0, .25)
	near(t, "A, second segment", a[1], 0, 0, .25)
	near(t, "B", a[2], 0, -.25)
	equal(t, "tokens", s.Tokens, 3)
	nearly(t, "largest", s.Max, .25)
}

// Advantages of a batch equal those of its groups one at a time.
func TestGroupsDoNotSeeEachOther(t *testing.T) {
	rewards := []float64{1, 0, .5, .25, .9, .1, .4, .6}
	whole := perRollout("grpo", []int64{0, 0, 1, 1, 2, 2, 3, 3}, rewards...)
	for g := 0; g < 4; g++ {
		alone := perRollout("grpo", []int64{9, 9}, rewards[2*g:2*g+2]...)
		near(t, "group alone", alone, float64(whole[2*g]), float64(whole[2*g+1]))
	}
}

func TestReinforce(t *testing.T) {
	b := Batch{
		Reward: []float64{2, -1}, Group: []int64{0, 1}, Rollout: []int{0, 1},
		Action: [][]bool{mask(1, 1, 1), mask(1, 1, 1)},
	}
	a := [][]float32{make([]float32, 3), make([]float32, 3)}
	cfg := AdvantageConfig{Estimator: "reinforce", Gamma: 1}
	Advantages(a, b, cfg, 0)
	near(t, "mean .5, std 1.5", a[0], 1, 1, 1)
	near(t, "mean .5, std 1.5", a[1], -1, -1, -1)

	cfg.NoWhiten = true
	Advantages(a, b, cfg, 0)
	near(t, "not whitened", a[0], 2, 2, 2)
	near(t, "not whitened", a[1], -1, -1, -1)
}

func TestWhiten(t *testing.T) {
	a := [][]float32{{1, 2, 9}, {3, 4}}
	m := [][]bool{mask(1, 1, 0), mask(1, 1)}
	Whiten(a, m)
	s := math.Sqrt(1.25) // population, of 1 2 3 4
	near(t, "first", a[0], -1.5/s, -.5/s, 0)
	near(t, "second", a[1], .5/s, 1.5/s)

	a = [][]float32{{1, 1 + 1e-6}}
	Whiten(a, [][]bool{mask(1, 1)})
	if math.Abs(float64(a[0][1])) > .01 {
		t.Errorf("the variance floor lets noise grow to %v", a[0])
	}
	a = [][]float32{{nan, inf}}
	Whiten(a, [][]bool{mask(0, 0)})
	near(t, "no action token", a[0], 0, 0)
}

// Whatever stands off the mask, in the KL too, no token there gets an advantage; whatever is not finite is counted.
func TestAdvantagesOfHostileNumbers(t *testing.T) {
	for _, e := range Estimators {
		for _, c := range []struct {
			name   string
			reward float64
			bad    bool
		}{
			{"ordinary", 1, false},
			{"NaN", math.NaN(), !e.IgnoresReward},
			{"infinite", math.Inf(1), !e.IgnoresReward},
			{"above float32", 1e300, !e.IgnoresReward && !e.ScaleFree}, // grpo divides by the spread
		} {
			b := Batch{
				Reward: []float64{c.reward, 0}, Group: []int64{0, 0}, Rollout: []int{0, 1},
				Action: [][]bool{mask(0, 1, 0), mask(1, 0, 1)},
				KL:     [][]float32{{nan, 1, inf}, {1, nan, 1}},
				Value:  [][]float32{{nan, 1, inf}, {1, nan, 1}},
			}
			a := [][]float32{repeat(nan, 3), repeat(nan, 3)}
			s := Advantages(a, b, AdvantageConfig{Estimator: e.Name, Gamma: .9, K: 2}, .1)
			for k := range a {
				for i, v := range a[k] {
					if !b.Action[k][i] && v != 0 || !finite(float64(v)) {
						t.Errorf("%s, reward %s: advantage %v at %d", e.Name, c.name, v, i)
					}
				}
			}
			equal(t, e.Name+" "+c.name+": counted", s.NonFinite > 0, c.bad)
		}
	}
}

func TestAdvantagesOfNothing(t *testing.T) {
	for _, e := range Estimators {
		cfg := AdvantageConfig{Estimator: e.Name, Gamma: 1}
		equal(t, e.Name, Advantages(nil, Batch{}, cfg, 0), AdvantageStats{})
		b := Batch{Reward: []float64{1}, Group: []int64{0}, Rollout: []int{0}, Action: [][]bool{mask(0, 0)},
			KL: [][]float32{{nan, 1}}, Value: [][]float32{{nan, 1}}}
		equal(t, e.Name+" without action tokens", Advantages([][]float32{{1, 1}}, b, cfg, 0), AdvantageStats{})
	}
	mustPanic(t, "lengths", func() { Advantages(nil, Batch{Reward: []float64{1}}, AdvantageConfig{Estimator: "grpo"}, 0) })
	one := Batch{Reward: []float64{1}, Group: []int64{0}, Rollout: []int{0}, Action: [][]bool{mask(1)}}
	for _, cfg := range []AdvantageConfig{{Estimator: "gae"}, {Estimator: "on_policy_distill"}, {Estimator: "grpo", Turns: true}} {
		mustPanic(t, cfg.Estimator+" without what it reads", func() { Advantages([][]float32{{0}}, one, cfg, 0) })
	}
}

// Facts of the papers, for any rewards.
func TestEstimatorProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reward := rapid.SliceOfN(rapid.Float64Range(-10, 10), 2, 12).Draw(t, "reward")
		n := len(reward)
		grpo, dr, rloo := make([]float64, n), make([]float64, n), make([]float64, n)
		GRPO(grpo, reward)
		DrGRPO(dr, reward)
		RLOO(rloo, reward)
		var sums [3]float64
		for i := range reward {
			sums[0] += grpo[i]
			sums[1] += dr[i]
			sums[2] += rloo[i]
			var others float64
			for j, r := range reward {
				if j != i {
					others += r / float64(n-1)
				}
			}
			nearly(t, "leave one out", rloo[i], reward[i]-others)
		}
		near(t, "a group's advantages sum to 0", sums[:], 0, 0, 0)
		if std := sampleStd(reward); std > 1e-3 {
			nearly(t, "grpo has unit spread", sampleStd(grpo), 1)
			nearly(t, "grpo is dr_grpo over the spread", grpo[0]*std, dr[0])
		}
	})
}

// Near-ties: GRPO blows them up to its largest value, batch whitening does not (REINFORCE++, §3).
func TestNearTies(t *testing.T) {
	group := []int64{0, 0, 0, 0, 1, 1, 1, 1}
	rewards := []float64{.5, .5, .5, .5001, 1, 0, 0, 1}
	grpo := perRollout("grpo", group, rewards...)
	whitened := perRollout("reinforce_baseline", group, rewards...)
	if grpo[3] < 1.49 || whitened[3] > .001 {
		t.Errorf("a near-tie weighs %v under grpo and %v under reinforce_baseline", grpo[3], whitened[3])
	}
}
