package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRunsStarlark: a sandbox starts this program again, which must then be an interpreter and not molt.
func TestRunsStarlark(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = []string{moltVar + "=1", "MOLT_STARLARK_CHILD=268435456"}
	command.Stdin = strings.NewReader("print(6*7)")
	if out, err := command.CombinedOutput(); err != nil || string(out) != "42\n" {
		t.Errorf("%q, %v", out, err)
	}
}
