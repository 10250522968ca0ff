// Advantages: how much better than expected each token did. Group estimators (group.go) compare the rollouts of one prompt
// and give a whole rollout, or each of its turns, one number; the others (returns.go) give each token its own.
//
// A rollout has one reward, however many segments carry its tokens: Batch has no place for a second one.

package algo

import "math"

// Batch is one step's graded rollouts, R of them in S segments. A rollout that was not graded is not in it. The segments
// of a rollout stand in the order in which they were sampled.
type Batch struct {
	Reward  []float64 // [R] one for each rollout
	Group   []int64   // [R] equal for the rollouts of one prompt
	Rollout []int     // [S] whose tokens a segment carries: an index into Reward
	Action  [][]bool  // [S][T] true where a token was sampled and trains in this segment

	KL     [][]float32 // [S][T] per-token KL to the reference (TokenKL), off-mask values unread; nil: no KL in the reward
	Value  [][]float32 // [S][T] the critic's values at the start of the batch, off-mask values unread; read by gae
	Return [][]float32 // [S][T] destination of gae's returns, what the critic learns, exactly 0 off the mask; nil: not wanted

	TurnReward [][]float64 // [R][turns] the parts of a reward, where AdvantageConfig.Turns says so; Reward is then unread
	Turn       [][]int32   // [S][T] ordinal in its rollout of the turn that sampled the token, off-mask values unread; for Turns
}

// AdvantageConfig chooses the estimator.
type AdvantageConfig struct {
	Estimator string  // a row of Estimators; default "grpo"
	Gamma     float64 // reinforce, gae: discount per token; 0..1, default 1
	Lambda    float64 // gae: 0 trusts the critic, 1 the rewards; 0..1, default 1
	Turns     bool    // each turn has a reward of its own, and is credited with what follows; default false
	TurnGamma float64 // Turns: discount per turn; 0 credits a turn with its own reward alone; 0..1, default 1
	K         int     // pass_at_k: the tries of which one must succeed; 2..rollouts per prompt, default 0: not chosen
	NoWhiten  bool    // reinforce, reinforce_baseline, gae: leave the advantages as they are; default false
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
	e := row(Estimators, cfg.Estimator)
	b.mustFit(advantage, e, cfg.Turns)
	switch {
	case e.group == nil:
		e.tokens(advantage, b, cfg, klCoef)
	case cfg.Turns:
		spreadTurns(advantage, b, turnAdvantages(b, e.group, cfg))
	default:
		spread(advantage, b, groupAdvantages(b, e.group, cfg))
	}
	nonFinite := clean(advantage, b.Action)
	if e.Whitens && !cfg.NoWhiten {
		Whiten(advantage, b.Action)
	}
	s := describe(advantage, b.Action)
	s.NonFinite = nonFinite
	return s
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

// mustFit panics unless every lane that the estimator reads has the shape of the batch.
func (b *Batch) mustFit(advantage [][]float32, e Estimator, turns bool) {
	mustHave("Group", len(b.Group), len(b.Reward))
	mustHave("Rollout", len(b.Rollout), len(b.Action))
	b.mustShape("advantage", advantage)
	if b.KL != nil || e.IgnoresReward {
		b.mustShape("KL", b.KL)
	}
	if e.ReadsValue {
		b.mustShape("Value", b.Value)
	}
	if b.Return != nil {
		b.mustShape("Return", b.Return)
	}
	if turns {
		mustHave("TurnReward", len(b.TurnReward), len(b.Reward))
		mustHave("Turn", len(b.Turn), len(b.Action))
	}
}

func (b *Batch) mustShape(what string, lane [][]float32) {
	mustHave(what, len(lane), len(b.Action))
	for k := range lane {
		mustHave(what+" of a segment", len(lane[k]), len(b.Action[k]))
	}
}
