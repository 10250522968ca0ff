// Values as text: str, as templates print them, and repr, as they stand inside lists and mappings.

package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// str pays for the text that it returns.
func (r *render) str(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case Undefined:
		return "", nil
	}
	return r.repr(v)
}

func (r *render) repr(v any) (string, error) {
	var b strings.Builder
	err := r.appendRepr(&b, v, 0)
	return b.String(), err
}

func (r *render) appendRepr(b *strings.Builder, v any, depth int) error {
	before := b.Len()
	if depth > maxDepth {
		return fmt.Errorf("a value is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case Int:
		b.WriteString(string(v))
	case float64:
		b.WriteString(float(v))
	case string:
		quote(b, v)
	case Undefined:
		b.WriteString("Undefined")
	case *List:
		if v.form <= isTuple {
			return r.appendList(b, v, depth)
		}
		return fmt.Errorf("a %s is printed", kind(v))
	case *Dict:
		return r.appendDict(b, v, depth)
	default:
		return fmt.Errorf("a %s is printed", kind(v))
	}
	return r.spendBytes(8 + b.Len() - before)
}

func (r *render) appendList(b *strings.Builder, l *List, depth int) error {
	brackets := "[]"
	if l.form == isTuple {
		brackets = "()"
	}
	b.WriteByte(brackets[0])
	for i, item := range l.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := r.appendRepr(b, item, depth+1); err != nil {
			return err
		}
	}
	if l.form == isTuple && len(l.items) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(brackets[1])
	return r.spendBytes(4)
}

func (r *render) appendDict(b *strings.Builder, d *Dict, depth int) error {
	b.WriteByte('{')
	for i := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := r.appendRepr(b, d.keys[i], depth+1); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := r.appendRepr(b, d.values[i], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return r.spendBytes(4)
}

// float is Python's repr: the shortest decimal that reads back as the same number.
func float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.IndexByte(s, '.') < 0 {
		s += ".0"
	}
	return s
}

// quote is Python's repr of a string.
func quote(b *strings.Builder, s string) {
	mark := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		mark = '"'
	}
	b.WriteByte(mark)
	for _, c := range s {
		switch {
		case c == '\\' || c == rune(mark):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			fmt.Fprintf(b, `\U%08x`, c)
		}
	}
	b.WriteByte(mark)
}
