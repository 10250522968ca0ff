// Normalizers: what happens to a stretch of text between added tokens before it is split into pieces.

package tokenizer

import (
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizer maps text to text. nil leaves it as it is.
type normalizer func(string) string

// chain applies normalizers in order.
func chain(all []normalizer) normalizer {
	if len(all) == 0 {
		return nil
	}
	return func(s string) string {
		for _, n := range all {
			if n != nil {
				s = n(s)
			}
		}
		return s
	}
}

// prepend puts p before text that is not empty.
func prepend(p string) normalizer {
	return func(s string) string {
		if s == "" {
			return s
		}
		return p + s
	}
}

// replace puts content in place of every match.
func replace(m matcher, content string) normalizer {
	return func(s string) string {
		var b strings.Builder
		done := 0
		m(s, func(at span) {
			b.WriteString(s[done:at.from])
			b.WriteString(content)
			done = at.to
		})
		b.WriteString(s[done:])
		return b.String()
	}
}

// nfc composes (Unicode form C). golang.org/x/text follows the stream-safe rule and inserts U+034F into runs of more
// than 30 combining marks, which form C itself does not; text with such a run is composed here.
func nfc(s string) string {
	if longRun(s) {
		return string(compose(sortMarks(decomposed(s))))
	}
	return norm.NFC.String(s)
}

const streamSafe = 30 // combining marks in a row that x/text composes plainly

// longRun reports whether s may hold a run of marks that x/text would break up.
func longRun(s string) bool {
	run := 0
	for at := 0; at < len(s); {
		if s[at] < utf8.RuneSelf {
			at, run = at+1, 0
			continue
		}
		p := norm.NFD.PropertiesString(s[at:])
		at += max(p.Size(), 1)
		marks := utf8.RuneCount(p.Decomposition())
		if p.CCC() == 0 {
			run = marks
		} else {
			run += max(1, marks)
		}
		if run > streamSafe {
			return true
		}
	}
	return false
}

// decomposed is form D before its marks are put in order.
func decomposed(s string) []rune {
	var out []rune
	for _, r := range s {
		out = append(out, []rune(norm.NFD.String(string(r)))...)
	}
	return out
}

// sortMarks sorts each run of marks by class, in place and stably.
func sortMarks(runes []rune) []rune {
	for i := 0; i < len(runes); i++ {
		from := i
		for i < len(runes) && class(runes[i]) != 0 {
			i++
		}
		marks := runes[from:i]
		sort.SliceStable(marks, func(a, b int) bool { return class(marks[a]) < class(marks[b]) })
	}
	return runes
}

// compose joins each character with the starter before it unless a mark between them blocks it (Unicode 3.11, D117).
// It works in place.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter, last := -1, uint8(0) // last: class of the character before, 0 right behind the starter
	for _, r := range runes {
		c := class(r)
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

// class is the canonical combining class.
func class(r rune) uint8 { return norm.NFC.PropertiesString(string(r)).CCC() }
