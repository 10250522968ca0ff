// Which turns train. What does not is still shown: a turn that follows one was sampled behind its tokens.

package capture

import (
	"slices"

	"molt/traj"
)

// Select returns the turns that keep says yes to, for training. A turn that is not kept but leads to one that is stays as
// observation; the rest is left out.
func (s *Session) Select(keep func(Node) bool) []traj.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.nodes()
	kept, needed := make([]bool, len(all)), make([]bool, len(all))
	for i := range all {
		kept[i] = keep(s.node(int32(i)))
	}
	for i := len(all) - 1; i >= 0; i-- {
		needed[i] = needed[i] || kept[i]
		if p := all[i].Parent; p >= 0 && needed[i] {
			needed[p] = true
		}
	}
	index := make([]int, len(all)) // of each needed node among the selected
	var selected []traj.Node
	for i, n := range all {
		if !needed[i] {
			continue
		}
		if n.Parent >= 0 {
			n.Parent = index[n.Parent]
		}
		if !kept[i] {
			n.Observation = slices.Concat(n.Observation, n.Sampled)
			n.Sampled, n.LogpGen, n.Version = nil, nil, nil
		}
		index[i] = len(selected)
		if n.NewSegment != "" && len(selected) == 0 {
			n.NewSegment = ""
		}
		selected = append(selected, n)
	}
	return selected
}
