package python

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	files "molt/python"
)

// An agent file plays in a Python of the user's own.
func TestRehearse(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	modules := t.TempDir()
	if err := os.CopyFS(modules, files.Files); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices": [{"message": {"content": "4"}}]}`)
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"an Env":       {[]string{"testdata/guess.py", "--prompt", "Guess.", "--label", "hare", "--reply", "CAT", "--reply", "HARE"}, []string{"[shown]\nGuess.go>\n[said]\nCAT\n[turn 0] reward 0.25", "closed", "[end] reward 1.25\n"}},
		"an exception": {[]string{"testdata/guess.py", "--label", "reset fails", "--reply", "x"}, []string{"ValueError: no such word"}},
		"no reply":     {[]string{"testdata/guess.py"}, []string{"an Env needs a --reply"}},
		"a ChatAgent":  {[]string{"testdata/talk.py", "--prompt", "2+2?", "--label", "4", "--base-url", server.URL + "/v1", "--api-key", "k"}, []string{"[end] reward 1\n"}},
		"no address":   {[]string{"testdata/talk.py"}, []string{"a ChatAgent needs --base-url"}},
	} {
		command := exec.Command("python3", append([]string{"-m", "molt.rehearse"}, test.args...)...)
		command.Env = append(os.Environ(), "PYTHONPATH="+modules)
		out, _ := command.CombinedOutput() // what it says tells how it went
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: nothing says %q in\n%s", name, want, out)
			}
		}
	}
}
