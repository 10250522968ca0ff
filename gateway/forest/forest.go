// What a session remembers. Conversations are a trie of points, one for each message behind a list of tools; some points are
// turns that were sampled. A request walks the trie: what it repeats is found by keys, one probe for each message.

package forest

import (
	"slices"

	"molt/chat"
	"molt/traj"
)

// Forest is the state of one session.
type Forest struct {
	points  []point
	next    map[edge][]int32
	turns   []Turn
	answers map[int32][]int32    // point → turns that answer the conversation ending there
	names   map[string]int32     // handle → turn
	said    map[chat.Key][]int32 // loose key of what was said → turns

	pictured bool // a turn was shown an image
}

// point is a conversation: its parent's, and one more message.
type point struct {
	parent int32 // -1 for a root
	depth  int32 // messages
	item   *chat.Item
	turn   int32    // that said the message; -1 for none
	tools  chat.Key // of a root
	path   uint64   // digest of the conversation
}

// edge leads from a point to those behind it by a key of the message.
type edge struct {
	from int32
	key  chat.Key
}

// State says how much of a turn's reply its client has.
type State uint8

const (
	Lost      State = iota // not all of it: the client may ask again, or go on from what it has
	Delivered              // all of it
)

// Agent says who asked.
type Agent struct {
	ID     string `json:"id,omitzero"`     // "" for the main one
	Parent string `json:"parent,omitzero"` // of a sub-agent
	Kind   string `json:"kind,omitzero"`   // what the client calls the request, such as compaction
	Window string `json:"window,omitzero"` // another one after each compaction, where a client says so
}

// Judge is the Kind of requests that grade the work of a rollout: what is sampled for them is never trained on.
const Judge = "judge"

// Turn is one reply of the policy.
type Turn struct {
	Name        string // cannot be guessed
	At          int32  // the point that it answers
	Point       int32  // the point that it is
	Parent      int32  // the turn whose ids its own follow; -1 for a root
	Item        *chat.Item
	Observation []int32
	Images      []traj.Image // that Observation shows
	Sampled     []int32
	Logp        []float32
	Version     []traj.Version
	Temperature float32
	Finish      traj.Finish
	Stop        string // the stop string that ended it
	Cached      int
	Asked       string       // the sampling settings
	Reason      chat.Reason  // why it does not simply follow a leaf; "" when it does
	Spliced     []int32      // turns whose ids are shown again in Observation
	Checkpoints []Checkpoint // of a Lost turn: what its client may have, shortest first
	Agent       Agent
	Tools       bool   // tools were offered
	Raw         bool   // a completion without messages
	Untrained   string // why it is no free sample of the policy, and does not train; "" when it is
	Forced      string // the end of Observation that begins the reply
	State       State
	Stored      bool  // may be continued by its name
	Request     int64 // ordinal of the request; several choices of one share it

	followers int // turns whose ids follow, or will follow, its own
}

// Checkpoint is a part of a reply that ends where a client may have been cut off.
type Checkpoint struct {
	Tokens int        `json:"tokens"` // leading ones of Sampled that say Item
	Item   *chat.Item `json:"-"`
}

// New returns an empty forest.
func New() *Forest {
	return &Forest{next: map[edge][]int32{}, answers: map[int32][]int32{}, names: map[string]int32{}, said: map[chat.Key][]int32{}}
}

// Turn returns a turn by its index. The caller must not change it.
func (f *Forest) Turn(i int32) *Turn { return &f.turns[i] }

// Points counts the points.
func (f *Forest) Points() int32 { return int32(len(f.points)) }

// Turns counts the turns.
func (f *Forest) Turns() int { return len(f.turns) }

// Continued finds the completion without messages whose ids a prompt begins with, the longest one.
func (f *Forest) Continued(prompt []int32) int32 {
	best, length := int32(-1), 0
	for i := range f.turns {
		if !f.turns[i].Raw {
			continue
		}
		ids := f.IDs(int32(i), 0)
		if len(ids) > length && len(ids) <= len(prompt) && slices.Equal(ids, prompt[:len(ids)]) {
			best, length = int32(i), len(ids)
		}
	}
	return best
}

// Named returns the turn with a name or other handle.
func (f *Forest) Named(handle string) (int32, bool) {
	i, ok := f.names[handle]
	return i, ok
}

// Items returns the conversation that ends at a point.
func (f *Forest) Items(at int32) []*chat.Item {
	items := make([]*chat.Item, f.points[at].depth)
	for ; f.points[at].depth > 0; at = f.points[at].parent {
		items[f.points[at].depth-1] = f.points[at].item
	}
	return items
}

// IDs returns the ids along the path that ends with a turn, its sampled ones included, with room for some more.
func (f *Forest) IDs(turn int32, room int) []int32 {
	n := 0
	for i := turn; i >= 0; i = f.turns[i].Parent {
		n += len(f.turns[i].Observation) + len(f.turns[i].Sampled)
	}
	ids := make([]int32, n, n+room)
	for i := turn; i >= 0; i = f.turns[i].Parent {
		t := &f.turns[i]
		n -= copy(ids[n-len(t.Sampled):], t.Sampled)
		n -= copy(ids[n-len(t.Observation):], t.Observation)
	}
	return ids
}

