// One reply under a grammar.

package grammar

import (
	"fmt"
	"slices"
)

// Bounds of what a walk remembers.
const (
	maxFrames = 1 << 14
	maxKnown  = 1 << 10
	maxMasks  = 1 << 5
)

// Place is where a walk can stand in a grammar.
type Place struct {
	at    int32 // a node that reads
	outer bool  // its rule was not called
}

// Memory keeps what may come at the places of one grammar over one vocabulary, so that further walks need not find it anew.
type Memory interface {
	Load(Place) (Local, bool)
	Store(Place, Local)
}

// brief is the memory of one walk.
type brief map[Place]Local

func (m brief) Load(p Place) (Local, bool) { l, ok := m[p]; return l, ok }

func (m brief) Store(p Place, l Local) {
	if len(m) == maxKnown {
		clear(m)
	}
	m[p] = l
}

// Walk is a reply on its way through a grammar. It is for one goroutine.
type Walk struct {
	memory  Memory
	v       *Vocabulary
	r       *runner
	ends    []int32 // may come when the text conforms
	threads []thread
	spare   []thread
	whole   bool // the text conforms
	masks   map[thread][]uint64
}

// Walk begins a reply. When its text conforms it may go on with one of ends. Without a memory the walk has one of its own.
func (g *Grammar) Walk(v *Vocabulary, ends []int32, m Memory) *Walk {
	if m == nil {
		m = brief{}
	}
	w := &Walk{v: v, r: newRunner(g), ends: ends, memory: m, masks: map[thread][]uint64{}}
	w.threads, w.whole = w.r.begin(nil)
	return w
}

// Size is how many ids there are.
func (w *Walk) Size() int { return w.v.size }

// Allowed marks in mask, of Vocabulary.Words words, the ids that may come next: bit id%64 of word id/64.
func (w *Walk) Allowed(mask []uint64) {
	clear(mask)
	if w.whole {
		w.mark(mask, w.ends)
	}
	for _, t := range w.threads {
		w.follow(mask, t)
	}
}

func (w *Walk) mark(mask []uint64, ids []int32) {
	for _, id := range ids {
		if id >= 0 && int(id) < w.v.size {
			mask[id/64] |= 1 << (id % 64)
		}
	}
}

// follow marks what may come by one thread. It remembers the latest threads: a string is one place for many ids.
func (w *Walk) follow(mask []uint64, t thread) {
	known, ok := w.masks[t]
	if !ok {
		if len(w.masks) == maxMasks {
			clear(w.masks)
		}
		known = make([]uint64, len(mask))
		w.search(known, t)
		w.masks[t] = known
	}
	for i, word := range known {
		mask[i] |= word
	}
}

// search marks what stays in the rule of a thread, then what goes on in those that called it.
func (w *Walk) search(mask []uint64, t thread) {
	s := search{v: w.v, r: w.r, mask: mask}
	l := w.local(Place{t.at, t.frame == nil})
	if t.frame.calls()+l.deepest > MaxDepth { // it could go too deep
		s.threads = append(s.threads, t)
		s.below(0, 0)
		return
	}
	w.mark(mask, l.few)
	copy(mask, l.mask)
	if t.frame == nil || len(l.exits) == 0 {
		return
	}
	s.threads, _ = w.r.enter(s.threads, 0, t.frame.back, t.frame.up)
	for _, exit := range l.exits {
		s.below(exit, 0)
	}
}

func (w *Walk) local(p Place) Local {
	if int(p.at) < len(w.v.known) {
		return w.v.known[p.at]
	}
	l, ok := w.memory.Load(p)
	if !ok {
		l = w.v.look(w.r.g, p.at, p.outer)
		w.memory.Store(p, l)
	}
	return l
}

// Take goes on behind an id. One that was not allowed is the caller's mistake, and panics.
func (w *Walk) Take(id int32) {
	if w.whole && slices.Contains(w.ends, id) {
		w.threads, w.whole = w.threads[:0], false
		return
	}
	w.read(w.v.texts[id])
	if len(w.threads) == 0 && !w.whole {
		panic(fmt.Sprintf("grammar: id %d was not allowed", id))
	}
}

// read takes the bytes of an id.
func (w *Walk) read(text string) {
	if len(w.r.frames) > maxFrames { // threads keep those that they need
		clear(w.r.frames)
	}
	w.whole = false
	for i := range len(text) {
		w.spare, w.whole = w.r.step(w.spare[:0], w.threads, text[i])
		w.threads, w.spare = w.spare, w.threads
	}
}
