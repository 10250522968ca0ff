// From rewards to one advantage for each action token.

package train

import (
	"math"

	"molt/algo"
)

// advantages clips (and in a control experiment shuffles) the rewards, one for each rollout, and gives every action token
// its advantage.
func (t *Trainer) advantages(b *batch) algo.AdvantageStats {
	in := algo.Batch{}
	segmentOf := map[*Sample]int{}
	for i, r := range b.rollouts {
		in.Reward = append(in.Reward, algo.ClipReward(r.reward, t.cfg.RewardLow, t.cfg.RewardHigh))
		in.Group = append(in.Group, r.traj.Group)
		for _, s := range r.samples {
			segmentOf[s] = len(in.Rollout)
			in.Rollout = append(in.Rollout, i)
			in.Action = append(in.Action, s.Segment.Action)
		}
	}
	if t.cfg.Shuffle != nil {
		t.cfg.Shuffle(in.Reward)
	}
	if t.reference != nil && !t.cfg.KL.AsLoss {
		in.KL = b.tokenKL(t.cfg.KL.Estimator)
	}
	perToken := make([][]float32, len(in.Action))
	for k := range perToken {
		perToken[k] = make([]float32, len(in.Action[k]))
	}
	stats := algo.Advantages(perToken, in, t.cfg.Advantage, t.state.KL)
	for s, k := range segmentOf {
		s.Advantage = algo.Gather(nil, perToken[k], s.Segment.Action)
	}
	return stats
}

// tokenKL is the KL to the reference of each token of each segment, for estimators that take it from the reward.
func (b *batch) tokenKL(estimator string) [][]float32 {
	var all [][]float32
	for _, r := range b.rollouts {
		for _, s := range r.samples {
			kl := make([]float32, len(s.score))
			algo.TokenKL(kl, s.LogpOld, s.LogpRef, estimator)
			all = append(all, s.PerToken(kl))
		}
	}
	return all
}

// Change is how far the step's first update moved the sample: the mean |LogpNew − LogpOld| of its action tokens, in nats.
func (s *Sample) Change() float64 {
	if s.LogpNew == nil || s.LogpOld == nil {
		return 0
	}
	var sum float64
	for i := range s.LogpNew {
		sum += math.Abs(float64(s.LogpNew[i]) - float64(s.LogpOld[i]))
	}
	return sum / float64(len(s.LogpNew))
}