// Images returns the images that are shown along the path that ends with a turn, placed among its ids.
func (f *Forest) Images(turn int32) []traj.Image {
	if !f.pictured {
		return nil
	}
	var turns []int32
	for i := turn; i >= 0; i = f.turns[i].Parent {
		turns = append(turns, i)
	}
	var images []traj.Image
	at := 0
	for _, i := range slices.Backward(turns) {
		t := &f.turns[i]
		images = append(images, traj.Shift(t.Images, at)...)
		at += len(t.Observation) + len(t.Sampled)
	}
	return images
}

// Follows reports whether a turn's ids stand behind these: whether what was shown for it is the path that leads to it.
func (f *Forest) Follows(turn int32, prompt []int32) bool {
	for i := turn; i >= 0; i = f.turns[i].Parent {
		parts := [][]int32{f.turns[i].Sampled, f.turns[i].Observation}
		if i == turn {
			parts = parts[1:]
		}
		for _, part := range parts {
			at := len(prompt) - len(part)
			if at < 0 || !slices.Equal(part, prompt[at:]) {
				return false
			}
			prompt = prompt[:at]
		}
	}
	return len(prompt) == 0
}

// add makes a point and the edges that lead to it.
func (f *Forest) add(p point) int32 {
	i := int32(len(f.points))
	if p.item == nil {
		p.path = mix(0, p.tools)
	} else {
		p.path = mix(f.points[p.parent].path, p.item.Exact)
	}
	f.points = append(f.points, p)
	if p.item == nil {
		f.next[edge{-1, p.tools}] = append(f.next[edge{-1, p.tools}], i)
		return i
	}
	f.link(i, p.item)
	return i
}

// mix is FNV-1a.
func mix(h uint64, key chat.Key) uint64 {
	h ^= 14695981039346656037
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// Path is a digest of the conversation that ends at a point: the same in every run, whatever else the session was asked.
func (f *Forest) Path(at int32) uint64 { return f.points[at].path }

// Answers counts the turns that answer a point.
func (f *Forest) Answers(at int32) int { return len(f.answers[at]) }

func (f *Forest) link(i int32, item *chat.Item) {
	from := f.points[i].parent
	for _, key := range keys(item) {
		f.next[edge{from, key}] = append(f.next[edge{from, key}], i)
	}
}

func (f *Forest) unlink(i int32, item *chat.Item) {
	from := f.points[i].parent
	for _, key := range keys(item) {
		f.next[edge{from, key}] = without(f.next[edge{from, key}], i)
	}
}

func keys(item *chat.Item) []chat.Key {
	if item.Exact == item.Loose {
		return []chat.Key{item.Exact}
	}
	return []chat.Key{item.Exact, item.Loose}
}

func without(list []int32, i int32) []int32 {
	kept := make([]int32, 0, len(list))
	for _, x := range list {
		if x != i {
			kept = append(kept, x)
		}
	}
	return kept
}

// Enter records a conversation behind a point (-1: behind the tools) and returns where it ends.
func (f *Forest) Enter(from int32, tools chat.Key, items []*chat.Item) int32 {
	if from < 0 {
		if roots := f.next[edge{-1, tools}]; len(roots) > 0 {
			from = roots[0]
		} else {
			from = f.add(point{parent: -1, turn: -1, tools: tools})
		}
	}
	for _, item := range items {
		from = f.add(point{parent: from, depth: f.points[from].depth + 1, item: item, turn: -1})
	}
	return from
}

// Follow says that ids will follow those of a turn: from now on it cannot be cut.
func (f *Forest) Follow(turn int32) {
	if turn >= 0 {
		f.turns[turn].followers++
	}
}

// Unfollow takes a Follow back.
func (f *Forest) Unfollow(turn int32) {
	if turn >= 0 {
		f.turns[turn].followers--
	}
}

// Commit adds a turn whose parent is followed already. handles are names that clients may send back with it, besides its own.
func (f *Forest) Commit(t Turn, handles ...string) int32 {
	i := int32(len(f.turns))
	at := &f.points[t.At]
	t.Point = f.add(point{parent: t.At, depth: at.depth + 1, item: t.Item, turn: i})
	f.turns = append(f.turns, t)
	f.pictured = f.pictured || len(t.Images) > 0
	f.answers[t.At] = append(f.answers[t.At], i)
	f.names[t.Name] = i
	for _, h := range handles {
		f.names[h] = i
	}
	f.said[t.Item.Loose] = append(f.said[t.Item.Loose], i)
	return i
}

// Deliver says how much of a turn's reply its client has.
func (f *Forest) Deliver(turn int32, s State) {
	f.turns[turn].State = s
	if s == Delivered {
		f.turns[turn].Checkpoints = nil
	}
}
