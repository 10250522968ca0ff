// What each rollout, or each of its turns, is worth to the estimator.

package train

import (
	"molt/algo"
	"molt/traj"
)

// rewards shapes the rewards of the batch, one for each rollout, and in a control experiment deals them out anew.
func (t *Trainer) rewards(b *batch) {
	var reward []float64
	var group []int64
	var length []int
	for _, r := range b.rollouts {
		reward = append(reward, r.traj.Reward)
		group = append(group, r.traj.Group)
		length = append(length, r.traj.Sampled())
	}
	t.state.Rewards = algo.ShapeRewards(reward, group, length, t.cfg.Config, t.state.Rewards)
	if t.cfg.Shuffle != nil {
		t.cfg.Shuffle(reward)
	}
	for i, r := range b.rollouts {
		r.worth = reward[i]
	}
}

// turnRewards splits what a rollout is worth over its turns: to each its own reward, scaled, and to the last one what
// shaping added or took, so that they add up to the rollout's. Rewards that were dealt out anew go to the last turn whole.
func (t *Trainer) turnRewards(r *rollout) []float64 {
	reward := make([]float64, max(r.turns, 1))
	rest := r.worth
	if t.cfg.Shuffle == nil {
		for i, n := range r.traj.Nodes {
			of := n.Reward
			if t.cfg.Reward.Scale != 0 {
				of *= t.cfg.Reward.Scale
			}
			reward[max(r.turn[i], 0)] += of
			rest -= of
		}
	}
	reward[len(reward)-1] += rest
	return reward
}

// turnsOf numbers the turns that sampled something. A node that sampled nothing belongs to the turn before it; before the
// first turn that is -1.
func turnsOf(nodes []traj.Node) (turn []int32, turns int) {
	for _, n := range nodes {
		if len(n.Sampled) > 0 {
			turns++
		}
		turn = append(turn, int32(turns)-1)
	}
	return turn, turns
}

// clipped describes the rewards within their bounds, before anything else is made of them: how good the rollouts were.
func (b *batch) clipped(cfg Config) algo.RewardStats {
	var reward []float64
	var group []int64
	for _, r := range b.rollouts {
		reward = append(reward, algo.ClipReward(r.traj.Reward, cfg.RewardLow, cfg.RewardHigh))
		group = append(group, r.traj.Group)
	}
	return algo.Rewards(reward, group)
}
