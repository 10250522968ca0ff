// Rollouts for people: which ones are offered to the keeper, and what each of their tokens shows.

package run

import (
	"slices"

	"molt/metrics"
	"molt/tokenizer"
	"molt/train"
	"molt/traj"
)

// candidates offers every rollout of the groups. samples are what a step made of them; nil after an evaluation.
func (r *rlRun) candidates(step int64, split string, groups []*traj.Group, trained *train.Result) []metrics.Candidate {
	samples := map[*traj.Rollout][]*train.Segment{}
	if trained != nil {
		for _, s := range trained.Segments {
			samples[s.Layout.Rollout] = append(samples[s.Layout.Rollout], s)
		}
	}
	var list []metrics.Candidate
	for _, g := range groups {
		for _, rollout := range g.Rollouts {
			if rollout == nil {
				continue
			}
			of := samples[rollout]
			list = append(list, metrics.Candidate{
				Group: rollout.Group, Sample: rollout.Sample, Graded: rollout.Outcome.Graded(), Reward: rollout.Reward, Change: change(of),
				Fill: func() *metrics.RolloutKept {
					kept := r.kept(step, split, g, rollout)
					r.explain(kept, rollout, of, trained)
					return kept
				},
			})
		}
	}
	return list
}

func change(samples []*train.Segment) float64 {
	most := 0.0
	for _, s := range samples {
		most = max(most, s.Change())
	}
	return most
}

// kept is the rollout as it was captured.
func (r *rlRun) kept(step int64, split string, g *traj.Group, t *traj.Rollout) *metrics.RolloutKept {
	said := r.recorder.take(t.Group, t.Sample)
	k := &metrics.RolloutKept{
		Step: step, Split: split, Group: t.Group, Sample: t.Sample, Samples: len(g.Rollouts), Prompt: g.Prompt, Source: g.Source,
		Outcome: string(t.Outcome), Detail: t.Detail, Filtered: g.Filtered, Retries: t.Attempt, Graded: t.Outcome.Graded(),
		Reward: t.Reward, Score: t.Score, Info: t.Info, Messages: said.messages, Seconds: said.seconds,
	}
	if k.Messages == nil {
		k.Messages = spelled(r.model.Tok, t)
	}
	for i := range t.Nodes {
		appendNode(k, r.model.Tok, i, &t.Nodes[i])
	}
	return k
}

// spelled stands in for a transcript that was lost with the process that heard it: the text of the ids.
func spelled(tok *tokenizer.Tokenizer, t *traj.Rollout) []metrics.Message {
	var messages []metrics.Message
	for i := range t.Nodes {
		messages = append(messages,
			metrics.Message{Node: i, Role: "user", Text: tok.Decode(t.Nodes[i].Observation)},
			metrics.Message{Node: i, Role: "assistant", Text: tok.Decode(t.Nodes[i].Sampled)})
	}
	return messages
}

func appendNode(k *metrics.RolloutKept, tok *tokenizer.Tokenizer, index int, n *traj.Node) {
	k.Nodes = append(k.Nodes, metrics.Node{Parent: n.Parent, Temperature: n.Temperature, Finish: string(n.Finish), Reward: n.Reward, NewSegment: n.NewSegment})
	t := &k.Tokens
	for _, id := range n.Observation {
		appendToken(t, tok, id, index)
	}
	for i, id := range n.Sampled {
		appendToken(t, tok, id, index)
		last := len(t.ID) - 1
		t.Sampled[last], t.Version[last], t.LogpGen[last] = true, int64(n.Version[i]), n.LogpGen[i]
	}
}

// appendToken adds an observation token.
func appendToken(t *metrics.Tokens, tok *tokenizer.Tokenizer, id int32, node int) {
	t.ID = append(t.ID, id)
	t.Piece = append(t.Piece, tok.Piece(id))
	t.Node = append(t.Node, node)
	t.Sampled = append(t.Sampled, false)
	t.Action = append(t.Action, false)
	t.Version = append(t.Version, 0)
	t.LogpGen = append(t.LogpGen, 0)
}

// explain adds what the step made of the rollout's tokens.
func (r *rlRun) explain(k *metrics.RolloutKept, t *traj.Rollout, samples []*train.Segment, trained *train.Result) {
	if trained == nil || len(samples) == 0 {
		return
	}
	k.Lag = t.Lag(trained.Before)
	n := k.Tokens.Len()
	k.Tokens.Advantage = make(metrics.Runs[float32], n)
	loss, known := make([]float32, n), false
	lanes := map[*[]float32]func(*train.Segment) []float32{
		&k.Tokens.LogpOld: func(s *train.Segment) []float32 { return s.Old() },
		&k.Tokens.LogpNew: func(s *train.Segment) []float32 { return s.LogpNew },
		&k.Tokens.LogpRef: func(s *train.Segment) []float32 { return s.LogpRef },
	}
	start := nodeStarts(t)
	for _, s := range samples {
		at := places(s, t, start)
		for i, place := range at {
			k.Tokens.Action[place] = true
			k.Tokens.Advantage[place] = s.Advantage[i]
		}
		for lane, of := range lanes {
			scatter(lane, n, at, of(s))
		}
		known = known || s.Loss != nil
		for i, l := range s.Loss {
			loss[at[i]] = l
		}
	}
	if known {
		k.Tokens.Loss = loss
		share, step := k.Tokens.LossSum(), trained.Loss.Loss
		k.LossShare, k.StepLoss = &share, &step
	}
	if same := samples[0].Advantage; uniform(samples) {
		a := float64(same[0])
		k.Advantage = &a
	}
}

// nodeStarts is where each node's tokens begin in the rollout's token list.
func nodeStarts(t *traj.Rollout) []int {
	starts, at := make([]int, len(t.Nodes)), 0
	for i := range t.Nodes {
		starts[i] = at
		at += len(t.Nodes[i].Observation) + len(t.Nodes[i].Sampled)
	}
	return starts
}

// places finds the sample's action tokens in the rollout's token list, where each token stands once.
func places(s *train.Segment, t *traj.Rollout, starts []int) []int {
	var at []int
	taken := map[int32]int{} // action tokens seen of each node
	for i, action := range s.Layout.Action {
		if !action {
			continue
		}
		node := s.Layout.Node[i]
		at = append(at, starts[node]+len(t.Nodes[node].Observation)+taken[node])
		taken[node]++
	}
	return at
}

// scatter puts values at their places in a lane of n numbers, made when it is first needed.
func scatter(lane *[]float32, n int, at []int, values []float32) {
	if values == nil {
		return
	}
	if *lane == nil {
		*lane = make([]float32, n)
	}
	for i, place := range at {
		(*lane)[place] = values[i]
	}
}

func uniform(samples []*train.Segment) bool {
	for _, s := range samples {
		if slices.ContainsFunc(s.Advantage, func(a float32) bool { return a != samples[0].Advantage[0] }) {
			return false
		}
	}
	return true
}
