// The invariants of a rollout (design.md, section 6), as functions that tests call and the running program checks.

package traj

import (
	"fmt"
	"math"
)

// Validate reports the first broken invariant of the rollout, in a sentence that names it. vocab is the size of the
// vocabulary; latest is the newest version that existed when the rollout ended.
func (r *Rollout) Validate(vocab int, latest Version) error {
	for i := range r.Nodes {
		if err := r.Nodes[i].validate(i, vocab, latest); err != nil {
			return fmt.Errorf("traj: group %d sample %d node %d: %w", r.Group, r.Sample, i, err)
		}
	}
	if err := r.validateGrade(); err != nil {
		return fmt.Errorf("traj: group %d sample %d: %w", r.Group, r.Sample, err)
	}
	return nil
}

func (n *Node) validate(index, vocab int, latest Version) error {
	switch {
	case n.Parent >= index || n.Parent < -1:
		return fmt.Errorf("parent %d does not come before it", n.Parent)
	case n.Parent == -1 && len(n.Observation) == 0:
		return fmt.Errorf("a root without observation: the engine was given nothing")
	case len(n.LogpGen) != len(n.Sampled):
		return fmt.Errorf("%d sampled ids with %d log-probs; every sampled id needs its own", len(n.Sampled), len(n.LogpGen))
	case len(n.Version) != len(n.Sampled):
		return fmt.Errorf("%d sampled ids with %d weight versions; every sampled id needs its own", len(n.Sampled), len(n.Version))
	case n.Temperature < 0 || math.IsNaN(float64(n.Temperature)) || math.IsInf(float64(n.Temperature), 0):
		return fmt.Errorf("sampling temperature %v", n.Temperature)
	case math.IsNaN(n.Reward) || math.IsInf(n.Reward, 0):
		return fmt.Errorf("reward %v is not a number", n.Reward)
	}
	if err := validateIDs("observation", n.Observation, vocab); err != nil {
		return err
	}
	if err := ValidateImages(n.Images, len(n.Observation)); err != nil {
		return err
	}
	if err := validateIDs("sampled", n.Sampled, vocab); err != nil {
		return err
	}
	return n.validateSampled(latest)
}

// ValidateImages reports the first image without a place of its own among so many ids.
func ValidateImages(images []Image, ids int) error {
	last := -1
	for i, m := range images {
		if m.At <= last || m.At >= ids || m.Digest == "" {
			return fmt.Errorf("image %d %q stands at %d of %d, behind %d", i, m.Digest, m.At, ids, last)
		}
		last = m.At
	}
	return nil
}

func validateIDs(what string, ids []int32, vocab int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%s id %d at %d is outside the vocabulary of %d", what, id, i, vocab)
		}
	}
	return nil
}

func (n *Node) validateSampled(latest Version) error {
	for i, logp := range n.LogpGen {
		if !(logp <= 0) || math.IsInf(float64(logp), 0) {
			return fmt.Errorf("log-prob %v of sampled token %d is not a finite number <= 0", logp, i)
		}
	}
	for i, v := range n.Version {
		if v < 0 || v > latest {
			return fmt.Errorf("version %d of sampled token %d; the newest is %d", v, i, latest)
		}
	}
	return nil
}

func (r *Rollout) validateGrade() error {
	switch {
	case math.IsNaN(r.Reward) || math.IsInf(r.Reward, 0):
		return fmt.Errorf("reward %v is not a number", r.Reward)
	case math.IsNaN(r.Score) || math.IsInf(r.Score, 0):
		return fmt.Errorf("score %v is not a number", r.Score)
	case !r.Outcome.Graded() && (r.Reward != 0 || r.Score != 0):
		return fmt.Errorf("outcome %s carries reward %v; only what the policy did is graded", r.Outcome, r.Reward)
	case r.Outcome.Graded() && len(r.Nodes) == 0:
		return fmt.Errorf("outcome %s without a single turn", r.Outcome)
	}
	for _, o := range Outcomes {
		if r.Outcome == o {
			return nil
		}
	}
	return fmt.Errorf("unknown outcome %q", r.Outcome)
}

// TrainedOnce checks that every sampled token of the rollout trains in exactly one of the segments, those of constrained
// nodes in none, and nothing else does.
func TrainedOnce(r *Rollout, segments []Segment) error {
	trained := make([][]int, len(r.Nodes)) // times that each sampled token trains
	for i := range r.Nodes {
		trained[i] = make([]int, len(r.Nodes[i].Sampled))
	}
	for i := range segments {
		if err := segments[i].count(trained, r); err != nil {
			return fmt.Errorf("traj: group %d sample %d: %w", r.Group, r.Sample, err)
		}
	}
	for i, times := range trained {
		for k, n := range times {
			if r.Nodes[i].Constrained && n > 0 {
				return fmt.Errorf("traj: group %d sample %d: node %d sampled token %d trains, and was sampled under a constraint", r.Group, r.Sample, i, k)
			}
			if n != 1 && !r.Nodes[i].Constrained {
				return fmt.Errorf("traj: group %d sample %d: node %d sampled token %d trains %d times; each trains exactly once", r.Group, r.Sample, i, k, n)
			}
		}
	}
	return nil
}

// count adds the segment's action tokens to trained.
func (s *Segment) count(trained [][]int, r *Rollout) error {
	at := 0 // offset inside the node
	for t, action := range s.Action {
		if t == 0 || s.Node[t] != s.Node[t-1] {
			at = 0
		}
		shown := len(r.Nodes[s.Node[t]].Observation)
		switch {
		case action && at < shown:
			return fmt.Errorf("observation token %d of node %d trains", at, s.Node[t])
		case action:
			trained[s.Node[t]][at-shown]++
		}
		at++
	}
	return nil
}
