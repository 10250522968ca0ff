// What a batch of groups looks like to the trainer: rollouts with one reward each, and their segments.

package train

import (
	"fmt"

	"molt/traj"
)

// Segment is one segment of one rollout with what training on the batch found about its N action tokens, in order.
type Segment struct {
	Group  *traj.Group
	Layout traj.Segment

	Lag      []int32   // [N] versions by which the policy, at the start of the batch, was ahead of the token's
	LogpGen  []float32 // [N] as the generator reported
	LogpOld  []float32 // [N] at the start of the batch; nil where it is LogpNew
	LogpRef  []float32 // [N] under the reference; nil without one
	ValueOld []float32 // [N] of the critic at the start of the batch; nil without one

	Advantage []float32 // [N]
	Return    []float32 // [N] what the critic should have said; nil without one

	LogpNew  []float32 // [N] when the token was first trained on in this batch; nil where nothing asked for a gradient
	Weight   []float32 // [N] by mismatch and age, in the last pass
	Gradient []float32 // [N] dL/dlogp of the last pass
	Loss     []float32 // [N] its part in the loss of all optimizer steps; those of all segments add up to Result.Loss.Loss

	of    *rollout
	score []int32 // [N] where the action tokens are in Layout.Tokens
	temp  []float32
	exact bool // sampled by the policy's own weights of the start of the batch, on an exact generator
}

// rollout is what advantages are computed from: one reward, however many segments.
type rollout struct {
	traj     *traj.Rollout
	index    int // in the batch
	segments []*Segment
	actions  int32   // action tokens, in all segments
	turn     []int32 // [nodes] the turn that each node belongs to
	turns    int
	worth    float64 // the reward, shaped
}

type batch struct {
	version  traj.Version // of the policy at the start of the batch
	rollouts []*rollout
	segments []*Segment // those of all rollouts, in order
}

// newBatch lays out the graded rollouts of the groups that train.
func newBatch(groups []*traj.Group, version traj.Version, cfg Config) (*batch, error) {
	b := &batch{version: version}
	for _, g := range groups {
		if g.Filtered != "" {
			continue
		}
		for _, r := range g.Graded() {
			if err := b.add(r, g, cfg); err != nil {
				return nil, err
			}
		}
	}
	if len(b.segments) == 0 {
		return nil, fmt.Errorf("train: the batch holds no graded rollout; nothing can be learned from it")
	}
	return b, nil
}

func (b *batch) add(r *traj.Rollout, g *traj.Group, cfg Config) error {
	segments := r.Segments()
	if err := traj.TrainedOnce(r, segments); err != nil {
		return err
	}
	out := &rollout{traj: r, index: len(b.rollouts)}
	out.turn, out.turns = turnsOf(r.Nodes)
	for i := range segments {
		if len(segments[i].Images) > 0 {
			return fmt.Errorf("train: group %d sample %d shows images, and no learner reads them", r.Group, r.Sample)
		}
		s := b.segment(g, segments[i], cfg.Exact)
		if len(s.score) == 0 {
			continue // a leaf that adds only observation
		}
		s.of = out
		out.actions += int32(len(s.score))
		out.segments = append(out.segments, s)
	}
	b.rollouts, b.segments = append(b.rollouts, out), append(b.segments, out.segments...)
	return nil
}

func (b *batch) segment(g *traj.Group, seg traj.Segment, exact bool) *Segment {
	s := &Segment{Group: g, Layout: seg, exact: exact}
	for t, action := range seg.Action {
		if !action {
			continue
		}
		s.score = append(s.score, int32(t))
		s.temp = append(s.temp, seg.Temp[t])
		s.LogpGen = append(s.LogpGen, seg.LogpGen[t])
		s.Lag = append(s.Lag, int32(b.version-seg.Version[t]))
		s.exact = s.exact && seg.Version[t] == b.version
	}
	return s
}

func (s *Segment) hasAdvantage() bool {
	for _, a := range s.Advantage {
		if a != 0 {
			return true
		}
	}
	return false
}
