// Formatting: 'a {} b'.format(x) and 'a %s b' % x, as far as templates use them.

package jinja

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// formatMethod fills {}, {0} and {name}. Conversions, attributes and format specifications are not supported.
func formatMethod(r *render, v any, a arguments) (any, error) {
	s, err := r.own(v)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	next := 0
	for s != "" {
		at := strings.IndexAny(s, "{}")
		if at < 0 {
			at = len(s)
		}
		b.WriteString(s[:at])
		s = s[at:]
		switch {
		case s == "":
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			b.WriteByte(s[0])
			s = s[2:]
		default:
			field, rest, ok := strings.Cut(s[1:], "}")
			if s[0] == '}' || !ok {
				return nil, errors.New("single brace in a format")
			}
			s = rest
			value, err := a.field(field, &next)
			if err != nil {
				return nil, err
			}
			text, err := r.str(value)
			if err != nil {
				return nil, err
			}
			if err := r.spendBytes(len(text)); err != nil {
				return nil, err
			}
			b.WriteString(text)
		}
	}
	return b.String(), nil
}

// field finds what a replacement field names.
func (a *arguments) field(name string, next *int) (any, error) {
	if strings.ContainsAny(name, "!:.[{") {
		return nil, fmt.Errorf("the format {%.60s} is not supported", name)
	}
	index, err := strconv.Atoi(name)
	if name == "" {
		index, err = *next, nil
		*next++
	}
	if err == nil {
		if index < 0 || index >= len(a.values) {
			return nil, errors.New("a replacement index out of range")
		}
		return a.values[index], nil
	}
	for _, n := range a.named {
		if n.name == name {
			return n.value, nil
		}
	}
	return nil, fmt.Errorf("the format names %.60q, which was not given", name)
}

// percent is the operator %: %s, %r, %d, %i, %f with a precision, and %%.
func (r *render) percent(format, v any) (any, error) {
	s, err := r.own(format)
	if err != nil {
		return nil, err
	}
	values := []any{v}
	l, many := v.(*List)
	if many = many && l.form == isTuple; many {
		values = l.items
	}
	var b strings.Builder
	used := 0
	for s != "" {
		text, rest, ok := strings.Cut(s, "%")
		b.WriteString(text)
		if !ok {
			break
		}
		n := span(rest, func(c byte) bool { return strings.IndexByte("sdifr%", c) < 0 })
		if n == len(rest) {
			return nil, errors.New("an incomplete format")
		}
		conversion := rest[:n+1]
		s = rest[n+1:]
		if conversion == "%" {
			b.WriteByte('%')
			continue
		}
		if used == len(values) {
			return nil, errors.New("not enough arguments for format string")
		}
		if text, err = r.converted(conversion, values[used]); err != nil {
			return nil, err
		}
		used++
		b.WriteString(text)
	}
	if _, isDict := v.(*Dict); used < len(values) && !(isDict && used == 0) {
		return nil, errors.New("not all arguments converted during string formatting")
	}
	return b.String(), r.spendBytes(b.Len())
}

func (r *render) converted(conversion string, v any) (string, error) {
	switch conversion {
	case "s":
		return r.str(v)
	case "r":
		return r.repr(v)
	case "d", "i":
		if f, ok := v.(float64); ok {
			return strconv.FormatInt(int64(f), 10), nil
		}
		if i, ok := integer(v); ok {
			return strconv.FormatInt(i, 10), nil
		}
		return "", fmt.Errorf("%%d format: a real number is required, not %s", kind(v))
	}
	precision, isFloat := strings.CutSuffix(conversion, "f")
	digits, err := strconv.Atoi(strings.TrimPrefix(precision, "."))
	if precision == "" {
		digits, err = 6, nil
	}
	f, ok := number(v)
	if !isFloat || err != nil || digits > 64 || precision != "" && precision[0] != '.' || !ok {
		return "", fmt.Errorf("the format %%%.60s of %s is not supported", conversion, kind(v))
	}
	return strconv.FormatFloat(f, 'f', digits, 64), nil
}
