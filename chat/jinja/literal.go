// String literals.

package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape decodes what stands between the quotes, as Python does. A backslash that escapes nothing stays.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte("ntrabfv\\'\"", s[i]); at >= 0 {
			b.WriteByte("\n\t\r\a\b\f\v\\'\""[at])
			continue
		}
		switch c := s[i]; {
		case c == '\n':
		case c >= '0' && c <= '7':
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			b.WriteRune(rune(v))
			i += n - 1
		case c == 'x' || c == 'u' || c == 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+1+n > len(s) {
				return "", fmt.Errorf("a string with a broken escape")
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || !utf8.ValidRune(rune(v)) {
				return "", fmt.Errorf("a string with a broken escape")
			}
			b.WriteRune(rune(v))
			i += n
		case c == 'N':
			return "", fmt.Errorf("a string that names a character is not supported")
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
