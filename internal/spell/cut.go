package spell

import "unicode/utf8"

// Cut keeps at most n bytes of a text, whole runes of them, and marks what is missing.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
