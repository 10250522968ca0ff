// Filters of one value. Those of sequences are in sequences.go.

package jinja

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filters has them by name. It is filled by init, because map applies filters by their names.
var filters map[string]method

func init() {
	filters = map[string]method{
		"abs": alone(absolute), "capitalize": textFilter(capitalized), "lower": textFilter(lower), "upper": textFilter(upper), "title": textFilter(titleFilter),
		"trim": trim, "string": alone(stringFilter), "safe": alone(safe), "escape": alone(escape), "e": alone(escape), "forceescape": alone(escape), "indent": indent, "replace": replace,
		"wordcount": alone(wordcount), "center": center, "format": formatFilter, "int": intFilter, "float": floatFilter, "round": round,
		"default": defaultFilter, "d": defaultFilter, "tojson": tojson, "length": alone(length), "count": alone(length), "list": alone(list), "join": join, "items": alone(items),
		"first": alone(first), "last": alone(last), "reverse": alone(reverse), "sort": sort, "dictsort": dictsort, "unique": unique, "sum": sum,
		"min": extremum(-1), "max": extremum(1), "map": mapFilter, "batch": batch,
		"select": selecting(false, true), "reject": selecting(false, false), "selectattr": selecting(true, true), "rejectattr": selecting(true, false),
	}
}

// alone is a filter that takes no arguments.
func alone(f func(r *render, v any) (any, error)) method {
	return func(r *render, v any, a arguments) (any, error) {
		if _, err := a.exactly(0); err != nil {
			return nil, err
		}
		return f(r, v)
	}
}

// filter applies a filter to a value.
func (r *render) filter(f *filterExpr, v any, s *scope) (any, error) {
	a, err := r.args(f.args, s)
	if err != nil {
		return nil, err
	}
	return r.apply(f.name, v, a)
}

func (r *render) apply(name string, v any, a arguments) (any, error) {
	f, ok := filters[name]
	if !ok {
		return nil, fmt.Errorf("the filter %.60s is not supported", name)
	}
	out, err := f(r, v, a)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func absolute(_ *render, v any) (any, error) {
	if i, ok := integer(v); ok && i != math.MinInt64 {
		return max(i, -i), nil
	}
	switch v := v.(type) {
	case float64:
		return math.Abs(v), nil
	case Undefined:
		return nil, v.err()
	}
	return nil, fmt.Errorf("bad operand type for abs: %q", kind(v))
}

// soft is the text of a value for a filter of text.
func (r *render) soft(v any) (string, error) {
	s, err := r.str(v)
	if err != nil {
		return "", err
	}
	if _, ok := v.(markup); ok {
		return "", errors.New("a filter of text that is marked safe is not supported")
	}
	return s, r.spendBytes(len(s))
}

func textFilter(f func(string) (string, error)) method {
	return alone(func(r *render, v any) (any, error) {
		s, err := r.soft(v)
		if err != nil {
			return nil, err
		}
		out, err := f(s)
		return out, err
	})
}

// titleFilter begins every word with a capital. A word begins behind whitespace, a hyphen or an opening bracket.
func titleFilter(s string) (string, error) {
	var b strings.Builder
	begins := true
	for _, c := range s {
		if begins {
			b.WriteRune(unicode.ToUpper(c))
		} else {
			b.WriteRune(unicode.ToLower(c))
		}
		begins = isSpace(c) || strings.ContainsRune("-({[<", c)
	}
	return b.String(), simpleCase(s)
}

func trim(r *render, v any, a arguments) (any, error) {
	s, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	p, err := a.bind("chars")
	if err != nil {
		return nil, err
	}
	if !given(p[0]) {
		p = nil
	}
	return stringMethods["strip"](r, s, arguments{values: p})
}

func stringFilter(r *render, v any) (any, error) {
	if _, ok := v.(markup); ok {
		return v, nil
	}
	s, err := r.str(v)
	return s, err
}

func safe(r *render, v any) (any, error) {
	s, err := r.str(v)
	return markup(s), err
}

func escape(r *render, v any) (any, error) {
	if _, ok := v.(markup); ok {
		return v, nil
	}
	s, err := r.soft(v)
	return markup(escaped(s)), errors.Join(err, r.spendBytes(6*len(s)))
}

func indent(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("width", "first", "blank")
	if err != nil {
		return nil, err
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("a value of type %s is indented", kind(v))
	}
	width := "    "
	if n, ok := integer(p[0]); ok && n <= 64 {
		width = strings.Repeat(" ", int(max(0, n)))
	} else if t, ok := p[0].(string); ok && len(t) <= 64 {
		width = t
	} else if given(p[0]) {
		return nil, errors.New("an indentation that is no text or number up to 64")
	}
	first, blank := isTrue(p[1]), isTrue(p[2])
	all := lines(s+"\n", false)
	if err := r.spendBytes(len(s) + len(width)*len(all)); err != nil {
		return nil, err
	}
	for i := range all {
		if i > 0 && (blank || all[i] != "") || i == 0 && first {
			all[i] = width + all[i]
		}
	}
	return strings.Join(all, "\n"), nil
}

func replace(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("old", "new", "count")
	if err != nil {
		return nil, err
	}
	if !given(p[0]) || !given(p[1]) {
		return nil, errors.New("replace takes an old and a new text")
	}
	var texts [3]string
	for i, part := range []any{v, p[0], p[1]} {
		if texts[i], err = r.str(part); err != nil {
			return nil, err
		}
	}
	limit := int64(-1)
	if given(p[2]) && p[2] != nil {
		var ok bool
		if limit, ok = integer(p[2]); !ok {
			return nil, fmt.Errorf("%q object cannot be interpreted as an integer", kind(p[2]))
		}
	}
	return r.replaced(texts[0], texts[1], texts[2], limit)
}

func wordcount(r *render, v any) (any, error) {
	s, err := r.soft(v)
	return int64(len(strings.FieldsFunc(s, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsNumber(c) }))), err
}

func center(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("width")
	if err != nil {
		return nil, err
	}
	if !given(p[0]) {
		p[0] = int64(80)
	}
	s, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	return stringMethods["center"](r, s, arguments{values: p})
}

func formatFilter(r *render, v any, a arguments) (any, error) {
	if len(a.named) > 0 {
		return nil, errors.New("format with names is not supported")
	}
	s, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	return r.percent(s, tuple(a.values...))
}

func defaultFilter(_ *render, v any, a arguments) (any, error) {
	p, err := a.bind("default_value", "boolean")
	if err != nil {
		return nil, err
	}
	if _, ok := v.(Undefined); ok || isTrue(p[1]) && !truth(v) {
		if !given(p[0]) {
			return "", nil
		}
		return p[0], nil
	}
	return v, nil
}

func length(r *render, v any) (any, error) {
	n, ok := sizeOf(v)
	if !ok {
		return nil, fmt.Errorf("object of type %q has no len()", kind(v))
	}
	if s, isText := text(v); isText {
		return n, r.spendBytes(len(s))
	}
	return n, nil
}

// sizeOf is Python's len.
func sizeOf(v any) (int64, bool) {
	switch v := v.(type) {
	case *List:
		return int64(len(v.items)), true
	case *Dict:
		return int64(len(v.keys)), true
	case *loopState:
		return int64(len(v.items)), true
	case Undefined:
		return 0, true
	}
	s, ok := text(v)
	return int64(utf8.RuneCountInString(s)), ok
}
