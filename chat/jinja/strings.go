// Methods of strings.

package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stringMethods pay for the text that they read and make.
var stringMethods = map[string]method{
	"strip":        trimMethod(strings.TrimFunc),
	"lstrip":       trimMethod(strings.TrimLeftFunc),
	"rstrip":       trimMethod(strings.TrimRightFunc),
	"upper":        plainMethod(upper),
	"lower":        plainMethod(lower),
	"title":        plainMethod(titled),
	"capitalize":   plainMethod(capitalized),
	"isdigit":      testMethod(unicode.IsDigit),
	"isdecimal":    testMethod(unicode.IsDigit),
	"isnumeric":    testMethod(unicode.IsNumber),
	"isalpha":      testMethod(unicode.IsLetter),
	"isalnum":      testMethod(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
	"isspace":      testMethod(isSpace),
	"isupper":      caseMethod(unicode.IsUpper),
	"islower":      caseMethod(unicode.IsLower),
	"startswith":   affixMethod(strings.HasPrefix),
	"endswith":     affixMethod(strings.HasSuffix),
	"removeprefix": cutMethod(strings.TrimPrefix),
	"removesuffix": cutMethod(strings.TrimSuffix),
	"split":        splitMethod(false),
	"rsplit":       splitMethod(true),
	"splitlines":   splitlines,
	"partition":    partitionMethod(strings.Index),
	"rpartition":   partitionMethod(strings.LastIndex),
	"find":         findMethod(strings.Index, false),
	"rfind":        findMethod(strings.LastIndex, false),
	"index":        findMethod(strings.Index, true),
	"rindex":       findMethod(strings.LastIndex, true),
	"count":        textMethod(1, 1, func(_ *render, s string, part []string) (any, error) { return int64(strings.Count(s, part[0])), nil }),
	"replace":      replaceMethod,
	"join":         joinMethod,
	"format":       formatMethod,
	"zfill":        fillMethod(zfill),
	"center":       padMethod(func(pad, width int) int { return pad/2 + pad&width&1 }),
	"ljust":        padMethod(func(int, int) int { return 0 }),
	"rjust":        padMethod(func(pad, _ int) int { return pad }),
}

// own returns the text of the object, which must be no markup: what methods make of that is not supported.
func (r *render) own(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, r.spendBytes(len(s))
	}
	return "", errors.New("a method of text that is marked safe is not supported")
}

// texts wants between least and most arguments, all of them strings.
func (a arguments) texts(least, most int) ([]string, error) {
	if len(a.named) > 0 || len(a.values) < least || len(a.values) > most {
		return nil, fmt.Errorf("%d arguments; want %d to %d", len(a.values)+len(a.named), least, most)
	}
	out := make([]string, len(a.values))
	for i, v := range a.values {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("an argument of type %s; want a str", kind(v))
		}
		out[i] = s
	}
	return out, nil
}

// textMethod is a method that takes between least and most strings.
func textMethod(least, most int, f func(r *render, s string, args []string) (any, error)) method {
	return func(r *render, v any, a arguments) (any, error) {
		s, err := r.own(v)
		if err != nil {
			return nil, err
		}
		args, err := a.texts(least, most)
		if err != nil {
			return nil, err
		}
		return f(r, s, args)
	}
}

func trimMethod(trim func(string, func(rune) bool) string) method {
	return func(r *render, v any, a arguments) (any, error) {
		s, err := r.own(v)
		if err != nil {
			return nil, err
		}
		if len(a.values) == 1 && a.values[0] == nil {
			a.values = nil
		}
		chars, err := a.texts(0, 1)
		if err != nil {
			return nil, err
		}
		if len(chars) == 0 {
			return trim(s, isSpace), nil
		}
		if err := r.spendBytes(len(s) / 8 * len(chars[0])); err != nil {
			return nil, err
		}
		return trim(s, func(c rune) bool { return strings.ContainsRune(chars[0], c) }), nil
	}
}

func plainMethod(f func(string) (string, error)) method {
	return textMethod(0, 0, func(_ *render, s string, _ []string) (any, error) {
		out, err := f(s)
		return out, err
	})
}

