// Estimators that give each token its own advantage: discounted returns, returns over a critic's values, and the
// distance to a teacher.

package algo

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

func reinforce(advantage [][]float32, b Batch, cfg AdvantageConfig, klCoef float64) {
	if cfg.Turns {
		turnsToGo(advantage, b, cfg, klCoef)
		return
	}
	for k, a := range advantage {
		RewardToGo(a, b.Action[k], b.kl(k), b.Reward[b.Rollout[k]], cfg.Gamma, klCoef)
	}
}

// turnsToGo is RewardToGo where each turn is rewarded on its last token: what later turns earn reaches the earlier ones,
// through all segments of the rollout, discounted by TurnGamma from turn to turn besides γ per position.
func turnsToGo(advantage [][]float32, b Batch, cfg AdvantageConfig, klCoef float64) {
	later := make([]later, len(b.Reward))
	for k := len(advantage) - 1; k >= 0; k-- {
		at := &later[b.Rollout[k]]
		kl := b.kl(k)
		for t := len(advantage[k]) - 1; t >= 0; t-- {
			at.value *= cfg.Gamma
			if b.Action[k][t] {
				reward, discount := at.enter(&b, cfg, k, t)
				at.value = reward + discount*at.value
				if kl != nil {
					at.value -= klCoef * float64(kl[t])
				}
			}
			advantage[k][t] = float32(at.value)
		}
	}
}

// GAE is generalized advantage estimation (arXiv 1506.02438, eq. 16) on the action tokens of each rollout, with V from
// b.Value and t' the next action token:
//
//	δ_t = r_t + γ·V_{t'} − V_t        r_t = −klCoef·kl_t, plus the reward on the last action token
//	A_t = δ_t + γλ·A_{t'}             R_t = A_t + V_t, what the critic learns
//
// Observations between two action tokens are bridged: they have no value and no discount. t' may lie in the rollout's
// next segment, never in another rollout. With Turns, each turn is rewarded on its last token, and γ is multiplied by
// TurnGamma from one turn to the next. The returns are not whitened; Advantages whitens A afterwards.
func GAE(advantage [][]float32, b Batch, cfg AdvantageConfig, klCoef float64) {
	rollouts := make([]later, len(b.Reward))
	for k := len(advantage) - 1; k >= 0; k-- {
		at := &rollouts[b.Rollout[k]]
		kl := b.kl(k)
		for t := len(advantage[k]) - 1; t >= 0; t-- {
			var a, v float64
			if b.Action[k][t] {
				reward, discount := at.enter(&b, cfg, k, t)
				if kl != nil {
					reward -= klCoef * float64(kl[t])
				}
				v = float64(b.Value[k][t])
				gamma := cfg.Gamma * discount
				a = reward + gamma*at.value - v + gamma*cfg.Lambda*at.advantage
				at.value, at.advantage = v, a
			}
			advantage[k][t] = float32(a)
			if b.Return != nil {
				b.Return[k][t] = float32(a + v)
			}
		}
	}
}

// Distill is on-policy distillation: the student samples, and every token is judged by the log-probs of a teacher in the
// place of the reference (reverse KL, arXiv 2306.13649). b.KL holds k1.
//
//	A_t = −klCoef·(Old_t − Ref_t)
//
// Its mean over what the student samples is −klCoef·KL(student‖teacher), and PolicyLoss climbs it. No reward, no discount.
func Distill(advantage [][]float32, b Batch, _ AdvantageConfig, klCoef float64) {
	for k, a := range advantage {
		for t, kl := range b.KL[k] {
			a[t] = float32(-klCoef * float64(kl))
		}
	}
}

// later is what a rollout's walk from its last token to its first has seen.
type later struct {
	value, advantage float64 // of the next action token; value alone: the return from it on
	turn             int32   // that sampled it
	begun            bool    // there is one
}

// enter moves to the action token t of segment k. It returns the token's reward, and the discount between it and the
// next action token that a change of turn makes.
func (l *later) enter(b *Batch, cfg AdvantageConfig, k, t int) (reward, discount float64) {
	discount = 1
	ends := !l.begun
	if cfg.Turns {
		turn := b.Turn[k][t]
		if l.begun && turn != l.turn {
			ends, discount = true, cfg.TurnGamma
		}
		l.turn = turn
	}
	l.begun = true
	switch {
	case ends && cfg.Turns:
		reward = b.TurnReward[b.Rollout[k]][l.turn]
	case ends:
		reward = b.Reward[b.Rollout[k]]
	}
	return reward, discount
}

// kl is the KL of segment k, or nil where none enters the reward.
func (b *Batch) kl(k int) []float32 {
	if b.KL == nil {
		return nil
	}
	return b.KL[k]
}
