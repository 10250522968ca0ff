// Cutting a template into text and tags, and tags into tokens.

package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTemplate = 256 << 10 // bytes; the longest published one that was found has 36 kB
	maxTokens   = 4000      // in one tag
)

// token is text outside tags ('t'), the beginning ('{' of an expression, '%' of a statement) or end ('}') of a tag, a name
// ('n'), a string ('s', decoded), an integer ('i'), a float ('f'), an operator ('o'), or the end of the template (0).
type token struct {
	kind byte
	text string
	at   int // offset in the source
}

type lexer struct {
	source string
	at     int
	fresh  bool // the text at at begins a line
	tokens []token
}

// lex reads a whole template. Line ends become \n, and one at the very end goes.
func lex(source string) (l *lexer, err error) {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	l = &lexer{source: strings.TrimSuffix(source, "\n"), fresh: true}
	if len(source) > maxTemplate {
		return l, fmt.Errorf("it has %d bytes; at most %d are read", len(source), maxTemplate)
	}
	for l.at < len(l.source) && err == nil {
		err = l.outside()
	}
	l.tokens = append(l.tokens, token{at: len(l.source)})
	return l, err
}

func (l *lexer) add(kind byte, text string, at int) {
	l.tokens = append(l.tokens, token{kind, text, at})
}

// outside reads text up to the next tag, and the tag.
func (l *lexer) outside() error {
	text := l.source[l.at:]
	end := nextTag(text)
	if end == len(text) {
		l.add('t', text, l.at)
		l.at = len(l.source)
		return nil
	}
	start := l.at + end
	opening := l.source[start+1]
	l.at = start + 2
	sign := l.sign()
	text = l.stripped(text[:end], opening, sign)
	if text != "" {
		l.add('t', text, l.at)
	}
	switch opening {
	case '#':
		return l.comment(start)
	case '%':
		if raw, err := l.raw(start); raw {
			return err
		}
	}
	return l.inside(start, opening)
}

func nextTag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return len(s)
}

// sign consumes the whitespace marker behind an opening delimiter.
func (l *lexer) sign() byte {
	if l.at < len(l.source) && (l.source[l.at] == '-' || l.source[l.at] == '+') {
		l.at++
		return l.source[l.at-1]
	}
	return 0
}

// stripped is the text before a tag without what the tag takes: all whitespace with a minus, the indentation of a statement
// or comment that begins its line without a marker.
func (l *lexer) stripped(text string, opening, sign byte) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(text, isSpace)
	case sign == 0 && opening != '{':
		line := strings.LastIndexByte(text, '\n') + 1
		if (line > 0 || l.fresh) && strings.TrimFunc(text[line:], isSpace) == "" {
			return text[:line]
		}
	}
	return text
}

// close consumes a closing delimiter, perhaps with a marker, and what it takes of the text behind. It reports whether one
// was there.
func (l *lexer) close(delimiter string) bool {
	rest := l.source[l.at:]
	switch {
	case strings.HasPrefix(rest, "-"+delimiter):
		rest = strings.TrimLeftFunc(rest[1+len(delimiter):], isSpace)
	case delimiter != "}}" && strings.HasPrefix(rest, "+"+delimiter):
		rest = rest[1+len(delimiter):]
	case strings.HasPrefix(rest, delimiter):
		rest = rest[len(delimiter):]
		if delimiter != "}}" {
			rest = strings.TrimPrefix(rest, "\n")
		}
	default:
		return false
	}
	l.at = len(l.source) - len(rest)
	l.fresh = l.source[l.at-1] == '\n'
	return true
}

func (l *lexer) comment(start int) error {
	for ; l.at < len(l.source); l.at++ {
		if l.close("#}") {
			return nil
		}
	}
	return l.unclosed(start)
}

// raw reads {% raw %}…{% endraw %}, if that is what begins here.
func (l *lexer) raw(start int) (bool, error) {
	inside := strings.TrimLeftFunc(l.source[l.at:], isSpace)
	word, ok := strings.CutPrefix(inside, "raw")
	word = strings.TrimLeftFunc(word, isSpace)
	if !ok || !strings.HasPrefix(word, "%}") && !strings.HasPrefix(word, "-%}") {
		return false, nil
	}
	if after, ok := strings.CutPrefix(word, "-%}"); ok {
		l.at = len(l.source) - len(strings.TrimLeftFunc(after, isSpace))
	} else { // unlike other statements, it leaves the line end behind it
		l.at = len(l.source) - len(word) + len("%}")
	}
	for from := l.at; ; {
		at := strings.Index(l.source[from:], "{%")
		if at < 0 {
			return true, l.unclosed(start)
		}
		end := from + at
		text, at := l.source[l.at:end], l.at
		l.at = end + 2
		sign := l.sign()
		rest := strings.TrimLeftFunc(l.source[l.at:], isSpace)
		if after, ok := strings.CutPrefix(rest, "endraw"); ok {
			l.fresh = false
			l.add('t', l.stripped(text, '%', sign), at)
			l.at = len(l.source) - len(strings.TrimLeftFunc(after, isSpace))
			if !l.close("%}") {
				return true, l.unclosed(end)
			}
			return true, nil
		}
		l.at, from = at, end+2
	}
}

