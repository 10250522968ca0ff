// Methods that change or test letters.

package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// simpleCase refuses characters whose other case is not one character, or depends on its neighbours.
func simpleCase(s string) error {
	for _, c := range s {
		if c < 0x80 {
			continue
		}
		switch {
		case c == 'ß' || c == 'İ' || c == 'Σ' || c == 'ŉ' || c == 'ǰ' || c == 'ΐ' || c == 'ΰ' || c == 'և',
			c >= 0x1E96 && c <= 0x1E9E, c >= 0x1F50 && c <= 0x1FFF, c >= 0xFB00 && c <= 0xFB17, c >= 0x1C4 && c <= 0x1F3:
			return fmt.Errorf("the other case of %q is not supported", c)
		}
	}
	return nil
}

func upper(s string) (string, error) { return strings.ToUpper(s), simpleCase(s) }
func lower(s string) (string, error) { return strings.ToLower(s), simpleCase(s) }

func capitalized(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:]), simpleCase(s)
}

// titled begins every run of letters with a capital.
func titled(s string) (string, error) {
	var b strings.Builder
	inside := false
	for _, c := range s {
		cased := unicode.IsUpper(c) || unicode.IsLower(c)
		switch {
		case cased && inside:
			b.WriteRune(unicode.ToLower(c))
		case cased:
			b.WriteRune(unicode.ToUpper(c))
		default:
			b.WriteRune(c)
		}
		inside = cased
	}
	return b.String(), simpleCase(s)
}

func testMethod(in func(rune) bool) method {
	return plainTest(func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !in(c) }) < 0
	})
}

func caseMethod(in func(rune) bool) method {
	return plainTest(func(s string) bool { return isCase(s, in) })
}

// isCase: there are letters with a case, and all have this one.
func isCase(s string, in func(rune) bool) bool {
	found := false
	for _, c := range s {
		if unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c) {
			if !in(c) {
				return false
			}
			found = true
		}
	}
	return found
}

func plainTest(f func(string) bool) method {
	return textMethod(0, 0, func(_ *render, s string, _ []string) (any, error) { return f(s), nil })
}
