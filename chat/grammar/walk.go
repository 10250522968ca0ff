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

// Walk is a reply on its way through a grammar. It is for one goroutine.
type Walk struct {
	v       *Vocabulary
	r       *runner
	ends    []int32 // may come when the text conforms
	lifts   []int32 // may come first, and then anything may
	threads []thread
	spare   []thread
	whole   bool // the text conforms
	started bool
	lifted  bool
	known   map[int32]local // of nodes that are not basic
	masks   map[thread][]uint64
}

// Walk begins a reply. When its text conforms it may go on with one of ends. It may begin with one of lifts instead, such as
// the opening of a tool call, and is free from there.
func (g *Grammar) Walk(v *Vocabulary, ends, lifts []int32) *Walk {
	w := &Walk{v: v, r: newRunner(g), ends: ends, lifts: lifts, known: map[int32]local{}, masks: map[thread][]uint64{}}
	w.threads = w.r.begin(nil)
	return w
}

// Allowed marks in mask, of Vocabulary.Words words, the ids that may come next: bit id%64 of word id/64.
func (w *Walk) Allowed(mask []uint64) {
	clear(mask)
	if w.lifted {
		for id := range w.v.size {
			mask[id/64] |= 1 << (id % 64)
		}
		return
	}
	if w.whole {
		w.mark(mask, w.ends)
	}
	if !w.started {
		w.mark(mask, w.lifts)
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
	l := w.local(t.at)
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

func (w *Walk) local(at int32) local {
	if int(at) < len(w.v.known) {
		return w.v.known[at]
	}
	l, ok := w.known[at]
	if !ok {
		if len(w.known) == maxKnown {
			clear(w.known)
		}
		l = w.v.look(w.r.g, at)
		w.known[at] = l
	}
	return l
}

// Take goes on behind an id. One that was not allowed is the caller's mistake, and panics.
func (w *Walk) Take(id int32) {
	first := !w.started
	w.started = true
	switch {
	case w.lifted:
	case first && slices.Contains(w.lifts, id):
		w.lifted = true
	case w.whole && slices.Contains(w.ends, id):
		w.threads, w.whole = w.threads[:0], false
	default:
		w.read(w.v.texts[id])
		if len(w.threads) == 0 && !w.whole {
			panic(fmt.Sprintf("grammar: id %d was not allowed", id))
		}
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
	if text == "" {
		w.threads = w.threads[:0]
	}
}
