// Advantages: how much better than expected each token did. Group estimators compare the rollouts of one prompt and give
// a whole rollout one number; REINFORCE++ gives each token its own.
//
// A rollout has one reward, however many segments carry its tokens: Batch has no place for a second one.

package algo

import "math"

// Batch is one step's graded rollouts, R of them in S segments. A rollout that was not graded is not in it.
type Batch struct {
	Reward  []float64   // [R] one for each rollout
	Group   []int64     // [R] equal for the rollouts of one prompt
	Rollout []int       // [S] whose tokens a segment carries: an index into Reward
	Action  [][]bool    // [S][T] true where a token was sampled and trains in this segment
	KL      [][]float32 // [S][T] per-token KL to the reference (TokenKL), off-mask values unread; nil: no KL in the reward
}

// AdvantageConfig chooses the estimator.
type AdvantageConfig struct {
	Estimator string  // a row of Estimators; default "grpo"
	Gamma     float64 // reinforce: discount per position; 0..1, default 1
	NoWhiten  bool    // reinforce, reinforce_baseline: leave the advantages as they are; default false
}

// AdvantageStats describes the advantages of the action tokens, as written.
type AdvantageStats struct {
	Tokens    int     // action tokens
	NonFinite int     // of these, tokens whose advantage was not a finite float32 and was set to 0. A healthy run has none
	Mean, Std float64 // over action tokens; population standard deviation
	Max       float64 // largest |A|
}

// Advantages writes the advantage of every token of every segment, [S][T] like b.Action: exactly 0 where Action is
// false. klCoef is the current weight of b.KL in the reward; only estimators that read the KL use it.
func Advantages(advantage [][]float32, b Batch, cfg AdvantageConfig, klCoef float64) AdvantageStats {
	b.mustFit(advantage)
	e := row(Estimators, cfg.Estimator)
	if e.group != nil {
		spread(advantage, b, groupAdvantages(b, e.group))
	} else {
		rewardsToGo(advantage, b, cfg.Gamma, klCoef)
	}
	nonFinite := clean(advantage, b.Action)
	if e.Whitens && !cfg.NoWhiten {
		Whiten(advantage, b.Action)
	}
	s := describe(advantage, b.Action)
	s.NonFinite = nonFinite
	return s
}

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
// length of a rollout, which the global token mean of PolicyLoss never had.
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

// RewardToGo gives every position of a segment the discounted reward that follows (REINFORCE++, arXiv 2501.03262 §3).
// All slices are [T].
//
//	G_t = r_t + γ·G_{t+1}        r_t = −klCoef·kl_t on action tokens, plus reward on the last action token
//
// As in the original, γ counts positions, observations included, and a rollout of several segments is rewarded at the end
// of each: an action token trains in one of them only. Off-mask positions carry the running value.
func RewardToGo(dst []float32, action []bool, kl []float32, reward, gamma, klCoef float64) {
	var g float64
	rewarded := false
	for t := len(dst) - 1; t >= 0; t-- {
		g *= gamma
		if action[t] && !rewarded {
			g += reward
			rewarded = true
		}
		if action[t] && kl != nil {
			g -= klCoef * float64(kl[t])
		}
		dst[t] = float32(g)
	}
}

// Whiten shifts and scales the advantages of all action tokens of the batch to mean 0 and standard deviation 1, and sets
// all others to exactly 0 (REINFORCE++, arXiv 2501.03262 §3: normalisation over the batch, not over a group).
//
//	A ← (A − mean) / sqrt(max(var, 1e-8))        population variance
//
// The floor keeps a batch of nearly equal advantages small instead of blowing up its noise.
func Whiten(advantage [][]float32, action [][]bool) {
	s := describe(advantage, action)
	scale := 1 / math.Sqrt(max(s.Std*s.Std, 1e-8))
	for k, a := range advantage {
		for t := range a {
			if action[k][t] {
				a[t] = float32((float64(a[t]) - s.Mean) * scale)
			} else {
				a[t] = 0
			}
		}
	}
}

// groupAdvantages applies a group estimator to each group, and returns one advantage for each rollout.
func groupAdvantages(b Batch, estimate func(advantage, reward []float64)) []float64 {
	out := make([]float64, len(b.Reward))
	for _, members := range groups(b.Group) {
		reward, advantage := make([]float64, len(members)), make([]float64, len(members))
		for i, r := range members {
			reward[i] = b.Reward[r]
		}
		estimate(advantage, reward)
		for i, r := range members {
			out[r] = advantage[i]
		}
	}
	return out
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

func rewardsToGo(advantage [][]float32, b Batch, gamma, klCoef float64) {
	for k, a := range advantage {
		var kl []float32
		if b.KL != nil {
			kl = b.KL[k]
		}
		RewardToGo(a, b.Action[k], kl, b.Reward[b.Rollout[k]], gamma, klCoef)
	}
}

// clean sets advantages to 0 off the mask and where they are not finite, and counts the latter.
func clean(advantage [][]float32, action [][]bool) (nonFinite int) {
	for k, a := range advantage {
		for t, v := range a {
			if !action[k][t] {
				a[t] = 0
			} else if !finite(float64(v)) {
				a[t] = 0
				nonFinite++
			}
		}
	}
	return nonFinite
}

// describe computes the moments over action tokens, in two passes.
func describe(advantage [][]float32, action [][]bool) AdvantageStats {
	var s AdvantageStats
	var sum, squares float64
	for k, a := range advantage {
		for t, v := range a {
			if action[k][t] {
				s.Tokens++
				sum += float64(v)
				s.Max = max(s.Max, math.Abs(float64(v)))
			}
		}
	}
	s.Mean = share(sum, s.Tokens)
	for k, a := range advantage {
		for t, v := range a {
			if action[k][t] {
				squares += (float64(v) - s.Mean) * (float64(v) - s.Mean)
			}
		}
	}
	s.Std = math.Sqrt(share(squares, s.Tokens))
	return s
}

func (b *Batch) mustFit(advantage [][]float32) {
	mustHave("Group", len(b.Group), len(b.Reward))
	mustHave("Rollout", len(b.Rollout), len(b.Action))
	mustHave("advantage", len(advantage), len(b.Action))
	for k := range advantage {
		mustHave("advantage of a segment", len(advantage[k]), len(b.Action[k]))
		if b.KL != nil {
			mustHave("KL of a segment", len(b.KL[k]), len(b.Action[k]))
		}
	}
}
