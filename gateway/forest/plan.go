// How a request relates to what was sampled: which turn's ids it continues, which turns it carries elsewhere, and why it is a
// new segment when it is one.

package forest

import (
	"slices"

	"molt/chat"
	"molt/gateway/wire"
)

// Reasons of turns that branch off inside a segment's path, beside those of chat.
const (
	Sibling chat.Reason = "sibling"      // the same request, answered again
	Dropped chat.Reason = "dropped_turn" // the client went on as if an answer had not been given
)

// Plan is what to do with a request.
type Plan struct {
	Matched int   // leading items that are known
	Point   int32 // where they end; -1 when not even the tools are known
	Turn    int32 // the deepest sampled turn among them; -1 for none
	From    int   // the first item behind that turn: from here on the request is rendered
	Splices []Splice
	Reason  chat.Reason // "" when the ids simply follow a leaf
	Cut     *Cut        // that must be made first
}

// Splice is an item behind From that is a turn sampled elsewhere: its ids are shown instead of its text.
type Splice struct {
	Item int
	Turn int32
}

// Cut shortens a turn to what its client has.
type Cut struct {
	Turn       int32
	Checkpoint int
}

// Plan compares a request with the forest. It changes nothing.
func (f *Forest) Plan(tools chat.Key, items []*chat.Item) Plan {
	p := f.walk(tools, items)
	p.Splices = f.splices(items, p.From)
	p.Reason = f.reason(p, tools, items)
	return p
}

// walk follows the items as far as they are known.
func (f *Forest) walk(tools chat.Key, items []*chat.Item) Plan {
	p := Plan{Point: -1, Turn: -1}
	front := f.next[edge{-1, tools}]
	if len(front) == 0 {
		return p
	}
	for _, item := range items {
		next := f.step(front, item)
		if len(next) == 0 {
			p.Cut = f.cut(front, item)
			break
		}
		front = next
		p.Matched++
	}
	p.Point = f.best(front)
	if p.Cut != nil {
		p.Point = f.turns[p.Cut.Turn].Point
		p.Matched++
	}
	for at, depth := p.Point, p.Matched; at >= 0; at, depth = f.points[at].parent, depth-1 {
		if f.points[at].turn >= 0 {
			p.Turn, p.From = f.points[at].turn, depth
			break
		}
	}
	return p
}

// maxFront bounds how many equal turns are followed at once.
const maxFront = 64

// step finds the points behind a front that say the item. A name tells equal turns apart; of those without one, the newest
// are followed.
func (f *Forest) step(front []int32, item *chat.Item) []int32 {
	for _, h := range item.Handles {
		turn, ok := f.handle(h)
		if !ok {
			continue
		}
		at := &f.points[f.turns[turn].Point]
		if same(at.item, item) && slices.Contains(front, at.parent) {
			return []int32{f.turns[turn].Point}
		}
	}
	var next []int32
	for _, from := range front {
		for _, key := range keys(item) {
			for _, to := range slices.Backward(f.next[edge{from, key}]) {
				if len(next) < maxFront && !slices.Contains(next, to) {
					next = append(next, to)
				}
			}
		}
	}
	return next
}

func same(a, b *chat.Item) bool { return a.Exact == b.Exact || a.Loose == b.Loose }

// handle finds the turn that a name belongs to.
func (f *Forest) handle(name string) (int32, bool) {
	if i, ok := f.names[name]; ok {
		return i, true
	}
	if turn, ok := wire.TurnOf(name); ok {
		i, ok := f.names[turn]
		return i, ok
	}
	return -1, false
}

// best chooses among points that say the same: one that was sampled, then one whose client has all of it, then the newest.
func (f *Forest) best(front []int32) int32 {
	rank := func(i int32) int {
		switch turn := f.points[i].turn; {
		case turn < 0:
			return 0
		case f.turns[turn].State != Delivered:
			return 1
		}
		return 2
	}
	best := front[0]
	for _, i := range front[1:] {
		if rank(i) > rank(best) || rank(i) == rank(best) && i > best {
			best = i
		}
	}
	return best
}

// cut finds a turn that answers one of the front, whose client has only a part, and that part is the item.
func (f *Forest) cut(front []int32, item *chat.Item) *Cut {
	if item.Message.Role != chat.Assistant {
		return nil
	}
	for _, at := range front {
		answers := f.answers[at]
		for k := len(answers) - 1; k >= 0; k-- {
			t := &f.turns[answers[k]]
			if t.State == Delivered || t.followers > 0 {
				continue
			}
			for c := len(t.Checkpoints) - 1; c >= 0; c-- {
				if f.shows(item, t.Checkpoints[c].Item, answers[k]) {
					return &Cut{answers[k], c}
				}
			}
		}
	}
	return nil
}

