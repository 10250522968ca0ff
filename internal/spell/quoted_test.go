package spell

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

// TestQuotedSurvivesAShell asks a shell.
func TestQuotedSurvivesAShell(t *testing.T) {
	for _, word := range []string{"", "plain", "runs/one.2", "--a.b=1,2", "two words", "it's", `"quoted"`, "$HOME `id` $(id)", "a;b&c|d>e<f", "~", "*?[x]{y}", "#", "!x", `back\slash`, "żółw", "-n"} {
		out, err := exec.Command("sh", "-c", "printf %s "+"'<'"+Quoted(word)+"'>'").Output()
		if err != nil || string(out) != "<"+word+">" {
			t.Errorf("%q is written %s, which a shell reads as %q, %v", word, Quoted(word), out, err)
		}
	}
	if got := Quoted("runs/one-2"); got != "runs/one-2" {
		t.Errorf("a plain word is written %s", got)
	}
}

// TestQuotedSurvivesAShellThatKnowsEscapes: nothing that steers a terminal is left in what is shown.
func TestQuotedSurvivesAShellThatKnowsEscapes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, word := range []string{"two\nlines\n", "a\tb", "\x1b[2J\x1b]0;title\a", "it's\n\\n", "\xff\xfe1", "\u202egnp.exe", "\x7f9", "é\n", "\u0085", "\r\n7"} {
		quoted := Quoted(word)
		if strings.ContainsFunc(quoted, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is written %q", word, quoted)
		}
		out, err := exec.Command(bash, "-c", "printf %s "+"'<'"+quoted+"'>'").Output()
		if err != nil || string(out) != "<"+word+">" {
			t.Errorf("%q is written %s, which bash reads as %q, %v", word, quoted, out, err)
		}
	}
}
