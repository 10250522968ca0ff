// A Segment is a root-to-leaf path of a rollout laid out as one token sequence for training.

package traj

// Segment is one sequence to train on. Every sampled token of the rollout has Action true in exactly one segment: where
// paths share a prefix, the first leaf owns the shared tokens and the others carry them as observation. A constrained
// node's tokens are observation everywhere: their log-probs are not those of what they were drawn from.
type Segment struct {
	Rollout *Rollout
	Leaf    int       // index of the leaf node
	Tokens  []int32   // [T]
	Action  []bool    // [T] true where the token was sampled by the policy and trains here
	LogpGen []float32 // [T] 0 where Action is false
	Version []Version // [T] 0 where Action is false
	Temp    []float32 // [T] sampling temperature; 1 where Action is false
	Node    []int32   // [T] the node that added the token
	Images  []Image   // whose placeholders are in Tokens, in ascending order of At
}

// Segments lays the rollout's forest out, one segment for each leaf, in order of the leaves' index.
func (r *Rollout) Segments() []Segment {
	isParent := make([]bool, len(r.Nodes))
	for i := range r.Nodes {
		if p := r.Nodes[i].Parent; p >= 0 {
			isParent[p] = true
		}
	}
	owned := make([]bool, len(r.Nodes))
	var segments []Segment
	for leaf := range r.Nodes {
		if !isParent[leaf] {
			segments = append(segments, r.segment(leaf, owned))
		}
	}
	return segments
}

// segment lays out the path that ends at leaf, and marks its nodes as owned.
func (r *Rollout) segment(leaf int, owned []bool) Segment {
	var path []int
	for i := leaf; i >= 0; i = r.Nodes[i].Parent {
		path = append(path, i)
	}
	s := Segment{Rollout: r, Leaf: leaf}
	for k := len(path) - 1; k >= 0; k-- {
		s.appendNode(int32(path[k]), &r.Nodes[path[k]], !owned[path[k]] && !r.Nodes[path[k]].Constrained)
		owned[path[k]] = true
	}
	return s
}

func (s *Segment) appendNode(index int32, n *Node, trains bool) {
	s.Images = append(s.Images, Shift(n.Images, len(s.Tokens))...)
	for _, id := range n.Observation {
		s.appendToken(id, index)
	}
	for i, id := range n.Sampled {
		s.appendToken(id, index)
		if !trains {
			continue
		}
		t := len(s.Tokens) - 1
		s.Action[t] = true
		s.LogpGen[t] = n.LogpGen[i]
		s.Version[t] = n.Version[i]
		s.Temp[t] = n.Temperature
	}
}

// appendToken adds an observation token.
func (s *Segment) appendToken(id, node int32) {
	s.Tokens = append(s.Tokens, id)
	s.Action = append(s.Action, false)
	s.LogpGen = append(s.LogpGen, 0)
	s.Version = append(s.Version, 0)
	s.Temp = append(s.Temp, 1)
	s.Node = append(s.Node, node)
}

// Actions counts the tokens that train in this segment.
func (s *Segment) Actions() int {
	n := 0
	for _, a := range s.Action {
		if a {
			n++
		}
	}
	return n
}
