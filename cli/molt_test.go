// The command line as a user meets it: this test binary, started again, is molt.

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// moltVar makes this test binary behave as molt.
const moltVar = "MOLT_TEST_IS_MOLT"

func TestMain(m *testing.M) {
	if os.Getenv(moltVar) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// said is what a command left: its exit code, its data and its talk.
type said struct {
	code   int
	stdout string
	stderr string
}

// command prepares a molt command in the folder dir, with nothing on standard input.
func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "molt" // as it is typed
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), moltVar+"=1")
	return cmd
}

// molt runs a command to its end.
func molt(t *testing.T, dir string, args ...string) said {
	t.Helper()
	return finish(t, command(dir, args...))
}

// finish runs a prepared command to its end.
func finish(t *testing.T, cmd *exec.Cmd) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return said{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want checks the exit code and that each text was said, on standard output or standard error.
func (s said) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("exit code %d, want %d", s.code, code)
	}
	for _, text := range texts {
		if !strings.Contains(s.stdout, text) && !strings.Contains(s.stderr, text) {
			t.Errorf("nobody said %q", text)
		}
	}
	if t.Failed() {
		t.Fatalf("standard output:\n%s\nstandard error:\n%s", s.stdout, s.stderr)
	}
}

// write makes a file in dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
