// What a turn is shown: the ids of the turn before, as they are, and behind them whatever is new, rendered.

package capture

import (
	"errors"
	"slices"
	"strings"

	"molt/chat"
	"molt/gateway/forest"
	"molt/gateway/wire"
	"molt/traj"
)

// view is what the forest says about a request, copied out of its lock.
type view struct {
	renderer *chat.Renderer
	items    []*chat.Item
	tools    []chat.ToolSpec
	from     int          // first item to render
	path     []int32      // ids up to there; nil for a new root
	images   []traj.Image // that the path shows
	last     int32        // the last of them
	splices  []splice
}

// splice is an item whose sampled ids are shown instead of its text.
type splice struct {
	item    int
	turn    int32
	said    *chat.Item
	sampled []int32
}

// shown is what a turn is shown behind its parent's ids.
type shown struct {
	ids      []int32
	images   []traj.Image // that the ids show
	root     bool         // the parent is dropped: ids are everything
	reason   chat.Reason
	spliced  []int32
	masked   int
	rewrites bool
}

// observe renders what is new. Where the template gives no border to go on at, everything is rendered, for that reason.
func (g *Gateway) observe(v view) (shown, error) {
	if v.path != nil {
		o, err := g.extend(v)
		same := true
		if err == nil && g.config.Mode == Faithful {
			same, err = g.faithful(v, o.ids)
		}
		switch {
		case err == nil && same:
			return o, nil
		case err != nil && !errors.Is(err, chat.ErrNotLocal):
			return o, err
		}
		v.path, v.from, v.splices = nil, 0, nil
		o, err = g.anew(v)
		o.reason = chat.NotLocal
		return o, err
	}
	o, err := g.anew(v)
	if len(v.splices) > 0 && errors.Is(err, chat.ErrNotLocal) {
		v.splices = nil
		return g.anew(v)
	}
	return o, err
}

// extend bridges from the last sampled turn.
func (g *Gateway) extend(v view) (shown, error) {
	var o shown
	at := v.from - 1
	return o, g.bridges(&o, v, at, v.items[at].Message, v.last, v.splices)
}

// anew renders a root. Turns that were sampled before are spliced in; in faithful mode they are text like any other.
func (g *Gateway) anew(v view) (shown, error) {
	o := shown{root: true}
	if g.config.Mode == Faithful {
		v.splices = nil
	}
	for len(v.splices) > 0 && v.splices[0].item == 0 { // nothing comes before it that it could answer to
		v.splices = v.splices[1:]
	}
	first, known := len(v.items), firsts(v)
	if len(v.splices) > 0 {
		first = v.splices[0].item
	}
	if known {
		if o, ok := g.roots.find(v); ok {
			return o, nil
		}
	}
	start := messages(v.items[:first])
	if g.folds {
		start = chat.Fold(start)
	}
	p, err := v.renderer.Prompt(chat.Conversation{Messages: start, Tools: v.tools})
	if err != nil {
		return o, err
	}
	o.add(p, start)
	if len(v.splices) == 0 {
		if known {
			g.roots.keep(v, o)
		}
		return o, nil
	}
	return o, g.splice(&o, v, v.splices)
}

// splice shows a turn's ids and goes on behind it.
func (g *Gateway) splice(o *shown, v view, splices []splice) error {
	s := splices[0]
	o.ids = append(o.ids, s.sampled...)
	o.spliced = append(o.spliced, s.turn)
	last := int32(-1)
	if n := len(s.sampled); n > 0 {
		last = s.sampled[n-1]
	}
	return g.bridges(o, v, s.item, s.said.Message, last, splices[1:])
}

// bridges renders from the end of a turn at an index to the next splice, or to the end.
func (g *Gateway) bridges(o *shown, v view, at int, said chat.Message, last int32, splices []splice) error {
	end := len(v.items)
	if len(splices) > 0 {
		end = splices[0].item
	}
	next := messages(v.items[at+1 : end])
	if g.folds {
		next = chat.FoldLater(next)
	}
	b, err := v.renderer.Bridge(g.before(v, at), said, next, last)
	if err != nil {
		return err
	}
	o.add(b, next)
	o.rewrites = o.rewrites || b.Rewrites
	if len(splices) > 0 {
		return g.splice(o, v, splices)
	}
	return nil
}

// before is the conversation that a bridge is rendered behind, where that makes a difference.
func (g *Gateway) before(v view, at int) chat.Conversation {
	if v.renderer.Local() {
		return chat.Conversation{}
	}
	before := messages(v.items[:at])
	if g.folds {
		before = chat.Fold(before)
	}
	return chat.Conversation{Messages: before, Tools: v.tools}
}

// faithful reports whether a path and what a bridge puts behind it read as the template itself shows the conversation.
func (g *Gateway) faithful(v view, bridge []int32) (bool, error) {
	native := v
	native.splices = nil
	whole, err := g.anew(native)
	if err != nil {
		return false, err
	}
	tok := g.config.Renderer.Tokenizer()
	return tok.Decode(whole.ids) == tok.Decode(slices.Concat(v.path, bridge)), nil
}

// add shows messages.
func (o *shown) add(p chat.Observation, messages []chat.Message) {
	for i, m := range chat.Images(messages...) {
		o.images = append(o.images, traj.Image{At: len(o.ids) + p.Images[i], Digest: m.Digest, Media: m.Media})
	}
	o.ids = append(o.ids, p.IDs...)
	o.masked += p.Masked
}

// folds reports whether the template loses or refuses system messages other than one at the start.
func folds(r *chat.Renderer) bool {
	system := func(text string) chat.Message { return chat.Message{Role: chat.System, Content: text} }
	user := chat.Message{Role: chat.User, Content: "x"}
	said := chat.Message{Role: chat.Assistant, Content: "y"}
	o, err := r.Prompt(chat.Conversation{Messages: []chat.Message{system("one"), system("two"), user, said, system("three"), user}})
	if err != nil {
		return true
	}
	text := r.Tokenizer().Decode(o.IDs)
	return !strings.Contains(text, "one") || !strings.Contains(text, "two") || !strings.Contains(text, "three")
}

// tailTokens are enough to see whether a prompt leaves reasoning open.
const tailTokens = 64

func (g *Gateway) tail(ids []int32) string {
	return g.config.Renderer.Tokenizer().Decode(ids[max(0, len(ids)-tailTokens):])
}

// path copies what the forest says about a request. The caller holds the session's lock.
func (s *Session) path(p forest.Plan, items []*chat.Item, tools []chat.ToolSpec) view {
	v := view{items: items, tools: tools, last: -1}
	if p.Turn >= 0 {
		v.from = p.From
		v.path = s.follow(p.Turn)
		v.images = s.forest.Images(p.Turn)
		v.last = v.path[len(v.path)-1]
	}
	if p.From > 0 {
		v.items = slices.Clone(items)
		v.items[p.From-1] = s.forest.Turn(p.Turn).Item // as it was said, not as it came back
	}
	for _, found := range p.Splices {
		t := s.forest.Turn(found.Turn)
		v.splices = append(v.splices, splice{found.Item, found.Turn, t.Item, slices.Clone(t.Sampled)})
	}
	return v
}

// unrendered says what is wrong with a conversation that the template refuses.
func unrendered(err error) *wire.Problem {
	return wire.Badf("messages", "the model's chat template cannot show this conversation: %v", err)
}
