// Group estimators: a reward is good or bad only beside those of the other rollouts of its prompt.

package algo

import (
	"cmp"
	"slices"
)

// GRPO is group-relative policy optimization (DeepSeekMath, arXiv 2402.03300 §4.1.2): for the n rewards r of one group
//
//	A_i = (r_i − mean(r)) / (std(r) + 1e-9)
//
// with the sample standard deviation; 0 for a group of one. Two nearly equal rewards give large advantages: that is the
// estimator, not a mistake (see REINFORCE++).
func GRPO(advantage, reward []float64) {
	DrGRPO(advantage, reward)
	std := sampleStd(reward)
	for i := range advantage {
		advantage[i] /= std + 1e-9
	}
}

// DrGRPO is GRPO without its two biases (arXiv 2503.20783 §3.2): no division by the spread of the group, and none by the
// length of a rollout, unless the aggregation rollout_mean brings it back.
//
//	A_i = r_i − mean(r)
func DrGRPO(advantage, reward []float64) {
	m := mean(reward)
	for i, r := range reward {
		advantage[i] = r - m
	}
}

// RLOO is REINFORCE leave-one-out (arXiv 2402.14740 §3.2): the baseline is the mean of the others, so it does not depend
// on the rollout's own reward.
//
//	A_i = r_i − mean(r without r_i) = n/(n−1) · (r_i − mean(r));   a group of one keeps its reward
func RLOO(advantage, reward []float64) {
	n := float64(len(reward))
	if n == 1 {
		advantage[0] = reward[0]
		return
	}
	DrGRPO(advantage, reward)
	for i := range advantage {
		advantage[i] *= n / (n - 1)
	}
}

// PassAtKGain credits a rollout with what it adds to the best of k (Pass@K policy optimization, arXiv 2505.15201, the
// leave-one-out form for rewards of any size): J runs over the sets of k−1 other rollouts of the group,
//
//	A_i = mean over J of max(r_i, max_J r) − max_J r
//
// It is never below 0, and 0 for all rollouts of a group without a difference. k times its mean is an unbiased gradient of the
// expected best of k; with k = n only the best rollout has one, its lead over the second. A group of fewer than k compares all
// it has.
//
// With rewards in ascending order, J has its best at rank q in C(q, k−2) of C(n−1, k−1) cases, and
//
//	A_(p+1) = A_(p) + (r_(p+1) − r_(p)) · Σ_{q≤p} C(q, k−2) / C(n−1, k−1)
func PassAtKGain(advantage, reward []float64, k int) {
	n := len(reward)
	clear(advantage)
	if k = min(k, n); k < 2 {
		return
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(reward[a], reward[b]) })
	share := bestRanks(n, k)
	var below float64 // Σ of the shares of the ranks so far
	for p := 1; p < n; p++ {
		low, high := order[p-1], order[p]
		below += share[p-1]
		advantage[high] = advantage[low] + (reward[high]-reward[low])*below
	}
}

// bestRanks is C(q, k−2) / C(n−1, k−1) for q = 0..n−2, from the top down, where nothing overflows.
func bestRanks(n, k int) []float64 {
	share := make([]float64, n-1)
	at := float64(k-1) / float64(n-1)
	for q := n - 2; q >= k-2; q-- {
		share[q] = at
		at *= float64(q-k+2) / float64(max(q, 1))
	}
	return share
}

// groupAdvantages applies a group estimator to each group, and returns one advantage for each rollout.
func groupAdvantages(b Batch, estimate func(advantage, reward []float64, cfg AdvantageConfig), cfg AdvantageConfig) []float64 {
	out := make([]float64, len(b.Reward))
	for _, members := range groups(b.Group) {
		reward, advantage := make([]float64, len(members)), make([]float64, len(members))
		for i, r := range members {
			reward[i] = b.Reward[r]
		}
		estimate(advantage, reward, cfg)
		for i, r := range members {
			out[r] = advantage[i]
		}
	}
	return out
}

// turnAdvantages applies a group estimator to each turn of each group, and returns one advantage for each turn of each
// rollout: [R][turns].
//
//	G_{i,k} = r_{i,k} + γ·G_{i,k+1}              what turn k of rollout i earned from there on
//	A_{i,k} = estimate(G_{1,k} … G_{n,k})_i      a rollout that has ended counts with its last turn
//
// Turn-level credit is that of MT-GRPO (arXiv 2505.11821); ours compares all n rollouts at every turn, so that a
// reward on the last turn alone, not discounted, gives what the estimator gives without turns.
func turnAdvantages(b Batch, estimate func(advantage, reward []float64, cfg AdvantageConfig), cfg AdvantageConfig) [][]float64 {
	returns, out := make([][]float64, len(b.Reward)), make([][]float64, len(b.Reward))
	for r, reward := range b.TurnReward {
		returns[r], out[r] = make([]float64, len(reward)), make([]float64, len(reward))
		TurnReturns(returns[r], reward, cfg.TurnGamma)
	}
	for _, members := range groups(b.Group) {
		earned, advantage := make([]float64, len(members)), make([]float64, len(members))
		longest := 0
		for _, r := range members {
			longest = max(longest, len(returns[r]))
		}
		for k := range longest {
			for i, r := range members {
				earned[i] = 0
				if n := len(returns[r]); n > 0 {
					earned[i] = returns[r][min(k, n-1)]
				}
			}
			estimate(advantage, earned, cfg)
			for i, r := range members {
				if k < len(out[r]) {
					out[r][k] = advantage[i]
				}
			}
		}
	}
	return out
}

// TurnReturns writes what each turn of a rollout earned from there on, for the rewards of its turns; all [turns].
//
//	G_k = r_k + γ·G_{k+1}
func TurnReturns(dst, reward []float64, gamma float64) {
	mustHave("returns of turns", len(dst), len(reward))
	var g float64
	for k := len(reward) - 1; k >= 0; k-- {
		g = reward[k] + gamma*g
		dst[k] = g
	}
}

// groups lists the rollouts of each group, groups in order of their first rollout.
func groups(group []int64) [][]int {
	var out [][]int
	at := map[int64]int{}
	for r, id := range group {
		g, seen := at[id]
		if !seen {
			g = len(out)
			at[id] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], r)
	}
	return out
}

// spread gives every token of a rollout's segments the rollout's advantage.
func spread(advantage [][]float32, b Batch, ofRollout []float64) {
	for k, a := range advantage {
		value := float32(ofRollout[b.Rollout[k]])
		for t := range a {
			a[t] = value
		}
	}
}

// spreadTurns gives every action token the advantage of the turn that sampled it.
func spreadTurns(advantage [][]float32, b Batch, ofTurn [][]float64) {
	for k, a := range advantage {
		of := ofTurn[b.Rollout[k]]
		for t, action := range b.Action[k] {
			if action {
				a[t] = float32(of[b.Turn[k][t]])
			}
		}
	}
}
