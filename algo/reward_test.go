package algo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Two groups, twice: A with 2 segments (reward 1) and B with 6 (reward 0). Over segments the mean would be .25; over
// rollouts it is .5, and pass rates are per group.
func TestRewardsCountRollouts(t *testing.T) {
	segments := []int{2, 6, 2, 6}
	b := Batch{Reward: []float64{1, 0, 1, 0}, Group: []int64{0, 0, 1, 1}}
	for r, n := range segments {
		for range n {
			b.Rollout = append(b.Rollout, r)
			b.Action = append(b.Action, mask(1))
		}
	}
	equal(t, "segments", len(b.Rollout), 16)
	s := Rewards(b.Reward, b.Group)
	equal(t, "rollouts and groups", [2]int{s.Rollouts, s.Groups}, [2]int{4, 2})
	nearly(t, "mean", s.Mean, .5)
	nearly(t, "pass@1", s.Pass1, .5)
	nearly(t, "pass@n", s.PassN, 1)
	nearly(t, "spread in a group", s.GroupStd, math.Sqrt(.5))
}

func TestRewards(t *testing.T) {
	// Groups of different size: three rollouts of an easy prompt, one of a hard one.
	s := Rewards([]float64{1, 1, 1, 0}, []int64{5, 5, 5, 2})
	nearly(t, "mean over rollouts", s.Mean, .75)
	nearly(t, "pass@1 over groups", s.Pass1, .5)
	nearly(t, "spread over rollouts", s.Std, .5)
	equal(t, "flat groups", s.Flat, 2)
	equal(t, "of nothing", Rewards(nil, nil), RewardStats{})
	mustPanic(t, "lengths", func() { Rewards([]float64{1}, nil) })
}

func TestClipReward(t *testing.T) {
	for in, want := range map[float64]float64{11: 10, -11: -10, 3: 3, math.Inf(1): 10} {
		equal(t, "clipped", ClipReward(in, -10, 10), want)
	}
	equal(t, "NaN is no reward", math.IsNaN(ClipReward(math.NaN(), -10, 10)), true)
}

func TestPassAtK(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		want    float64
	}{
		{4, 1, 1, .25}, {4, 1, 4, 1}, {4, 0, 4, 0}, {4, 4, 1, 1},
		{4, 2, 2, 1 - 1./6}, // of 6 pairs, one misses both
		{10, 3, 5, 1 - 21./252},
		{1, 1, 1, 1},
	} {
		nearly(t, "pass@k", PassAtK(c.n, c.c, c.k), c.want)
	}
	for _, c := range [][3]int{{4, 1, 5}, {4, 1, 0}, {4, 5, 1}, {0, 0, 1}, {4, -1, 1}} {
		equal(t, "no estimate", math.IsNaN(PassAtK(c[0], c[1], c[2])), true)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		c, k := rapid.IntRange(0, n).Draw(t, "c"), rapid.IntRange(1, n).Draw(t, "k")
		p := PassAtK(n, c, k)
		equal(t, "a probability", within(p, 0, 1), true)
		nearly(t, "pass@1 is the rate", PassAtK(n, c, 1), float64(c)/float64(n))
		if k < n {
			equal(t, "more tries, more chance", PassAtK(n, c, k+1) >= p-1e-12, true)
		}
	})
}
