// Rewards before they become advantages, and what is reported about them. Everything here counts rollouts: a rollout
// with six segments counts as much as one with one.

package algo

import "math"

// ClipReward bounds a reward. NaN stays NaN: such a rollout was not graded and has no reward.
func ClipReward(reward, low, high float64) float64 { return min(max(reward, low), high) }

// RewardStats describes the rewards of graded rollouts.
type RewardStats struct {
	Rollouts int
	Groups   int
	Mean     float64 // over rollouts
	Std      float64 // over rollouts; sample standard deviation
	Pass1    float64 // mean over groups of the group's mean: equals Mean when all groups have the same size
	PassN    float64 // mean over groups of the group's best
	GroupStd float64 // mean over groups of the group's sample standard deviation
	Flat     int     // groups whose rewards are all equal: a group baseline makes every advantage 0
}

// Rewards describes R rewards; equal numbers in group are rollouts of one prompt.
func Rewards(reward []float64, group []int64) RewardStats {
	mustHave("group", len(group), len(reward))
	s := RewardStats{Rollouts: len(reward), Mean: mean(reward), Std: sampleStd(reward)}
	var pass1, passN, std float64
	for _, members := range groups(group) {
		of := make([]float64, len(members))
		for i, r := range members {
			of[i] = reward[r]
		}
		s.Groups++
		pass1 += mean(of)
		passN += best(of)
		std += sampleStd(of)
		if flat(of) {
			s.Flat++
		}
	}
	s.Pass1, s.PassN, s.GroupStd = share(pass1, s.Groups), share(passN, s.Groups), share(std, s.Groups)
	return s
}

// PassAtK estimates without bias the chance that at least one of k rollouts is correct, from n rollouts of which c were
// (Codex, arXiv 2107.03374, eq. 1):
//
//	1 − C(n−c, k) / C(n, k)
//
// It is NaN when no such estimate exists: k < 1, or fewer than k rollouts.
func PassAtK(n, c, k int) float64 {
	if k < 1 || k > n || c < 0 || c > n {
		return math.NaN()
	}
	if n-c < k {
		return 1
	}
	miss := 1.0
	for i := n - c + 1; i <= n; i++ {
		miss *= 1 - float64(k)/float64(i)
	}
	return 1 - miss
}

func best(x []float64) float64 {
	b := x[0]
	for _, v := range x {
		b = max(b, v)
	}
	return b
}

// flat reports whether all values are equal.
func flat(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