func affixMethod(has func(s, affix string) bool) method {
	one := textMethod(1, 1, func(_ *render, s string, affix []string) (any, error) { return has(s, affix[0]), nil })
	return func(r *render, v any, a arguments) (any, error) {
		if len(a.values) != 1 || len(a.named) > 0 {
			return one(r, v, a)
		}
		l, ok := a.values[0].(*List)
		if !ok || l.form != isTuple {
			return one(r, v, a)
		}
		s, err := r.own(v)
		if err != nil {
			return nil, err
		}
		affixes, err := arguments{values: l.items}.texts(0, len(l.items))
		return slices.ContainsFunc(affixes, func(affix string) bool { return has(s, affix) }), err
	}
}

func cutMethod(cut func(s, affix string) string) method {
	return textMethod(1, 1, func(_ *render, s string, affix []string) (any, error) { return cut(s, affix[0]), nil })
}

func findMethod(index func(s, part string) int, must bool) method {
	return textMethod(1, 1, func(_ *render, s string, part []string) (any, error) {
		at := index(s, part[0])
		if at < 0 && must {
			return nil, errors.New("substring not found")
		}
		return int64(min(at, 0)) + int64(utf8.RuneCountInString(s[:max(0, at)])), nil
	})
}

func replaceMethod(r *render, v any, a arguments) (any, error) {
	s, err := r.own(v)
	if err != nil {
		return nil, err
	}
	limit := int64(-1)
	if n, ok := a.take("count"); ok {
		a.values = append(a.values[:len(a.values):len(a.values)], n)
	}
	if len(a.values) == 3 {
		var ok bool
		if limit, ok = integer(a.values[2]); !ok {
			return nil, fmt.Errorf("%q object cannot be interpreted as an integer", kind(a.values[2]))
		}
		a.values = a.values[:2]
	}
	p, err := a.texts(2, 2)
	if err != nil {
		return nil, err
	}
	return r.replaced(s, p[0], p[1], limit)
}

func (r *render) replaced(s, old, new string, limit int64) (any, error) {
	n := strings.Count(s, old)
	if limit >= 0 {
		n = int(min(int64(n), limit))
	}
	if len(new) > 0 && n > r.units/len(new) {
		return nil, errBudget
	}
	if err := r.spendBytes(len(s) + n*len(new)); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, new, n), nil
}

func joinMethod(r *render, v any, a arguments) (any, error) {
	s, err := r.own(v)
	if err != nil {
		return nil, err
	}
	p, err := a.exactly(1)
	if err != nil {
		return nil, err
	}
	items, err := r.iterate(p[0])
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if _, ok := item.(string); !ok {
			return nil, fmt.Errorf("sequence item: expected str instance, %s found", kind(item))
		}
	}
	return r.join(items, s)
}

// join pays for what it makes.
func (r *render) join(items []any, separator string) (any, error) {
	var b strings.Builder
	for i, item := range items {
		s, err := r.str(item)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(s)
		if err := r.spendBytes(len(s) + len(separator)); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

func fillMethod(f func(s string, n int) string) method {
	return func(r *render, v any, a arguments) (any, error) {
		s, err := r.own(v)
		if err != nil {
			return nil, err
		}
		p, err := a.exactly(1)
		if err != nil {
			return nil, err
		}
		n, ok := integer(p[0])
		if !ok || n > maxTemplate {
			return nil, fmt.Errorf("a width of type %s, or above %d", kind(p[0]), maxTemplate)
		}
		if err := r.spendBytes(int(max(0, n))); err != nil {
			return nil, err
		}
		return f(s, int(n)), nil
	}
}

func zfill(s string, n int) string {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	return sign + strings.Repeat("0", max(0, n-utf8.RuneCountInString(s)-len(sign))) + s
}

// padMethod pads to a width. left says how much of the padding goes in front.
func padMethod(left func(pad, width int) int) method {
	return func(r *render, v any, a arguments) (any, error) {
		fill := " "
		if len(a.values) == 2 {
			var ok bool
			if fill, ok = a.values[1].(string); !ok || utf8.RuneCountInString(fill) != 1 {
				return nil, errors.New("the fill character must be exactly one character long")
			}
			a.values = a.values[:1]
		}
		return fillMethod(func(s string, width int) string {
			pad := max(0, width-utf8.RuneCountInString(s))
			before := left(pad, width)
			return strings.Repeat(fill, before) + s + strings.Repeat(fill, pad-before)
		})(r, v, a)
	}
}
