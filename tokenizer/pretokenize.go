// Pre-tokenizers cut text into the pieces inside which BPE may merge. Each takes one piece and emits pieces; those after
// the first of a Sequence see the pieces of the one before.

package tokenizer

import (
	"strings"
	"unicode"
)

// piece is a stretch of text on its way to BPE.
type piece struct {
	text  string
	start bool // it begins where the whole input begins
}

// preTokenizer emits the parts of p, none of them empty.
type preTokenizer func(p piece, emit func(piece))

// matcher calls yield with every match in s, in order.
type matcher func(s string, yield func(span))

// matchString finds text itself; an empty text matches nowhere.
func matchString(text string) matcher {
	return func(s string, yield func(span)) {
		for at := 0; text != ""; {
			i := strings.Index(s[at:], text)
			if i < 0 {
				return
			}
			yield(span{at + i, at + i + len(text)})
			at += i + len(text)
		}
	}
}

// matchRunes finds single characters.
func matchRunes(is func(rune) bool) matcher {
	return func(s string, yield func(span)) {
		for at, r := range s {
			if is(r) {
				yield(span{at, at + len(string(r))})
			}
		}
	}
}

// behavior says what becomes of the matches of a splitter.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

// splitter cuts at matches (at what lies between them when inverted).
func splitter(m matcher, b behavior, invert bool) preTokenizer {
	if b == isolated || b == removed {
		return divider(m, b == isolated || !invert, b == isolated || invert)
	}
	return func(p piece, emit func(piece)) {
		for _, s := range parts(p.text, m, b, invert) {
			if s.from < s.to {
				emit(piece{p.text[s.from:s.to], p.start && s.from == 0})
			}
		}
	}
}

// divider keeps what lies between matches, or the matches, or both.
func divider(m matcher, between, matches bool) preTokenizer {
	return func(p piece, emit func(piece)) {
		done := 0
		part := func(from, to int, keep bool) {
			if keep && from < to {
				emit(piece{p.text[from:to], p.start && from == 0})
			}
			done = to
		}
		m(p.text, func(s span) {
			part(done, s.from, between)
			part(s.from, s.to, matches)
		})
		part(done, len(p.text), between)
	}
}

// part is a range of text that is a match or lies between matches.
type part struct {
	span
	match bool
}

func parts(text string, m matcher, b behavior, invert bool) []span {
	var all []part
	done := 0
	m(text, func(s span) {
		if done < s.from {
			all = append(all, part{span{done, s.from}, invert})
		}
		all = append(all, part{s, !invert})
		done = s.to
	})
	if done < len(text) {
		all = append(all, part{span{done, len(text)}, invert})
	}
	return join(all, b)
}

// join applies a behavior that glues parts to a gapless list of them.
func join(all []part, b behavior) []span {
	out := make([]span, 0, len(all))
	for i, p := range all {
		var glue bool // p extends the last span
		switch b {
		case contiguous:
			glue = i > 0 && p.match == all[i-1].match
		case mergedWithPrevious:
			glue = i > 0 && p.match && !all[i-1].match
		case mergedWithNext:
			glue = i > 0 && !p.match && all[i-1].match
		}
		if glue {
			out[len(out)-1].to = p.to
		} else {
			out = append(out, p.span)
		}
	}
	return out
}

// digits isolates numeric characters, one by one or in runs.
func digits(individual bool) preTokenizer {
	b := contiguous
	if individual {
		b = isolated
	}
	return splitter(matchRunes(unicode.IsNumber), b, false)
}

// words keeps runs of word characters and runs of what is neither word nor space.
func words(p piece, emit func(piece)) {
	kind := func(r rune) int {
		switch {
		case wordRune(r):
			return 1
		case unicode.IsSpace(r):
			return 0
		}
		return 2
	}
	from, last := 0, 0
	for at, r := range p.text {
		k := kind(r)
		if k != last {
			if last != 0 {
				emit(piece{p.text[from:at], p.start && from == 0})
			}
			from, last = at, k
		}
	}
	if last != 0 {
		emit(piece{p.text[from:], p.start && from == 0})
	}
}

// gpt2Pattern is the split that ByteLevel performs by itself when use_regex is on.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// byteLevel cuts with split, if there is one, and spells the pieces in the byte alphabet if the model wants them so.
func byteLevel(addPrefixSpace bool, split preTokenizer, spelled bool) preTokenizer {
	return func(p piece, emit func(piece)) {
		if addPrefixSpace && !strings.HasPrefix(p.text, " ") {
			p.text = " " + p.text
		}
		out := emit
		if spelled {
			out = func(p piece) { emit(piece{toByteLevel(p.text), p.start}) }
		}
		if split == nil {
			out(p)
			return
		}
		split(p, out)
	}
}

// metaspace writes spaces as replacement, puts one in front as the scheme says, and cuts before each.
func metaspace(replacement string, always, first, cut bool) preTokenizer {
	split := splitter(matchString(replacement), mergedWithNext, false)
	return func(p piece, emit func(piece)) {
		p.text = strings.ReplaceAll(p.text, " ", replacement)
		if (always || first && p.start) && !strings.HasPrefix(p.text, replacement) {
			p.text = replacement + p.text
		}
		if !cut {
			emit(p)
			return
		}
		split(p, emit)
	}
}
