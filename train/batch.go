// What a batch of groups looks like to the step: samples (one segment of one rollout each), mini-batches (one optimizer
// step each), micro-batches (one forward pass each).

package train

import (
	"fmt"

	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// Sample is one segment of one rollout with what the step learned about its N action tokens, in order.
type Sample struct {
	Group   *traj.Group
	Segment traj.Segment

	Advantage []float32 // [N]
	LogpGen   []float32 // [N] as the generator reported
	LogpOld   []float32 // [N] at the start of the step; nil where it is LogpNew
	LogpRef   []float32 // [N] under the reference; nil without one
	LogpNew   []float32 // [N] when the token was first trained on in this batch; nil where nothing asked for a gradient
	Weight    []float32 // [N] mismatch weight
	Gradient  []float32 // [N] dL/dlogp of the last pass

	denominator float64 // of its last optimizer step
	score       []int32 // [N] where the action tokens are in Segment.Tokens
	temp        []float32
	exact       bool // sampled by the learner's own weights of the start of the step, on an exact generator
}

// rollout is what advantages are computed from: one reward, however many segments.
type rollout struct {
	traj    *traj.Rollout
	reward  float64
	samples []*Sample
}

type batch struct {
	version  traj.Version // of the learner at the start of the step
	groups   []*traj.Group
	rollouts []*rollout
	samples  []*Sample
}

// newBatch lays out the graded rollouts of the groups that train.
func newBatch(groups []*traj.Group, version traj.Version, cfg Config) (*batch, error) {
	b := &batch{version: version}
	for _, g := range groups {
		if g.Filtered != "" {
			continue
		}
		b.groups = append(b.groups, g)
		for _, r := range g.Graded() {
			if err := b.add(r, g, cfg); err != nil {
				return nil, err
			}
		}
	}
	if len(b.samples) == 0 {
		return nil, fmt.Errorf("train: the batch holds no graded rollout; nothing can be learned from it")
	}
	return b, nil
}

func (b *batch) add(r *traj.Rollout, g *traj.Group, cfg Config) error {
	segments := r.Segments()
	if err := traj.TrainedOnce(r, segments); err != nil {
		return err
	}
	out := &rollout{traj: r, reward: r.Reward}
	for i := range segments {
		s := newSample(g, segments[i], b.version, cfg.Exact)
		if s == nil {
			continue // a leaf that adds only observation
		}
		out.samples = append(out.samples, s)
		b.samples = append(b.samples, s)
	}
	b.rollouts = append(b.rollouts, out)
	return nil
}

func newSample(g *traj.Group, seg traj.Segment, version traj.Version, exact bool) *Sample {
	s := &Sample{Group: g, Segment: seg, exact: exact}
	for t, action := range seg.Action {
		if !action {
			continue
		}
		s.score = append(s.score, int32(t))
		s.temp = append(s.temp, seg.Temp[t])
		s.LogpGen = append(s.LogpGen, seg.LogpGen[t])
		s.exact = s.exact && seg.Version[t] == version
	}
	if len(s.score) == 0 {
		return nil
	}
	return s
}

// rewards describes the clipped rewards, one for each rollout.
func (b *batch) rewards(cfg Config) algo.RewardStats {
	var reward []float64
	var group []int64
	for _, r := range b.rollouts {
		reward = append(reward, algo.ClipReward(r.reward, cfg.RewardLow, cfg.RewardHigh))
		group = append(group, r.traj.Group)
	}
	return algo.Rewards(reward, group)
}

func (s *Sample) hasAdvantage() bool {
	for _, a := range s.Advantage {
		if a != 0 {
			return true
		}
	}
	return false
}

// miniBatches splits the batch into runs of size rollouts, the last one perhaps smaller; 0 makes one of all. A rollout's
// segments stay together and nothing is dropped to make counts divide.
func (b *batch) miniBatches(size int) [][]*Sample {
	if size == 0 {
		size = len(b.rollouts)
	}
	var minis [][]*Sample
	for i, r := range b.rollouts {
		if i%size == 0 {
			minis = append(minis, nil)
		}
		last := len(minis) - 1
		minis[last] = append(minis[last], r.samples...)
	}
	return minis
}

// actions counts the samples' action tokens.
func actions(samples []*Sample) int {
	n := 0
	for _, s := range samples {
		n += len(s.score)
	}
	return n
}

// micro is one forward pass over some samples.
type micro struct {
	batch   engine.Batch
	samples []*Sample
	starts  []int32 // [len(samples)+1] sample i's action tokens are lanes starts[i]:starts[i+1] of the pass
}

// pack puts whole samples into as few passes of at most maxTokens as first fit finds.
func pack(samples []*Sample, maxTokens int) []micro {
	lengths := make([]int, len(samples))
	for i, s := range samples {
		lengths[i] = len(s.Segment.Tokens)
	}
	var micros []micro
	for _, bin := range algo.Pack(lengths, maxTokens) {
		m := micro{starts: []int32{0}, batch: engine.Batch{Starts: []int32{0}}}
		for _, i := range bin {
			m.append(samples[i])
		}
		micros = append(micros, m)
	}
	return micros
}

func (m *micro) append(s *Sample) {
	at := int32(len(m.batch.Tokens))
	for _, t := range s.score {
		m.batch.Score = append(m.batch.Score, at+t)
	}
	m.batch.Tokens = append(m.batch.Tokens, s.Segment.Tokens...)
	m.batch.Temperature = append(m.batch.Temperature, s.temp...)
	m.batch.Starts = append(m.batch.Starts, int32(len(m.batch.Tokens)))
	m.samples = append(m.samples, s)
	m.starts = append(m.starts, int32(len(m.batch.Score)))
}

// tokens gathers what the losses read for the pass's action tokens.
func (m *micro) tokens(logpNew []float32) algo.Tokens {
	in := algo.Tokens{LogpNew: logpNew, Starts: m.starts}
	for _, s := range m.samples {
		in.Advantage = append(in.Advantage, s.Advantage...)
		in.LogpGen = append(in.LogpGen, s.LogpGen...)
		in.LogpOld = append(in.LogpOld, s.LogpOld...)
		in.LogpRef = append(in.LogpRef, s.LogpRef...)
	}
	return in
}

// record keeps in each sample what its pass found.
func (m *micro) record(in algo.Tokens, dLogp []float32, denominator float64) {
	for i, s := range m.samples {
		lo, hi := m.starts[i], m.starts[i+1]
		if s.LogpNew == nil {
			s.LogpNew = append(s.LogpNew, in.LogpNew[lo:hi]...)
		}
		s.Weight = append(s.Weight[:0], in.Weight[lo:hi]...)
		s.Gradient = append(s.Gradient[:0], dLogp[lo:hi]...)
		s.denominator = denominator
	}
}
