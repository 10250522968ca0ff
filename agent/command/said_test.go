package command

import (
	"strings"
	"testing"
)

// TestLastWords: what a program said last is told whole, however much it said before.
func TestLastWords(t *testing.T) {
	long := strings.Repeat("x", 190)
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "\n\n", ""},
		{"a line", "broken\n", "broken"},
		{"a traceback", "  File \"a.py\", line 3, in f\n    return g(h)\n           ^~~~\n\nValueError: no h\n", `File "a.py", line 3, in f | return g(h) | ValueError: no h`},
		{"six lines", "1\n2\n3\n4\n5\n6\n7\n", "2 | 3 | 4 | 5 | 6 | 7"},
		{"bytes", "first\n" + long + "\nlast\n", long + " | last"},
		{"more bytes", long + "\nsecond\nlast\n", "second | last"},
		{"a long last line", "first\n" + long + long + "\n", long + long},
	} {
		if got := lastWords(tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
