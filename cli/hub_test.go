package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHub gives the user's Python the modules of the binary, and says what it said.
func TestHub(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no sh")
	}
	python := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\necho \"$@\"\nls \"${PYTHONPATH%%:*}/molt/hubs\"\n[ \"$3\" != fail ]\n"
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		out  string
		talk string
	}{
		{[]string{"verifiers", "--interpreter", python, "--", "words", "--size", "3"}, exitOK, "-m molt.hubs.verifiers words --size 3\n__init__.py\nreasoning_gym.py\nrows.py\nverifiers.py\n", ""},
		{[]string{"verifiers", "--interpreter", python, "--", "fail"}, exitUsage, "-m molt.hubs.verifiers fail", "the hub made no prompts"},
		{[]string{"rows", "--interpreter", python}, exitUsage, "", `no hub is called "rows"`},
		{[]string{"verifiers", "--interpreter", python + "3"}, exitResource, "", "Python cannot be started"},
	} {
		var out, talk bytes.Buffer
		code := Run(append([]string{"molt", "hub"}, c.args...), strings.NewReader(""), &out, &talk)
		if code != c.code || !strings.HasPrefix(out.String(), c.out) || !strings.Contains(talk.String(), c.talk) {
			t.Errorf("%v: %d, %q, %q", c.args, code, out.String(), talk.String())
		}
	}
}
