// Normalizers: what happens to a stretch of text between added tokens before it is split into pieces. Each is a list of
// edits, so that one pass gives the new text and also where the ranges of its authors have moved.

package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normalizer calls edit with each range of s that it replaces, in order; the rest of s stays.
type normalizer func(s string, edit func(at span, with string))

// normalized applies all normalizers to text and moves the sorted spans along. A span grows over every edit that it
// touches; a span whose text vanishes stays as an empty one.
func (t *Tokenizer) normalized(text string, spans []span) (string, []span) {
	for _, n := range t.normalize {
		text, spans = n.apply(text, spans)
	}
	return text, spans
}

func (n normalizer) apply(text string, spans []span) (string, []span) {
	var out strings.Builder
	var moves []move
	done := 0
	n(text, func(at span, with string) {
		if done == 0 && out.Len() == 0 {
			out.Grow(len(text) + len(text)/4)
		}
		out.WriteString(text[done:at.from])
		if len(spans) > 0 {
			moves = append(moves, move{at, span{out.Len(), out.Len() + len(with)}})
		}
		out.WriteString(with)
		done = at.to
	})
	if done == 0 && out.Len() == 0 {
		return text, spans
	}
	out.WriteString(text[done:])
	return out.String(), moved(spans, moves)
}

// text is apply without spans.
func (n normalizer) text(s string) string {
	out, _ := n.apply(s, nil)
	return out
}

// move is an edit: the range of the old text and that of the new one.
type move struct{ old, new span }

// moved maps sorted, disjoint spans through sorted, disjoint moves.
func moved(spans []span, moves []move) []span {
	out := make([]span, 0, len(spans))
	i, shift := 0, 0 // moves[:i] lie before the current span and shift it
	for _, s := range spans {
		for ; i < len(moves) && moves[i].old.to <= s.from; i++ {
			shift = moves[i].new.to - moves[i].old.to
		}
		from, behind := s.from+shift, shift
		if i < len(moves) && moves[i].old.from < s.from {
			from = moves[i].new.from
		}
		to, last := s.to+behind, i
		for ; last < len(moves) && moves[last].old.from < s.to; last++ {
			behind = moves[last].new.to - moves[last].old.to
			to = max(s.to+behind, moves[last].new.to)
		}
		if n := len(out); n > 0 && out[n-1].to > from {
			out[n-1].to = max(out[n-1].to, to)
			continue
		}
		out = append(out, span{from, to})
	}
	return out
}

// prepend puts p before text that is not empty.
func prepend(p string) normalizer {
	return func(s string, edit func(span, string)) {
		if s != "" && p != "" {
			edit(span{0, 0}, p)
		}
	}
}

// replace puts content in place of every match.
func replace(m matcher, content string) normalizer {
	return func(s string, edit func(span, string)) {
		m(s, func(at span) { edit(at, content) })
	}
}

// eachRune replaces the characters that to changes.
func eachRune(to func(rune) (with string, changed bool)) normalizer {
	return func(s string, edit func(span, string)) {
		for at, r := range s {
			if with, changed := to(r); changed {
				edit(span{at, at + utf8.RuneLen(r)}, with)
			}
		}
	}
}

// lowercase is the full mapping of single characters; only İ becomes two.
func lowercase(r rune) (string, bool) {
	if r == 'İ' {
		return "i\u0307", true
	}
	low := unicode.ToLower(r)
	return string(low), low != r
}

// dropMarks is StripAccents: it takes away combining marks, but does not decompose.
func dropMarks(r rune) (string, bool) { return "", markClass.has(r) }

// strip takes whitespace off the ends.
func strip(left, right bool) normalizer {
	return func(s string, edit func(span, string)) {
		from, to := 0, len(s)
		if left {
			from = to - len(strings.TrimLeftFunc(s, unicode.IsSpace))
		}
		if right {
			to = max(from, len(strings.TrimRightFunc(s, unicode.IsSpace)))
		}
		if from > 0 {
			edit(span{0, from}, "")
		}
		if to < len(s) {
			edit(span{to, len(s)}, "")
		}
	}
}
