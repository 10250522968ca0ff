// Literals of Python, as models write them in calls.

package parse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"molt/chat"
)

// readPython reads f(a=1, b="x").
func readPython(text []byte) (name string, arguments chat.Value, err error) {
	name, inside, _ := strings.Cut(string(text), "(")
	l := &literals{rest: strings.TrimSuffix(inside, ")")}
	var members []chat.Member
	seen := map[string]bool{}
	for l.skip(); l.rest != ""; l.skip() {
		key := l.word()
		if key == "" || !l.accept("=") {
			return name, arguments, fmt.Errorf("an argument has no name")
		}
		if seen[key] {
			return name, arguments, fmt.Errorf("the argument %s is given twice", key)
		}
		seen[key] = true
		v, err := l.value(0)
		if err != nil {
			return name, arguments, err
		}
		members = append(members, chat.Member{Name: key, Value: v})
		if !l.accept(",") && l.rest != "" {
			return name, arguments, fmt.Errorf("text behind the argument %s", key)
		}
	}
	return name, chat.Object(members...), nil
}

// maxPython bounds the nesting of literals.
const maxPython = 128

var errPython = errors.New("an argument is no literal of Python")

// literals reads literals from the front of a text.
type literals struct{ rest string }

func (l *literals) skip() { l.rest = strings.TrimLeft(l.rest, spaces) }

func (l *literals) accept(s string) bool {
	l.skip()
	rest, ok := strings.CutPrefix(l.rest, s)
	l.rest = rest
	return ok
}

// word takes a name.
func (l *literals) word() string {
	l.skip()
	n := 0
	for n < len(l.rest) && (isName(l.rest[n:n+1]) && strings.IndexByte(".:/-", l.rest[n]) < 0) {
		n++
	}
	word := l.rest[:n]
	l.rest = l.rest[n:]
	return word
}

func (l *literals) value(depth int) (chat.Value, error) {
	l.skip()
	switch {
	case depth > maxPython || l.rest == "":
		return chat.Value{}, errPython
	case l.rest[0] == '"' || l.rest[0] == '\'':
		s, err := l.text()
		return chat.String(s), err
	case l.rest[0] == '[':
		return l.items("]", depth+1)
	case l.rest[0] == '(':
		return l.items(")", depth+1)
	case l.rest[0] == '{':
		return l.dict(depth + 1)
	case strings.IndexByte("+-.0123456789", l.rest[0]) >= 0:
		return l.number()
	}
	switch l.word() {
	case "True", "true":
		return chat.Bool(true), nil
	case "False", "false":
		return chat.Bool(false), nil
	case "None", "null":
		return chat.Value{}, nil
	}
	return chat.Value{}, errPython
}

func (l *literals) items(end string, depth int) (chat.Value, error) {
	var items []chat.Value
	for l.rest = l.rest[1:]; !l.accept(end); {
		v, err := l.value(depth)
		if err != nil {
			return v, err
		}
		items = append(items, v)
		if !l.accept(",") && !strings.HasPrefix(l.rest, end) {
			return v, errPython
		}
	}
	return chat.Array(items...), nil
}

func (l *literals) dict(depth int) (chat.Value, error) {
	var members []chat.Member
	seen := map[string]bool{}
	for l.rest = l.rest[1:]; !l.accept("}"); {
		l.skip()
		if l.rest == "" || l.rest[0] != '"' && l.rest[0] != '\'' {
			return chat.Value{}, errPython
		}
		key, err := l.text()
		if err != nil || seen[key] || !l.accept(":") {
			return chat.Value{}, errPython
		}
		seen[key] = true
		v, err := l.value(depth)
		if err != nil {
			return v, err
		}
		members = append(members, chat.Member{Name: key, Value: v})
		if !l.accept(",") && !strings.HasPrefix(l.rest, "}") {
			return v, errPython
		}
	}
	return chat.Object(members...), nil
}

// number takes what JSON can say too: Python's underscores, leading plus and bare points are rewritten.
func (l *literals) number() (chat.Value, error) {
	n := 0
	for n < len(l.rest) && strings.IndexByte("+-.0123456789_eE", l.rest[n]) >= 0 {
		n++
	}
	text := strings.TrimPrefix(strings.ReplaceAll(l.rest[:n], "_", ""), "+")
	l.rest = l.rest[n:]
	sign := ""
	if digits, minus := strings.CutPrefix(text, "-"); minus {
		sign, text = "-", digits
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	v, err := chat.ParseValue([]byte(sign + text))
	if err != nil {
		return v, errPython
	}
	return v, nil
}

// text takes a string with Python's escapes. A line end may stand in it, as the template of LFM2.5 writes it.
func (l *literals) text() (string, error) {
	quote, s := l.rest[:1], l.rest[1:]
	var b strings.Builder
	for !strings.HasPrefix(s, quote) {
		switch {
		case s == "":
			return "", errPython
		case s[0] != '\\':
			b.WriteByte(s[0])
			s = s[1:]
		default:
			n := unescape(&b, s)
			if n == 0 {
				return "", errPython
			}
			s = s[n:]
		}
	}
	l.rest = s[1:]
	return b.String(), nil
}

// unescape writes what the escape at the start of s stands for and returns its length, 0 for one that is none.
func unescape(b *strings.Builder, s string) int {
	if len(s) < 2 {
		return 0
	}
	if i := strings.IndexByte("ntr0abfv\\'\"", s[1]); i >= 0 {
		b.WriteByte("\n\t\r\x00\a\b\f\v\\'\""[i])
		return 2
	}
	size := map[byte]int{'x': 2, 'u': 4, 'U': 8, '\n': 0}
	digits, ok := size[s[1]]
	switch {
	case !ok: // Python keeps a backslash that escapes nothing
		b.WriteByte('\\')
		return 1
	case digits == 0:
		return 2
	case len(s) < 2+digits:
		return 0
	}
	r, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(r)) {
		return 0
	}
	b.WriteRune(rune(r))
	return 2 + digits
}
