package kernel

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestPathsRunHere(t *testing.T) {
	if err := Refused(); err != nil {
		t.Fatalf("refused: %v; NewPool: %s", err, panicText(func() { NewPool(1) }))
	}
	t.Logf("this machine can run %v and uses %s", Paths(), Path())
	if Paths()[0] != PathPlain || !slices.Contains(Paths(), Path()) {
		t.Errorf("paths %v, in use %s", Paths(), Path())
	}
	restore := SetPath(PathPlain)
	if Path() != PathPlain {
		t.Errorf("after SetPath the path is %s", Path())
	}
	restore()
	if text := panicText(func() { SetPath("sse9") }); !strings.Contains(text, `"sse9"`) || !strings.Contains(text, "plain") {
		t.Errorf("SetPath(sse9): %q", text)
	}
}

// The variable is read once at the start, so each case is a process of its own: this test, run again.
func TestPathVariable(t *testing.T) {
	run := func(value string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPathsRunHere$", "-test.v")
		cmd.Env = append(os.Environ(), "MOLT_KERNEL="+value)
		out, err := cmd.CombinedOutput()
		if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
			t.Skipf("cannot run this binary again: %v", err)
		}
		return string(out)
	}
	for _, path := range Paths() {
		if out := run(path); !strings.Contains(out, "uses "+path) {
			t.Errorf("MOLT_KERNEL=%s: %s", path, out)
		}
	}
	const sentence = `kernel: no path "sse9" on this machine, which can run plain`
	if out := run("sse9"); !strings.Contains(out, "refused: "+sentence) || !strings.Contains(out, "NewPool: "+sentence) {
		t.Errorf("MOLT_KERNEL=sse9: %s", out)
	}
}
