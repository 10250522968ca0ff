package spell

import (
	"os/exec"
	"testing"
)

// TestQuotedSurvivesAShell asks a shell.
func TestQuotedSurvivesAShell(t *testing.T) {
	for _, word := range []string{"", "plain", "runs/one.2", "--a.b=1,2", "two words", "it's", `"quoted"`, "$HOME `id` $(id)", "a;b&c|d>e<f", "~", "*?[x]{y}", "#", "!x", `back\slash`, "tab\tand\nline", "żółw", "-n"} {
		out, err := exec.Command("sh", "-c", "printf %s "+"'<'"+Quoted(word)+"'>'").Output()
		if err != nil || string(out) != "<"+word+">" {
			t.Errorf("%q is written %s, which a shell reads as %q, %v", word, Quoted(word), out, err)
		}
	}
	if got := Quoted("runs/one-2"); got != "runs/one-2" {
		t.Errorf("a plain word is written %s", got)
	}
}
