// What a vocabulary spells, as a tree of bytes.

package grammar

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxPiece bounds the bytes of an id that is text.
const maxPiece = 1024

// Vocabulary is what the ids of a model spell. It is immutable and safe for concurrent use.
type Vocabulary struct {
	size  int    // ids are 0..size-1
	tree  []leaf // the root first; the children of a leaf stand together
	ids   []int32
	texts []string // [size]
	known []Local  // of the nodes of basics
}

// leaf is a place in the tree.
type leaf struct {
	b           byte  // that leads here
	first, last int32 // children: tree[first:last]
	from, to    int32 // the ids that end here: ids[from:to]
}

// controlByte begins the code of a control token: no text in UTF-8 holds it.
const (
	controlByte  = 0xFF
	controlBytes = 4
)

// Control is how a grammar spells a control token, or any other id that is no text.
func Control(id int32) string {
	return string([]byte{controlByte, byte(id >> 16), byte(id >> 8), byte(id)})
}

// controlAt reads the code with which a text begins.
func controlAt(s string) (int32, bool) {
	if len(s) < controlBytes || s[0] != controlByte {
		return 0, false
	}
	return int32(s[1])<<16 | int32(s[2])<<8 | int32(s[3]), true
}

// NewVocabulary makes a vocabulary of ids 0..size-1, of which there are at most 1<<24. spell gives the bytes that an id adds
// to a text, none for a control token: that comes only where a grammar names it by its code, or where anything may come.
func NewVocabulary(size int, spell func(id int32) []byte) *Vocabulary {
	v := &Vocabulary{size: size, texts: make([]string, size)}
	pieces := make([]piece, 0, size)
	for id := range int32(size) {
		b := spell(id)
		if v.texts[id] = string(b); len(b) == 0 || len(b) > maxPiece || slices.Contains(b, controlByte) {
			v.texts[id] = Control(id)
		}
		pieces = append(pieces, piece{v.texts[id], id})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.id, b.id)) })
	for _, p := range pieces {
		v.ids = append(v.ids, p.id)
	}
	v.tree = append(v.tree, leaf{})
	v.grow(0, pieces, 0, 0)
	v.know()
	return v
}

type piece struct {
	text string
	id   int32
}

// grow makes what is below leaf at of pieces that are equal up to byte depth; the first of them is number from.
func (v *Vocabulary) grow(at int32, pieces []piece, depth int, from int32) {
	n := int32(0)
	for int(n) < len(pieces) && len(pieces[n].text) == depth {
		n++
	}
	v.tree[at].from, v.tree[at].to = from, from+n
	pieces, from = pieces[n:], from+n
	type branch struct {
		pieces []piece
		from   int32
	}
	var branches []branch
	first := int32(len(v.tree))
	for len(pieces) > 0 {
		b, n := pieces[0].text[depth], 1
		for n < len(pieces) && pieces[n].text[depth] == b {
			n++
		}
		v.tree = append(v.tree, leaf{b: b})
		branches = append(branches, branch{pieces[:n], from})
		pieces, from = pieces[n:], from+int32(n)
	}
	v.tree[at].first, v.tree[at].last = first, int32(len(v.tree))
	for i, b := range branches {
		v.grow(first+int32(i), b.pieces, depth+1, b.from)
	}
}

// Words is the length of a mask: a bit for each id.
func (v *Vocabulary) Words() int { return (v.size + 63) / 64 }

// Local is what follows from a place whatever called its rule.
type Local struct {
	mask    []uint64 // ids that stay inside the rule, or end exactly where it is left; nil when they are few:
	few     []int32
	exits   []int32 // leaves at which the rule is left, and that have children
	deepest int32   // calls that the threads ask for
}

// know finds what follows from the nodes of basics.
func (v *Vocabulary) know() {
	for at := range basics.nodes {
		var l Local
		if basics.nodes[at].kind == reads {
			l = v.look(basics, int32(at), false)
		}
		v.known = append(v.known, l)
	}
}

// look finds what follows from a node that reads. outer says that nothing has called its rule: then nothing follows it.
func (v *Vocabulary) look(g *Grammar, at int32, outer bool) Local {
	r := newRunner(g)
	r.free = true
	l := Local{mask: make([]uint64, v.Words())}
	s := search{v: v, r: r, mask: l.mask, left: func(leaf int32) {
		if t := &v.tree[leaf]; !outer && t.first < t.last {
			l.exits = append(l.exits, leaf)
		}
	}}
	s.threads = append(s.threads, thread{at, nil})
	s.below(0, 0)
	l.deepest = r.deepest
	if count(l.mask) <= len(l.mask) {
		l.few, l.mask = list(l.mask), nil
	}
	return l
}

// search walks the tree as far as threads go.
type search struct {
	v       *Vocabulary
	r       *runner
	mask    []uint64
	left    func(leaf int32) // a thread has returned from where the search began; nil to ignore it
	threads []thread         // of all places on the way, the present one's last
}

// below marks the ids below a leaf, where threads[from:] are.
func (s *search) below(at int32, from int) {
	t := &s.v.tree[at]
	here := len(s.threads)
	for child := t.first; child < t.last; child++ {
		c := &s.v.tree[child]
		var left bool
		s.threads, left = s.r.step(s.threads, s.threads[from:here], c.b)
		if left || len(s.threads) > here {
			for _, id := range s.v.ids[c.from:c.to] {
				s.mask[id/64] |= 1 << (id % 64)
			}
			if left && s.left != nil {
				s.left(child)
			}
			if len(s.threads) > here {
				s.below(child, here)
			}
		}
		s.threads = s.threads[:here]
	}
}

// list lists the ids of a mask.
func list(mask []uint64) []int32 {
	var ids []int32
	for i, w := range mask {
		for ; w != 0; w &= w - 1 {
			ids = append(ids, int32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return ids
}

func count(mask []uint64) int {
	n := 0
	for _, w := range mask {
		n += bits.OnesCount64(w)
	}
	return n
}
