// From what rollouts are worth to one advantage for each action token, and to what the critic should have said.

package train

import "molt/algo"

// advantages fills Advantage of every segment, and with a critic Return.
func (t *Trainer) advantages(b *batch, res *Result) {
	in := t.estimated(b, res)
	perToken := make([][]float32, len(b.segments))
	for k, s := range b.segments {
		perToken[k] = make([]float32, len(s.Layout.Tokens))
	}
	res.Advantage = algo.Advantages(perToken, in, t.cfg.Advantage, t.state.KL)
	for k, s := range b.segments {
		s.Advantage = algo.Gather(nil, perToken[k], s.Layout.Action)
		if in.Return != nil {
			s.Return = algo.Gather(nil, in.Return[k], s.Layout.Action)
			res.Critic.Foresaw.Add(s.foresaw(t.cfg.Value))
		}
	}
}

// estimated is the batch as estimators read it. A lane that nothing reads stays nil.
func (t *Trainer) estimated(b *batch, res *Result) algo.Batch {
	var in algo.Batch
	for _, r := range b.rollouts {
		in.Reward = append(in.Reward, r.worth)
		in.Group = append(in.Group, r.traj.Group)
		if t.cfg.Advantage.Turns {
			in.TurnReward = append(in.TurnReward, t.turnRewards(r))
		}
	}
	for _, s := range b.segments {
		in.Rollout = append(in.Rollout, s.of.index)
		in.Action = append(in.Action, s.Layout.Action)
		if t.cfg.Advantage.Turns {
			in.Turn = append(in.Turn, s.turn())
		}
		if t.klInReward() {
			in.KL = append(in.KL, s.PerToken(s.kl(t.cfg.KL.Estimator, res)))
		}
		if t.criticises() {
			in.Value = append(in.Value, s.PerToken(s.ValueOld))
			in.Return = append(in.Return, make([]float32, len(s.Layout.Tokens)))
		}
	}
	return in
}

// turn is the turn that added each token of the segment [T].
func (s *Segment) turn() []int32 {
	turn := make([]int32, len(s.Layout.Node))
	for i, node := range s.Layout.Node {
		turn[i] = s.of.turn[node]
	}
	return turn
}

// kl is the KL to the reference of each action token [N], for estimators that take it from the reward.
func (s *Segment) kl(estimator string, res *Result) []float32 {
	kl := make([]float32, len(s.LogpOld))
	algo.TokenKL(kl, s.LogpOld, s.LogpRef, estimator)
	res.Reference.Add(algo.KLStats{Tokens: len(kl), Sum: sum(kl)})
	return kl
}
