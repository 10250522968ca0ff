// Methods that cut strings.

package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// splitMethod is split and rsplit: (sep=None, maxsplit=-1).
func splitMethod(fromRight bool) method {
	return func(r *render, v any, a arguments) (any, error) {
		s, err := r.own(v)
		if err != nil {
			return nil, err
		}
		p, err := a.bind("sep", "maxsplit")
		if err != nil {
			return nil, err
		}
		limit := int64(-1)
		if given(p[1]) {
			var ok bool
			if limit, ok = integer(p[1]); !ok {
				return nil, fmt.Errorf("%q object cannot be interpreted as an integer", kind(p[1]))
			}
		}
		var parts []string
		if !given(p[0]) || p[0] == nil {
			parts = splitSpace(s, limit, fromRight)
		} else if sep, ok := p[0].(string); !ok || sep == "" {
			return nil, fmt.Errorf("a separator of type %s that is empty or no text", kind(p[0]))
		} else {
			parts = splitText(s, sep, limit, fromRight)
		}
		items := make([]any, len(parts))
		for i, part := range parts {
			items[i] = part
		}
		return NewList(items), r.spendItems(len(items))
	}
}

func splitText(s, sep string, limit int64, fromRight bool) []string {
	parts := strings.Split(s, sep)
	extra := len(parts) - 1 - int(min(limit, int64(len(parts))))
	if limit < 0 || extra <= 0 {
		return parts
	}
	if fromRight {
		return append([]string{strings.Join(parts[:extra+1], sep)}, parts[extra+1:]...)
	}
	return append(parts[:limit:limit], strings.Join(parts[limit:], sep))
}

func splitSpace(s string, limit int64, fromRight bool) []string {
	parts := strings.FieldsFunc(s, isSpace)
	if limit < 0 || int64(len(parts)) <= limit {
		return parts
	}
	if fromRight {
		var out []string
		for rest := strings.TrimRightFunc(s, isSpace); rest != ""; limit-- {
			at := strings.LastIndexFunc(rest, isSpace)
			if limit == 0 || at < 0 {
				return append([]string{rest}, out...)
			}
			_, n := utf8.DecodeRuneInString(rest[at:])
			out = append([]string{rest[at+n:]}, out...)
			rest = strings.TrimRightFunc(rest[:at], isSpace)
		}
		return out
	}
	var out []string
	for rest := strings.TrimLeftFunc(s, isSpace); rest != ""; limit-- {
		at := strings.IndexFunc(rest, isSpace)
		if limit == 0 || at < 0 {
			return append(out, rest)
		}
		out = append(out, rest[:at])
		rest = strings.TrimLeftFunc(rest[at:], isSpace)
	}
	return out
}

func splitlines(r *render, v any, a arguments) (any, error) {
	s, err := r.own(v)
	if err != nil {
		return nil, err
	}
	p, err := a.bind("keepends")
	if err != nil {
		return nil, err
	}
	var items []any
	for _, line := range lines(s, isTrue(p[0])) {
		items = append(items, line)
	}
	return NewList(items), r.spendItems(len(items))
}

// lines splits where Python sees line ends.
func lines(s string, keep bool) []string {
	var out []string
	for s != "" {
		at := strings.IndexFunc(s, func(c rune) bool {
			return c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e || c == 0x85 || c == 0x2028 || c == 0x2029
		})
		if at < 0 {
			return append(out, s)
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		if strings.HasPrefix(s[at:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, s[:at+n])
		} else {
			out = append(out, s[:at])
		}
		s = s[at+n:]
	}
	return out
}

func partitionMethod(index func(s, sep string) int) method {
	return textMethod(1, 1, func(_ *render, s string, sep []string) (any, error) {
		if sep[0] == "" {
			return nil, errors.New("want a separator that is not empty")
		}
		at := index(s, sep[0])
		switch {
		case at >= 0:
			return tuple(s[:at], sep[0], s[at+len(sep[0]):]), nil
		case index("aa", "a") == 0:
			return tuple(s, "", ""), nil
		}
		return tuple("", "", s), nil
	})
}
