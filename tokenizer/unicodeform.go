// The Unicode normalization forms. golang.org/x/text follows the stream-safe rule and inserts U+034F into runs of more
// than 30 combining marks, which the forms themselves do not; long segments are done here.

package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const streamSafe = 30 // bytes of a segment whose marks x/text surely leaves together

// unicodeForm edits segment by segment: a segment is a character that joins nothing before it and all that may join it.
// A character that the reference does not know to be part of one stands alone.
func unicodeForm(f norm.Form) normalizer {
	return func(s string, edit func(span, string)) {
		for at := 0; at < len(s); {
			if at += f.QuickSpanString(s[at:]); at == len(s) {
				return
			}
			end := at + segment(f, s[at:])
			if with := normalSegment(f, s[at:end]); with != s[at:end] {
				edit(span{at, end}, with)
			}
			at = end
		}
	}
}

// segment is the length of the segment at the start of s.
func segment(f norm.Form, s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if inert.has(r) {
		return n
	}
	for n < len(s) && !f.PropertiesString(s[n:]).BoundaryBefore() {
		r, size := utf8.DecodeRuneInString(s[n:])
		if inert.has(r) {
			break
		}
		n += size
	}
	return n
}

func normalSegment(f norm.Form, s string) string {
	if r, size := utf8.DecodeRuneInString(s); size == len(s) && inert.has(r) {
		return s
	}
	if len(s) <= streamSafe {
		return f.String(s)
	}
	whole := norm.NFD
	if f == norm.NFKC || f == norm.NFKD {
		whole = norm.NFKD
	}
	runes := sortMarks(decomposed(whole, s))
	if f == norm.NFC || f == norm.NFKC {
		runes = compose(runes)
	}
	return string(runes)
}

// decomposed is form D or KD before its marks are put in order.
func decomposed(f norm.Form, s string) []rune {
	var out []rune
	for _, r := range s {
		out = append(out, []rune(f.String(string(r)))...)
	}
	return out
}

// sortMarks sorts each run of marks by class, in place and stably.
func sortMarks(runes []rune) []rune {
	for i := 0; i < len(runes); i++ {
		from := i
		for i < len(runes) && combining(runes[i]) != 0 {
			i++
		}
		slices.SortStableFunc(runes[from:i], func(a, b rune) int { return int(combining(a)) - int(combining(b)) })
	}
	return runes
}

// compose joins each character with the starter before it unless a mark between them blocks it (Unicode 3.11, D117).
// It works in place.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter, last := -1, uint8(0) // last: class of the character before, 0 right behind the starter
	for _, r := range runes {
		c := combining(r)
		if starter >= 0 && (last == 0 || last < c) {
			if both, ok := composite(out[starter], r); ok {
				out[starter] = both
				continue
			}
		}
		if last = c; c == 0 {
			starter = len(out)
		}
		out = append(out, r)
	}
	return out
}

// composite is the primary composite of two characters.
func composite(a, b rune) (rune, bool) {
	both := norm.NFC.String(string([]rune{a, b}))
	r, size := utf8.DecodeRuneInString(both)
	return r, size == len(both)
}

// combining is the canonical combining class.
func combining(r rune) uint8 { return norm.NFC.PropertiesString(string(r)).CCC() }
