// What goes to standard output: data, in which no text from outside can steer a terminal.

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"molt/metrics"
	"molt/run/problem"
)

// data writes finished text.
func (a *app) data(text string) error {
	if _, err := fmt.Fprint(a.stdout, text); err != nil {
		return &problem.Problem{Code: problem.Resource, What: "cannot write to standard output", Why: err.Error(), Fix: "check where it goes", Err: err}
	}
	return nil
}

// dataJSON writes one JSON value on a line. Numbers that JSON cannot spell are strings, and every rune that a terminal does
// not simply print is escaped.
func (a *app) dataJSON(v any) error {
	text, err := metrics.Encode(v)
	if err != nil {
		return fmt.Errorf("molt: %w", err)
	}
	return a.data(string(escapeJSON(text)) + "\n")
}

// escapeJSON spells runes that do not print as \u escapes. Outside of strings, JSON has none of them.
func escapeJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) && !joins(r) }
	if !bytes.ContainsFunc(text, hidden) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// legible spells what a terminal does not simply print, like metrics.Clean, but keeps line ends, tabs, and the joiners that
// some scripts are written with.
func legible(s string) string {
	plain := func(r rune) bool { return r == '\n' || r == '\t' || joins(r) || unicode.IsPrint(r) }
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if plain(r) && !(r == utf8.RuneError && n == 1) {
			b.WriteString(s[:n])
		} else {
			b.WriteString(metrics.Clean(s[:n]))
		}
		s = s[n:]
	}
	return b.String()
}

func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// width is how many cells a line of standard output may take.
func (a *app) width() int {
	if width, ok := isTerminal(a.stdout); ok {
		return width
	}
	return 100
}
