package spell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quoted makes a word safe to paste into a shell and to show on a terminal, with no byte of it changed. Words with characters
// that a terminal does not simply print are written $'…' (POSIX 2024; bash, zsh, ksh).
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	if utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, n := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r) && !(r == utf8.RuneError && n == 1):
			b.WriteRune(r)
		default:
			for _, c := range []byte(word[:n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		word = word[n:]
	}
	return b.String() + "'"
}
