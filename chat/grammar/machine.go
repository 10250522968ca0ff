// The automaton: rules that call each other over a graph of nodes. A state is a set of threads, because what a schema allows
// can begin in the same way; a thread is a node and the calls that it has to return from.
//
// No state is a dead end: each rule knows how many calls it needs at least, and a thread that could not end within MaxDepth
// calls is never begun.

package grammar

import "fmt"

// Bounds of a grammar. What exceeds them is refused.
const (
	MaxDepth = 64      // calls inside each other: nested values
	maxNodes = 1 << 16 // of a grammar
	// maxThreads bounds a state. Of a schema with more ways to read the same beginning, the first ones are followed.
	maxThreads = 256
)

// Grammar is a set of JSON values, as their texts. It is immutable and safe for concurrent use.
type Grammar struct {
	nodes []node
	rules []rule
	root  int32
}

// rule is a part of a grammar that is called.
type rule struct {
	start  int32
	height int32 // calls that it needs at least, its own among them
}

// node is one place in a rule. Which fields hold says kind.
type node struct {
	kind  kind
	edges []edge  // reads: ascending, disjoint
	also  []int32 // forks: entered without a byte
	rule  int32   // calls; guards: a thread passes when the rule could be called
	next  int32   // calls and guards: where it goes on
}

type kind uint8

const (
	reads kind = iota
	forks
	calls
	guards
	leaves
)

// edge takes bytes of a range to a node.
type edge struct {
	low, high byte
	to        int32
}

// frame is a call that has not returned. Equal frames of one runner are the same pointer.
type frame struct {
	up    *frame
	back  int32 // the node to return to
	depth int32 // calls, this one included
}

type thread struct {
	at    int32 // a node that reads
	frame *frame
}

// runner runs threads. It is for one goroutine.
type runner struct {
	g       *Grammar
	frames  map[frame]*frame
	deepest int32 // the most calls that a thread of free has asked for
	free    bool  // MaxDepth does not hold: it is not known how deep the threads began
}

func newRunner(g *Grammar) *runner {
	return &runner{g: g, frames: map[frame]*frame{}}
}

// begin appends the threads of a grammar's start. empty says that no text at all conforms.
func (r *runner) begin(out []thread) (_ []thread, empty bool) {
	return r.enter(out, 0, r.g.rules[r.g.root].start, nil)
}

// step appends the threads behind a byte. left says that one of them has returned from where the threads began.
func (r *runner) step(out []thread, from []thread, b byte) (_ []thread, left bool) {
	base := len(out)
	for _, t := range from {
		for _, e := range r.g.nodes[t.at].edges {
			if e.low <= b && b <= e.high {
				var l bool
				out, l = r.enter(out, base, e.to, t.frame)
				left = left || l
				break
			}
		}
	}
	return out, left
}

// enter appends the threads that node at leads to without a byte, unless they are among out[base:].
func (r *runner) enter(out []thread, base int, at int32, f *frame) (_ []thread, left bool) {
	n := &r.g.nodes[at]
	switch n.kind {
	case forks:
		for _, a := range n.also {
			var l bool
			out, l = r.enter(out, base, a, f)
			left = left || l
		}
		return out, left
	case guards:
		if !r.fits(n.rule, f) {
			return out, false
		}
		return r.enter(out, base, n.next, f)
	case calls:
		if !r.fits(n.rule, f) {
			return out, false
		}
		return r.enter(out, base, r.g.rules[n.rule].start, r.push(f, n.next))
	case leaves:
		if f == nil {
			return out, true
		}
		return r.enter(out, base, f.back, f.up)
	}
	t := thread{at, f}
	for _, have := range out[base:] {
		if have == t {
			return out, false
		}
	}
	if len(out)-base < maxThreads {
		out = append(out, t)
	}
	return out, false
}

func (r *runner) fits(rule int32, f *frame) bool {
	need := f.calls() + r.g.rules[rule].height
	r.deepest = max(r.deepest, need)
	return r.free || need <= MaxDepth
}

func (f *frame) calls() int32 {
	if f == nil {
		return 0
	}
	return f.depth
}

func (r *runner) push(up *frame, back int32) *frame {
	key := frame{up, back, up.calls() + 1}
	if f, ok := r.frames[key]; ok {
		return f
	}
	f := new(frame)
	*f = key
	r.frames[key] = f
	return f
}

// Match reads text from its beginning: whether anything that conforms begins with it, and whether it conforms as it is.
func (g *Grammar) Match(text string) (begins, conforms bool) {
	r := newRunner(g)
	threads, conforms := r.begin(nil)
	for i := range len(text) {
		threads, conforms = r.step(nil, threads, text[i])
		if len(threads) == 0 && !(conforms && i == len(text)-1) {
			return false, false
		}
	}
	return true, conforms
}

// add appends a node.
func (g *Grammar) add(n node) int32 {
	g.nodes = append(g.nodes, n)
	return int32(len(g.nodes) - 1)
}

// full reports a grammar beyond its bound.
func (g *Grammar) full() error {
	if len(g.nodes) > maxNodes {
		return fmt.Errorf("it needs more than %d states", maxNodes)
	}
	return nil
}

func (g *Grammar) read(edges ...edge) int32 { return g.add(node{kind: reads, edges: edges}) }
func (g *Grammar) fork(to ...int32) int32   { return g.add(node{kind: forks, also: to}) }

// link says where a fork goes that was made before.
func (g *Grammar) link(at int32, to ...int32) { g.nodes[at].also = to }

func (g *Grammar) call(rule, next int32) int32 {
	return g.add(node{kind: calls, rule: rule, next: next})
}

// text reads exactly these bytes, then goes to next.
func (g *Grammar) text(s string, next int32) int32 {
	for i := len(s) - 1; i >= 0; i-- {
		next = g.read(edge{s[i], s[i], next})
	}
	return next
}

// spaced reads these bytes and perhaps one space.
func (g *Grammar) spaced(s string, next int32) int32 {
	return g.text(s, g.fork(next, g.text(" ", next)))
}