// shows reports whether an item is a part of a turn. One without text and calls must be the same to the letter, or carry
// the turn's name.
func (f *Forest) shows(item, part *chat.Item, turn int32) bool {
	if item.Exact == part.Exact || item.Loose == part.Loose && part.Says() {
		return true
	}
	return item.Loose == part.Loose && f.carries(item, turn)
}

func (f *Forest) carries(item *chat.Item, turn int32) bool {
	return slices.ContainsFunc(item.Handles, func(h string) bool {
		i, ok := f.handle(h)
		return ok && i == turn
	})
}

// splices finds sampled turns among the items from an index on: by name, else by what they say.
func (f *Forest) splices(items []*chat.Item, from int) []Splice {
	var found []Splice
	for i := from; i < len(items); i++ {
		if items[i].Message.Role != chat.Assistant {
			continue
		}
		if turn, ok := f.carried(items[i]); ok {
			found = append(found, Splice{i, turn})
		}
	}
	return found
}

// carried finds the turn that an item is, wherever it was sampled. A name with another text is an edit.
func (f *Forest) carried(item *chat.Item) (int32, bool) {
	for _, h := range item.Handles {
		if turn, ok := f.handle(h); ok && f.turns[turn].Item.Loose == item.Loose {
			return turn, true
		}
	}
	if turns := f.said[item.Loose]; len(turns) > 0 && item.Says() {
		return turns[len(turns)-1], true
	}
	return -1, false
}

// reason says why a request does not simply follow a leaf.
func (f *Forest) reason(p Plan, tools chat.Key, items []*chat.Item) chat.Reason {
	switch again := p.Point >= 0 && f.answered(p.Point); {
	case again && p.Matched == len(items):
		return Sibling
	case again && items[p.Matched].Message.Role != chat.Assistant:
		return Dropped
	case again:
		return chat.HistoryEdit
	case p.Turn >= 0 && f.turns[p.Turn].followers > 0:
		return chat.HistoryEdit
	case p.Turn >= 0:
		return ""
	case f.elsewhere(tools, items):
		return chat.ToolsChanged
	case len(p.Splices) > 0 && len(items) < int(f.points[f.turns[p.Splices[len(p.Splices)-1].Turn].Point].depth):
		return chat.Compaction
	case len(p.Splices) > 0:
		return chat.HistoryEdit
	}
	return chat.NewRoot
}

// Compacted reports whether an agent is in another window than when it asked last.
func (f *Forest) Compacted(a Agent) bool {
	for i := len(f.turns) - 1; i >= 0 && a.Window != ""; i-- {
		if last := f.turns[i].Agent; last.ID == a.ID && last.Window != "" {
			return last.Window != a.Window
		}
	}
	return false
}

// elsewhere reports whether other tools have the request's history.
func (f *Forest) elsewhere(tools chat.Key, items []*chat.Item) bool {
	for _, s := range f.splices(items, 0) {
		at := f.turns[s.Turn].Point
		if int(f.points[at].depth) != s.Item+1 || f.root(at) == tools {
			continue
		}
		i := s.Item
		for i >= 0 && same(f.points[at].item, items[i]) {
			at = f.points[at].parent
			i--
		}
		if i < 0 {
			return true
		}
	}
	return false
}

func (f *Forest) root(at int32) chat.Key {
	for f.points[at].parent >= 0 {
		at = f.points[at].parent
	}
	return f.points[at].tools
}

// Cut makes a cut: the turn ends where its client's copy ends. What was sampled behind is gone.
func (f *Forest) Cut(c Cut) {
	t := &f.turns[c.Turn]
	part := t.Checkpoints[c.Checkpoint]
	f.unlink(t.Point, t.Item)
	f.said[t.Item.Loose] = without(f.said[t.Item.Loose], c.Turn)
	t.Item = part.Item
	t.Sampled, t.Logp, t.Version = t.Sampled[:part.Tokens], t.Logp[:part.Tokens], t.Version[:part.Tokens]
	t.Finish, t.Stop, t.State, t.Checkpoints = "abort", "", Delivered, nil
	f.points[t.Point].item = t.Item
	f.link(t.Point, t.Item)
	f.said[t.Item.Loose] = append(f.said[t.Item.Loose], c.Turn)
}
