// Byte-pair encoding of one piece: start from characters, then always merge the adjacent pair of lowest rank, leftmost
// first. Short pieces are searched for it; for long ones see mergelong.go.

package tokenizer

import "unicode/utf8"

type bpe struct {
	ids          map[string]int32 // pieces, as text is spelled when it arrives
	merges       *mergeTable
	small        [512]int32 // id of the piece that is one character below U+0200, -1 for none
	bytes        [256]int32 // ids of <0x00> … <0xFF>, -1 for none
	unknown      int32      // id for characters without a piece, -1 for none
	fuseUnknown  bool       // one id for a run of them
	byteFallback bool       // spell such characters in <0x..> pieces
	prefix       string     // before every character but the first of a piece
	suffix       string     // behind the last
	ignoreMerges bool       // a piece that is in the vocabulary as a whole is that id
	control      []bool     // [id] Tokenizer.IsControl, for ids of the model
	raw          bool       // text arrives as bytes, not spelled in the byte alphabet: small is the id of each byte
	cuts         bool       // no merge reaches over ▁ except from joining; so text can be cut before it
	joining      map[rune]bool
}

// workspace is reused from piece to piece.
type workspace struct {
	ids   []int32
	pairs []merge // [i] of ids i and i+1; rank noRank for none
	long  long
	seen  map[string]span // pieces encoded before → their ids in the output
}

const (
	noRank    = 1<<31 - 1
	maxShort  = 48 // characters of a piece that is searched plainly
	maxCached = 64 // bytes of a piece that is remembered
)

// encode appends the ids of one piece. Guarded means that the text comes from outside: no merge may then form a control
// token.
func (m *bpe) encode(dst []int32, text string, guarded bool, w *workspace) []int32 {
	if m.ignoreMerges {
		if id, ok := m.ids[text]; ok && !(guarded && m.control[id]) {
			return append(dst, id)
		}
	}
	for m.cuts {
		n := m.cut(text)
		if n == len(text) {
			break
		}
		dst = m.remembered(dst, text[:n], guarded, w)
		text = text[n:]
	}
	return m.remembered(dst, text, guarded, w)
}

// cut is the length of the first part of text that no merge connects with the rest.
func (m *bpe) cut(text string) int {
	const mark = "▁"
	for at := len(mark); at+len(mark) <= len(text); at++ {
		if text[at] == mark[0] && text[at:at+len(mark)] == mark {
			if before, _ := utf8.DecodeLastRuneInString(text[:at]); !m.joining[before] {
				return at
			}
		}
	}
	return len(text)
}

// remembered encodes a piece, or copies its ids from where it was seen last.
func (m *bpe) remembered(dst []int32, text string, guarded bool, w *workspace) []int32 {
	if guarded || len(text) > maxCached {
		return m.fresh(dst, text, guarded, w)
	}
	if at, ok := w.seen[text]; ok {
		return append(dst, dst[at.from:at.to]...)
	}
	from := len(dst)
	dst = m.fresh(dst, text, guarded, w)
	if w.seen == nil {
		w.seen = make(map[string]span)
	}
	w.seen[text] = span{from, len(dst)}
	return dst
}

func (m *bpe) fresh(dst []int32, text string, guarded bool, w *workspace) []int32 {
	m.spell(text, w)
	if len(w.ids) <= maxShort {
		m.mergeShort(guarded, w)
		return append(dst, w.ids...)
	}
	return m.mergeLong(dst, guarded, w)
}

// spell fills w.ids with the characters of text. An unknown one is written when it is known not to fuse with more.
func (m *bpe) spell(text string, w *workspace) {
	w.ids = w.ids[:0]
	if m.raw {
		for i := range len(text) {
			if id := m.small[text[i]]; id >= 0 { // otherwise the byte is lost, as in the reference
				w.ids = append(w.ids, id)
			}
		}
		return
	}
	waiting := false // an unknown character is not written yet
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		char := text[at : at+size]
		id := m.char(r, char, at == 0, at+size == len(text))
		at += size
		switch {
		case id >= 0:
			if waiting {
				w.ids = append(w.ids, m.unknown)
			}
			waiting = false
			w.ids = append(w.ids, id)
		case m.byteFallback && m.addBytes(char, w):
		default:
			if waiting && !m.fuseUnknown {
				w.ids = append(w.ids, m.unknown)
			}
			waiting = m.unknown >= 0
		}
	}
	if waiting {
		w.ids = append(w.ids, m.unknown)
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
		w.ids = append(w.ids, m.bytes[char[i]])
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

// pair is the merge of two ids; rank noRank for none.
func (m *bpe) pair(left, right int32, guarded bool) merge {
	to, ok := m.merges.get(pairKey(left, right))
	if !ok || guarded && m.control[to.id] {
		return merge{rank: noRank}
	}
	return to
}

// mergeShort merges w.ids in place.
func (m *bpe) mergeShort(guarded bool, w *workspace) {
	w.pairs = w.pairs[:0]
	for i := 1; i < len(w.ids); i++ {
		w.pairs = append(w.pairs, m.pair(w.ids[i-1], w.ids[i], guarded))
	}
	for {
		at, best := -1, int32(noRank)
		for i := range w.pairs {
			if w.pairs[i].rank < best {
				at, best = i, w.pairs[i].rank
			}
		}
		if at < 0 {
			return
		}
		w.ids[at] = w.pairs[at].id
		w.ids = append(w.ids[:at+1], w.ids[at+2:]...)
		w.pairs = append(w.pairs[:at], w.pairs[at+1:]...)
		if at > 0 {
			w.pairs[at-1] = m.pair(w.ids[at-1], w.ids[at], guarded)
		}
		if at < len(w.pairs) {
			w.pairs[at] = m.pair(w.ids[at], w.ids[at+1], guarded)
		}
	}
}
