// What training sees: the turns as nodes, and for each what is known about its fate.

package forest

import (
	"cmp"
	"slices"

	"molt/chat"
	"molt/traj"
)

// Nodes returns the turns for training, parents before children, in the order in which they were sampled.
func (f *Forest) Nodes() []traj.Node {
	nodes := make([]traj.Node, len(f.turns))
	roots := 0
	for i := range f.turns {
		t := &f.turns[i]
		nodes[i] = traj.Node{
			Parent:      int(t.Parent),
			Observation: slices.Clone(t.Observation),
			Images:      slices.Clone(t.Images),
			Sampled:     slices.Clone(t.Sampled),
			LogpGen:     slices.Clone(t.Logp),
			Version:     slices.Clone(t.Version),
			Temperature: t.Temperature,
			Constrained: t.Untrained != "",
			Finish:      t.Finish,
		}
		if t.Parent >= 0 {
			continue
		}
		if roots++; roots > 1 {
			nodes[i].NewSegment = string(cmp.Or(t.Reason, chat.NewRoot))
		}
	}
	return nodes
}

// Fate is what became of a turn's reply.
type Fate string

const (
	Accepted   Fate = "accepted"   // its client went on from it, or had all of it
	Superseded Fate = "superseded" // the same request was answered again, and nothing follows this answer
	Unseen     Fate = "unseen"     // its client did not get all of it, and nothing follows
)

// Fate of a turn.
func (f *Forest) Fate(turn int32) Fate {
	t := &f.turns[turn]
	answers := f.answers[t.At]
	switch {
	case t.followers > 0 || f.answered(t.Point):
		return Accepted
	case f.turns[answers[len(answers)-1]].Request != t.Request:
		return Superseded
	case t.State == Lost:
		return Unseen
	}
	return Accepted
}

// Background reports whether a turn belongs to a side errand, such as naming the conversation: its client offered no tools,
// although in other requests of the same agent it did, and nothing that it sampled was carried on.
func (f *Forest) Background(turn int32) bool {
	t := &f.turns[turn]
	for t.Parent >= 0 {
		t = &f.turns[t.Parent]
	}
	if t.Tools {
		return false
	}
	for i := range f.turns {
		if f.turns[i].Agent.ID == t.Agent.ID && f.turns[i].Tools {
			return true
		}
	}
	return false
}
