// What a session gives to trainers and to people: linear segments in which every sampled token trains once, and the tree.

package capture

import (
	"cmp"

	"molt/chat"
	"molt/gateway/forest"
	"molt/internal/chained"
	"molt/traj"
)

// Kind says what a segment is for.
type Kind string

const (
	Main       Kind = "main"
	SubAgent   Kind = "sub-agent"
	Background Kind = "background" // a side errand, such as naming the conversation
	Compaction Kind = "compaction" // a summary of the conversation, where its client says so
)

// Export is a session as data.
type Export struct {
	ID       string       `json:"id"`
	Used     int          `json:"used_tokens"`
	Segments []Segment    `json:"segments"`
	Tree     []Node       `json:"tree"`
	Images   []chat.Image `json:"images,omitempty"` // that were shown: Session.Image has their bytes
	Error    string       `json:"error,omitzero"`
	// Journal is the end of the session's journal when this was exported, so that both can be compared later.
	Journal chained.Seal `json:"journal,omitzero"`
	// Tail says what is wrong with the end of the journal from which the session was restored; "" for nothing.
	Tail string `json:"tail,omitzero"`
}

// Segment is a path of the tree as one sequence. Lanes are as in traj.Segment.
type Segment struct {
	Leaf    int            `json:"leaf"`
	Kind    Kind           `json:"kind"`
	Agent   forest.Agent   `json:"agent,omitzero"`
	Reason  chat.Reason    `json:"reason"` // why it is a segment of its own
	Fate    forest.Fate    `json:"fate"`   // of its last turn
	Tokens  []int32        `json:"tokens"`
	Action  []bool         `json:"action"`
	LogpGen []float32      `json:"logp"`
	Version []traj.Version `json:"version"`
	Temp    []float32      `json:"temperature"`
	Node    []int32        `json:"node"`
	Images  []traj.Image   `json:"images,omitempty"`
}

// Node is a turn.
type Node struct {
	Name        string         `json:"name"`
	Parent      int32          `json:"parent"` // -1 for a root
	Request     int64          `json:"request"`
	Observation []int32        `json:"observation"`
	Images      []traj.Image   `json:"images,omitempty"`
	Sampled     []int32        `json:"sampled"`
	LogpGen     []float32      `json:"logp"`
	Version     []traj.Version `json:"version"`
	Temperature float32        `json:"temperature"`
	Sampling    string         `json:"sampling"`
	Untrained   string         `json:"untrained,omitzero"` // why it does not train: how it was sampled
	Finish      traj.Finish    `json:"finish"`
	Reason      chat.Reason    `json:"reason,omitzero"`
	Fate        forest.Fate    `json:"fate"`
	Spliced     []int32        `json:"spliced,omitzero"`
	Kind        Kind           `json:"kind"`
	Agent       forest.Agent   `json:"agent,omitzero"`
	Message     chat.Message   `json:"message"`
}

// Export returns what was captured until now.
func (s *Session) Export() Export {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Export{ID: s.ID, Used: s.used, Segments: []Segment{}, Tree: []Node{}, Journal: s.journal.Seal(), Tail: s.tail}
	if s.met != nil {
		e.Error = s.met.Error()
	}
	e.Images = s.shownImages()
	for i := range int32(s.forest.Turns()) {
		e.Tree = append(e.Tree, s.node(i))
	}
	r := traj.Rollout{Nodes: s.forest.Nodes()}
	for _, seg := range r.Segments() {
		leaf := int32(seg.Leaf)
		root := leaf
		for s.forest.Turn(root).Parent >= 0 && s.forest.Turn(root).Reason == "" {
			root = s.forest.Turn(root).Parent
		}
		e.Segments = append(e.Segments, Segment{
			Leaf: seg.Leaf, Kind: s.kind(leaf), Agent: s.forest.Turn(leaf).Agent, Reason: cmp.Or(s.forest.Turn(root).Reason, chat.NewRoot),
			Fate: s.forest.Fate(leaf), Tokens: seg.Tokens, Action: seg.Action, LogpGen: seg.LogpGen, Version: seg.Version, Temp: seg.Temp, Node: seg.Node, Images: seg.Images,
		})
	}
	return e
}

func (s *Session) kind(turn int32) Kind {
	switch t := s.forest.Turn(turn); {
	case t.Agent.Kind == "compaction":
		return Compaction
	case s.forest.Background(turn):
		return Background
	case t.Agent.ID != "":
		return SubAgent
	}
	return Main
}

func (s *Session) node(i int32) Node {
	t := s.forest.Turn(i)
	return Node{
		Name: t.Name, Parent: t.Parent, Request: t.Request, Observation: t.Observation, Images: t.Images, Sampled: t.Sampled, LogpGen: t.Logp, Version: t.Version,
		Temperature: t.Temperature, Sampling: t.Asked, Untrained: t.Untrained, Finish: t.Finish, Reason: t.Reason, Fate: s.forest.Fate(i), Spliced: t.Spliced,
		Kind: s.kind(i), Agent: t.Agent, Message: t.Item.Message,
	}
}
