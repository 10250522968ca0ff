package metrics

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, é 漢 🙂":   "plain text, é 漢 🙂",
		"\x1b[2J\x1b]0;x\a":   `\x1b[2J\x1b]0;x\x07`,
		"a\nb\tc\rd":          `a\nb\tc\x0dd`,
		"\u009b31m":           `\u009b31m`, // the one-rune form of ESC [
		"\u202etxt\u2066":     `\u202etxt\u2066`,
		"zero\u200bwidth":     `zero\u200bwidth`,
		"\xff\xc3(":           `\xff\xc3(`,
		"\x7f":                `\x7f`,
		"line\u2028separator": `line\u2028separator`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFitAndWrapCountCells(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字漢", 4, "漢…"}, {"漢字", 4, "漢字"}, {"abc", 0, ""}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := fit(c.in, c.width); got != c.want {
			t.Errorf("fit %q to %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := strings.Join(wrap("one two three", 7), "|"); got != "one two|three" {
		t.Errorf("wrap: %q", got)
	}
	if got := strings.Join(wrap("abcdefgh", 3), "|"); got != "abc|def|gh" {
		t.Errorf("wrap without blanks: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"\x1b[2J", "\u202e", "\xff", "漢字", "a b c", "🙂\u200d🙂", "0蒬0蒬0"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = width & 63
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q became %q", s, got)
		}
		for _, r := range got {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x1b {
				t.Fatalf("%q still holds %U", s, r)
			}
		}
		if n := columns(fit(got, width)); n > width {
			t.Fatalf("%q takes %d cells of %d", got, n, width)
		}
		if width > 1 {
			for _, l := range wrap(got, width) {
				if columns(l) > width {
					t.Fatalf("%q wrapped at %d gives %q", got, width, l)
				}
			}
		}
	})
}