func (l *lexer) unclosed(start int) error {
	l.at = start
	return fmt.Errorf("the tag that starts here does not end")
}

// inside reads the tokens of a tag. Its closing delimiter counts outside brackets only.
func (l *lexer) inside(start int, opening byte) error {
	closing := map[byte]string{'{': "}}", '%': "%}"}[opening]
	l.add(opening, "", start)
	var open []byte
	for first := len(l.tokens); ; {
		if len(l.tokens)-first > maxTokens {
			return fmt.Errorf("a tag of more than %d tokens", maxTokens)
		}
		l.at = len(l.source) - len(strings.TrimLeftFunc(l.source[l.at:], isSpace))
		if l.at >= len(l.source) {
			return l.unclosed(start)
		}
		at := l.at
		if len(open) == 0 && l.close(closing) {
			l.add('}', "", at)
			return nil
		}
		if err := l.token(); err != nil {
			return err
		}
		switch t := l.tokens[len(l.tokens)-1]; {
		case t.kind != 'o':
		case strings.Contains("([{", t.text):
			if open = append(open, t.text[0]); len(open) > maxNesting {
				return fmt.Errorf("brackets are nested deeper than %d", maxNesting)
			}
		case strings.Contains(")]}", t.text):
			if len(open) == 0 || strings.IndexByte("([{", open[len(open)-1]) != strings.IndexByte(")]}", t.text[0]) {
				return fmt.Errorf("unexpected %q", t.text)
			}
			open = open[:len(open)-1]
		}
	}
}

func (l *lexer) token() error {
	s, at := l.source[l.at:], l.at
	c, size := utf8.DecodeRuneInString(s)
	switch {
	case isDigit(s[0]):
		size, isFloat := numeral(s)
		if isFloat && at > 0 && l.source[at-1] == '.' { // x.0.1
			size, isFloat = span(s, isDigit), false
		}
		l.at += size
		if isFloat {
			l.add('f', strings.ReplaceAll(s[:size], "_", ""), at)
		} else {
			l.add('i', strings.ReplaceAll(s[:size], "_", ""), at)
		}
	case c == '_' || unicode.IsLetter(c):
		for size < len(s) {
			c, n := utf8.DecodeRuneInString(s[size:])
			if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
				break
			}
			size += n
		}
		l.at += size
		l.add('n', s[:size], at)
	case c == '"' || c == '\'':
		size := quoted(s)
		if size == 0 {
			return fmt.Errorf("a string that does not end")
		}
		decoded, err := unescape(s[1 : size-1])
		if err != nil {
			return err
		}
		l.at += size
		l.add('s', decoded, at)
	default:
		return l.operator(s)
	}
	return nil
}

func (l *lexer) operator(s string) error {
	size := 1
	if len(s) > 1 && strings.Contains("// ** == != <= >=", s[:2]) && s[1] != ' ' {
		size = 2
	} else if strings.IndexByte("+-*/%~|.,:=<>()[]{}", s[0]) < 0 {
		c, _ := utf8.DecodeRuneInString(s)
		return fmt.Errorf("unexpected character %q", c)
	}
	l.add('o', s[:size], l.at)
	l.at += size
	return nil
}

// quoted is the length of the string literal that s starts with, 0 for one that does not end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

// numeral is the length of the number that s starts with.
func numeral(s string) (size int, isFloat bool) {
	if len(s) > 1 && s[0] == '0' {
		if digits := map[byte]string{'x': "0123456789abcdefABCDEF_", 'o': "01234567_", 'b': "01_"}[s[1]|0x20]; digits != "" {
			return 2 + span(s[2:], func(c byte) bool { return strings.IndexByte(digits, c) >= 0 }), false
		}
	}
	digits := func(s string) int { return span(s, func(c byte) bool { return isDigit(c) || c == '_' }) }
	n := digits(s)
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n, isFloat = n+1+digits(s[n+1:]), true
	}
	if n+1 < len(s) && s[n]|0x20 == 'e' {
		at := n + 1
		if s[at] == '+' || s[at] == '-' {
			at++
		}
		if at < len(s) && isDigit(s[at]) {
			n, isFloat = at+digits(s[at:]), true
		}
	}
	return n, isFloat
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isSpace is Python's str.isspace.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}
