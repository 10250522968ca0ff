// Text for a terminal. Rollouts, prompts and errors are outside bytes: nothing in them may move the cursor, set a
// title, reverse the reading direction or hide itself.

package metrics

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean spells every rune that a terminal does not simply print: \x1b, \u200b, and \xff for bytes that are no character.
// Newlines and tabs are spelled too, so the result is one line.
func Clean(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// cleanLines is Clean for text of several lines; tabs become four blanks.
func cleanLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = Clean(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return lines
}

// columns is the number of terminal cells that clean text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// wide holds the blocks whose characters take two cells: East Asian scripts, full-width forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// fit cuts clean text to at most width cells; what was cut shows as an ellipsis.
func fit(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > width-1 {
			return s[:i] + strings.Repeat("…", min(1, width))
		}
	}
	return s
}

// pad fills clean text with blanks up to width cells, or cuts it.
func pad(s string, width int) string {
	s = fit(s, width)
	return s + strings.Repeat(" ", max(0, width-columns(s)))
}

// padLeft is pad with the blanks before the text.
func padLeft(s string, width int) string {
	s = fit(s, width)
	return strings.Repeat(" ", max(0, width-columns(s))) + s
}

// wrap breaks a clean line into lines of at most width cells, at blanks where there are any.
func wrap(s string, width int) []string {
	var lines []string
	for width > 0 && columns(s) > width {
		cut := breakAt(s, width)
		lines = append(lines, strings.TrimRight(s[:cut], " "))
		s = strings.TrimLeft(s[cut:], " ")
	}
	return append(lines, s)
}

// breakAt is the byte where a line of at most width cells ends, at least one rune in.
func breakAt(s string, width int) int {
	n, blank := 0, 0
	for i, r := range s {
		if r == ' ' && i > 0 {
			blank = i
		}
		if n += runeColumns(r); n > width {
			switch {
			case blank > 0:
				return blank
			case i > 0:
				return i
			}
			return utf8.RuneLen(r)
		}
	}
	return len(s)
}
