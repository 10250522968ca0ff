// On an exact generator, what it reported for a token is what the learner computes at the same weights, bit for bit. One bit
// that differs stops the run: generator and learner do not hold the same policy, and nothing computed from here on would mean
// what it says. Three checks cover all ways in which tokens come:
//
//	checkExact      the tokens of a batch's first optimizer step, in the pass that trains on them
//	checkUnpassed   one segment in turn of those that no such pass sees: later mini-batches, flat groups, and all while the
//	                critic learns alone
//	Probe           a few tokens sampled for the purpose, where batches are older than the learner when they arrive

package train

import (
	"context"
	"fmt"
	"math"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// checkExact compares what the pass found with what the generator reported, before the first optimizer step of the batch.
func (t *Trainer) checkExact(m micro, in algo.Tokens, start traj.Version) error {
	if t.state.Version != start {
		return nil
	}
	for i, s := range m.segments {
		if s.exact {
			if err := t.sameBits(s, in.LogpNew[m.starts[i]:m.starts[i+1]]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUnpassed scores one segment that nothing else of the batch scores under the policy of its start; another one in every
// batch.
func (t *Trainer) checkUnpassed(ctx context.Context, b *batch) error {
	passed := map[*Segment]bool{}
	if !t.frozen() {
		for _, s := range t.withGradient(b.miniBatches(t.cfg.BatchSize)[0].segments) {
			passed[s] = true
		}
	}
	var unpassed []*Segment
	for _, s := range b.segments {
		if s.exact && !passed[s] {
			unpassed = append(unpassed, s)
		}
	}
	if len(unpassed) == 0 {
		return nil
	}
	s := unpassed[t.state.Batches%int64(len(unpassed))]
	var logp []float32
	if err := t.pass(ctx, t.models.Policy, []*Segment{s}, engine.Want{}, func(*Segment) *[]float32 { return &logp }); err != nil {
		return fmt.Errorf("train: comparing generator and learner: %w", err)
	}
	return t.sameBits(s, logp)
}

func (t *Trainer) sameBits(s *Segment, logp []float32) error {
	for i, l := range logp {
		if math.Float32bits(l) != math.Float32bits(s.LogpGen[i]) {
			r := s.Layout.Rollout
			return fmt.Errorf("train: group %d sample %d action token %d: the generator reported log-prob %v and the learner computes %v "+
				"with the same weights (version %d); they do not serve the same policy",
				r.Group, r.Sample, i, s.LogpGen[i], l, t.state.Version)
		}
	}
	return nil
}

// probeTokens is how many tokens Probe asks for.
const probeTokens = 8

// Probe asks the generator, to which the policy was just published, to continue a prompt of the batch, and scores what it
// says. Call it where batches are sampled by older weights than they are trained with: their own tokens cannot be compared
// any more. It does nothing on a generator that is not exact.
func (t *Trainer) Probe(ctx context.Context, g engine.Generator, batch []*Segment) error {
	if !t.cfg.Exact || len(batch) == 0 {
		return nil
	}
	s := batch[t.state.Batches%int64(len(batch))]
	prompt := s.Layout.Tokens[:s.score[0]]
	reply, err := g.Generate(ctx, engine.Request{
		Prompt: prompt, Tag: "probe", Key: engine.Key{Seed: uint64(t.state.Batches)},
		Sampling: engine.Sampling{Temperature: s.temp[0], MaxTokens: min(probeTokens, len(s.Layout.Tokens)-len(prompt))},
	}, nil)
	if err != nil {
		return fmt.Errorf("train: probing the generator: %w", err)
	}
	if len(reply.Tokens) == 0 {
		return fmt.Errorf("train: probing the generator: it said nothing (%s)", reply.Finish)
	}
	return t.sameReply(ctx, prompt, reply.Tokens, s.temp[0])
}

// sameReply compares a reply with what the learner makes of it.
func (t *Trainer) sameReply(ctx context.Context, prompt []int32, reply []engine.Token, temperature float32) error {
	b := engine.Batch{Tokens: append([]int32(nil), prompt...)}
	for _, token := range reply {
		if token.Version != t.state.Version {
			return fmt.Errorf("train: probing the generator: it serves version %d after version %d was published to it", token.Version, t.state.Version)
		}
		b.Score = append(b.Score, int32(len(b.Tokens)))
		b.Tokens = append(b.Tokens, token.ID)
		b.Temperature = append(b.Temperature, temperature)
	}
	b.Starts = []int32{0, int32(len(b.Tokens))}
	pass, err := t.models.Policy.Forward(ctx, b, engine.Want{})
	if err != nil {
		return fmt.Errorf("train: scoring the probe: %w", err)
	}
	defer pass.Release()
	for i, l := range pass.Logp() {
		if math.Float32bits(l) != math.Float32bits(reply[i].Logp) {
			return fmt.Errorf("train: probe token %d: the generator reported log-prob %v and the learner computes %v with the same weights "+
				"(version %d); they do not serve the same policy", i, reply[i].Logp, l, t.state.Version)
		}
	}
	return nil
}
