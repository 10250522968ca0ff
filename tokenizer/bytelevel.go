// The byte alphabet of GPT-2: each of the 256 bytes has a printable character, so that pieces of arbitrary bytes can be
// written as JSON strings. Printable Latin-1 stands for itself; the rest moves to U+0100 … U+0143 in order of byte.

package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

var runeOfByte, byteOfRune = byteAlphabet()

func byteAlphabet() (runes [256]rune, back [0x144]int16) {
	for i := range back {
		back[i] = -1
	}
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r, next = next, next+1
		}
		runes[b], back[r] = r, int16(b)
	}
	return runes, back
}

// toByteLevel spells the bytes of s in the byte alphabet.
func toByteLevel(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := range len(s) {
		b.WriteRune(runeOfByte[s[i]])
	}
	return b.String()
}

// byteLevelBytes undoes toByteLevel. A piece with any character outside the alphabet stands for itself, as in the
// reference: so an added token spelled "<｜end｜>" is read as UTF-8, not as bytes.
func byteLevelBytes(piece string) []byte {
	if out, ok := fromByteLevel(piece); ok {
		return out
	}
	return []byte(piece)
}

// fromByteLevel reports false for a piece that is not spelled in the alphabet.
func fromByteLevel(piece string) ([]byte, bool) {
	out := make([]byte, 0, len(piece))
	for _, r := range piece {
		if int(r) >= len(byteOfRune) || byteOfRune[r] < 0 {
			return nil, false
		}
		out = append(out, byte(byteOfRune[r]))
	}
	return out, true
}

// lossy appends the text of b to dst, each maximal broken sequence replaced by one U+FFFD (Unicode 3.9, best practice
// of substitution; Go's own conversion replaces byte by byte). Unless final, a tail that may still become a character
// is left alone; used is the number of bytes consumed.
func lossy(dst, b []byte, final bool) (out []byte, used int) {
	for used < len(b) {
		n, ok, cut := character(b[used:])
		switch {
		case ok:
			dst = append(dst, b[used:used+n]...)
		case cut && !final:
			return dst, used
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		used += n
	}
	return dst, used
}

// character measures the UTF-8 sequence at the start of b: ok for a whole character of n bytes; otherwise n is the
// length of the maximal broken sequence, and cut says that b ended before it was decided.
func character(b []byte) (n int, ok, cut bool) {
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch c := b[0]; {
	case c < 0x80:
		return 1, true, false
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			lo = 0xA0
		} else if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			lo = 0x90
		} else if c == 0xF4 {
			hi = 0x8F
		}
	default:
		return 1, false, false
	}
	for n = 1; n <= need; n++ {
		if n == len(b) {
			return n, false, true
		}
		if b[n] < lo || b[n] > hi {
			return n, false, false
		}
		lo, hi = 0x80, 0xBF
	}
	return n, true, false
}

// toText replaces what is not UTF-8 as lossy does; valid text is returned as it is.
func toText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out, _ := lossy(make([]byte, 0, len(s)+8), []byte(s), true)
	return string(out)
}

// showBytes is the text of b with bytes that are no text shown as <0xE2>.
func showBytes(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		n, ok, _ := character(b)
		if ok {
			out.Write(b[:n])
		} else {
			for _, c := range b[:n] {
				fmt.Fprintf(&out, "<0x%02X>", c)
			}
		}
		b = b[n:]
	}
	return out.String()
}
