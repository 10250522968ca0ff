// Cutting a template into text and tags, and a tag into tokens, as the template library does.

package chat

import (
	"fmt"
	"strings"
)

// piece is text (kind 't'), an expression tag ('{'), a statement tag ('%') or a comment ('#').
type piece struct {
	kind        byte
	text        string // without delimiters and markers
	left, right string // whitespace markers: "", "-" or "+"
	line        int
}

// cutTemplate cuts source. Delimiters inside strings and brackets of a tag do not end it.
func cutTemplate(source string) ([]piece, error) {
	var pieces []piece
	line := 1
	for source != "" {
		at := nextTag(source)
		if at > 0 {
			pieces = append(pieces, piece{kind: 't', text: source[:at], line: line})
			line += strings.Count(source[:at], "\n")
			source = source[at:]
			continue
		}
		p, size, ok := cutTag(source)
		if !ok {
			return nil, fmt.Errorf("line %d: the tag that starts here does not end", line)
		}
		p.line = line
		pieces = append(pieces, p)
		line += strings.Count(source[:size], "\n")
		source = source[size:]
	}
	keepDistant(pieces)
	return pieces, nil
}

// keepDistant makes tags keep text that they do not touch: the library would trim the nearest text even across other tags.
func keepDistant(pieces []piece) {
	isText := func(i int) bool { return i >= 0 && i < len(pieces) && pieces[i].kind == 't' }
	for i := range pieces {
		p := &pieces[i]
		if p.kind == 't' {
			continue
		}
		if !isText(i - 1) {
			p.left = "+"
		}
		if !isText(i + 1) {
			p.right = "+"
		}
	}
}

// nextTag is the offset of the first tag, or the length of s.
func nextTag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return len(s)
}

// cutTag reads the tag that s starts with and returns its size in bytes.
func cutTag(s string) (p piece, size int, ok bool) {
	p.kind = s[1]
	closer := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[p.kind]
	at := 2
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		p.left = s[at : at+1]
		at++
	}
	for start, depth := at, 0; at < len(s); at++ {
		c := s[at]
		if depth == 0 && (c == '-' || c == '+') && strings.HasPrefix(s[at+1:], closer) {
			p.text, p.right = s[start:at], string(c)
			return p, at + 3, true
		}
		if depth == 0 && strings.HasPrefix(s[at:], closer) {
			p.text = s[start:at]
			return p, at + 2, true
		}
		if p.kind == '#' {
			continue
		}
		switch c {
		case '\'', '"':
			at += quoted(s[at:]) - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return p, 0, false
}

// quoted is the length of the string literal that s starts with.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

// token is a name ('n'), number ('0'), string literal with its quotes ('"'), operator or bracket ('+'), or the end (0).
type token struct {
	kind byte
	text string
}

func (t token) is(kind byte, text string) bool { return t.kind == kind && t.text == text }

// String names the token in errors.
func (t token) String() string {
	if t.kind == 0 {
		return "the end of the tag"
	}
	return fmt.Sprintf("%.60q", t.text)
}

func tokenize(s string) ([]token, error) {
	var tokens []token
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return append(tokens, token{}), nil
		}
		t := token{'+', s[:1]}
		switch c := s[0]; {
		case c == '"' || c == '\'':
			t = token{'"', s[:quoted(s)]}
			if n := len(t.text); n < 2 || t.text[n-1] != c {
				return nil, fmt.Errorf("a string that does not end")
			}
		case isWord(c) && !isDigit(c):
			t = token{'n', s[:span(s, isWord)]}
		case isDigit(c):
			t = token{'0', s[:numeral(s)]}
		case len(s) > 1 && strings.Contains("** // == != <= >=", s[:2]) && s[1] != ' ':
			t.text = s[:2]
		case !strings.ContainsRune("+-*/%~|.,:=<>()[]{}", rune(c)):
			return nil, fmt.Errorf("the character %q", c)
		}
		tokens = append(tokens, t)
		s = s[len(t.text):]
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

// span counts the bytes at the start of s that belong to a class.
func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func numeral(s string) int {
	n := span(s, isDigit)
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n += 1 + span(s[n+1:], isDigit)
	}
	return n
}
