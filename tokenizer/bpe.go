// Byte-pair encoding of one piece: start from characters, then always merge the adjacent pair of lowest rank, leftmost
// first. A heap of candidate pairs over a linked list keeps it at O(n log n), also for a piece of a million characters.

package tokenizer

import "unicode/utf8"

type bpe struct {
	ids          map[string]int32
	merges       map[uint64]merge // left<<32 | right →
	small        [512]int32       // id of the piece that is one character below U+0200, -1 for none
	bytes        [256]int32       // ids of <0x00> … <0xFF>; used with byteFallback
	unknown      int32            // id for characters without a piece, -1 for none
	fuseUnknown  bool             // one id for a run of them
	byteFallback bool             // spell such characters in <0x..> pieces
	prefix       string           // before every character but the first of a piece
	suffix       string           // behind the last
	ignoreMerges bool             // a piece that is in the vocabulary as a whole is that id
	control      []bool           // [id] Tokenizer.IsControl, for ids of the model
}

type merge struct{ rank, id int32 }

func pairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(uint32(right)) }

// symbol is a node of the list of what the piece has become so far.
type symbol struct{ id, prev, next int32 } // id -1: merged away; prev, next -1: none

// candidate is a pair that may be merged. It is stale once either side has changed.
type candidate struct{ rank, at, left, right, id int32 }

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// workspace is reused from piece to piece.
type workspace struct {
	symbols []symbol
	heap    []candidate
}

// encode appends the ids of one piece. Guarded means that the text comes from outside: no merge may then form a control
// token.
func (m *bpe) encode(dst []int32, text string, guarded bool, w *workspace) []int32 {
	if m.ignoreMerges {
		if id, ok := m.ids[text]; ok && !(guarded && m.control[id]) {
			return append(dst, id)
		}
	}
	m.spell(text, w)
	m.mergeAll(guarded, w)
	for at := int32(0); at >= 0 && len(w.symbols) > 0; at = w.symbols[at].next {
		dst = append(dst, w.symbols[at].id)
	}
	return dst
}

// spell fills the list with the characters of text. An unknown one is written when it is known not to fuse with more.
func (m *bpe) spell(text string, w *workspace) {
	w.symbols = w.symbols[:0]
	waiting := false // an unknown character is not written yet
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		char := text[at : at+size]
		id := m.char(r, char, at == 0, at+size == len(text))
		at += size
		switch {
		case id >= 0:
			if waiting {
				w.add(m.unknown)
			}
			waiting = false
			w.add(id)
		case m.byteFallback && m.addBytes(char, w):
		default:
			if waiting && !m.fuseUnknown {
				w.add(m.unknown)
			}
			waiting = m.unknown >= 0
		}
	}
	if waiting {
		w.add(m.unknown)
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].next = -1
	}
}

// addBytes spells char in <0x..> pieces if all of them exist.
func (m *bpe) addBytes(char string, w *workspace) bool {
	for i := range len(char) {
		if m.bytes[char[i]] < 0 {
			return false
		}
	}
	for i := range len(char) {
		w.add(m.bytes[char[i]])
	}
	return true
}

// char is the id of a character at its place in the piece, -1 for none.
func (m *bpe) char(r rune, char string, first, last bool) int32 {
	switch {
	case m.prefix != "" || m.suffix != "":
		if !first {
			char = m.prefix + char
		}
		if last {
			char += m.suffix
		}
	case int(r) < len(m.small):
		return m.small[r]
	}
	if id, ok := m.ids[char]; ok {
		return id
	}
	return -1
}

func (w *workspace) add(id int32) {
	n := int32(len(w.symbols))
	w.symbols = append(w.symbols, symbol{id, n - 1, n + 1})
}

func (m *bpe) mergeAll(guarded bool, w *workspace) {
	w.heap = w.heap[:0]
	for at := range w.symbols {
		m.propose(int32(at), guarded, w)
	}
	for len(w.heap) > 0 {
		c := w.heap[0]
		w.heap = siftDown(w.heap)
		left := &w.symbols[c.at]
		if left.id != c.left || left.next < 0 || w.symbols[left.next].id != c.right {
			continue
		}
		right := &w.symbols[left.next]
		right.id = -1
		left.id, left.next = c.id, right.next
		if left.next >= 0 {
			w.symbols[left.next].prev = c.at
		}
		m.propose(left.prev, guarded, w)
		m.propose(c.at, guarded, w)
	}
}

// propose puts the pair that starts at at into the heap if it can be merged.
func (m *bpe) propose(at int32, guarded bool, w *workspace) {
	if at < 0 || w.symbols[at].next < 0 {
		return
	}
	left, right := w.symbols[at].id, w.symbols[w.symbols[at].next].id
	to, ok := m.merges[pairKey(left, right)]
	if !ok || guarded && m.control[to.id] {
		return
	}
	w.heap = append(w.heap, candidate{to.rank, at, left, right, to.id})
	siftUp(w.heap)
}
