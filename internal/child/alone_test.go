package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func alone(t *testing.T, script string, empty ...string) (string, int) {
	t.Helper()
	if err := Apart(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	argv := Alone([]string{"/bin/sh", "-c", script}, "", empty...)
	command := exec.Command(argv[0], argv[1:]...)
	command.SysProcAttr = OwnGroup()
	var out strings.Builder
	command.Stdout, command.Stdin = &out, strings.NewReader("said\n")
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), command.ProcessState.ExitCode()
}

func TestAlone(t *testing.T) {
	folder := t.TempDir()
	os.WriteFile(filepath.Join(folder, "label"), nil, 0o600)
	t.Setenv("SHOWN", "x")
	for _, test := range []struct {
		script, out string
		code        int
	}{
		{"exit 75", "", 75},
		{"kill -9 $$", "", 137},
		{"cat; echo $SHOWN; pwd", "said\nx\n" + cwd(t) + "\n", 0},
		{"ls " + folder, "label\n", 0},
		{fmt.Sprintf("test -e /proc/%d/environ || kill -0 %d", os.Getpid(), os.Getpid()), "", 1},
	} {
		if out, code := alone(t, test.script); out != test.out || code != test.code {
			t.Errorf("%s: %q, exit code %d; want %q, %d", test.script, out, code, test.out, test.code)
		}
	}
	if out, _ := alone(t, "ls "+folder, folder); out != "" {
		t.Errorf("a folder that should be empty holds %q", out)
	}
	own := filepath.Join(folder, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	argv := Alone([]string{"/bin/sh", "-c", "touch own/x; ls . own"}, own, folder)
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil || string(out) != ".:\nown\n\nown:\nx\n" {
		t.Errorf("%v %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(own, "x")); err != nil {
		t.Error(err)
	}
}

func cwd(t *testing.T) string {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// What a program detaches in every way it can has ended when it has.
func TestNothingOutlives(t *testing.T) {
	beat := filepath.Join(t.TempDir(), "beat")
	alone(t, `setsid sh -c '(trap "" TERM HUP INT; while :; do echo x >>`+beat+`; done) >/dev/null 2>&1 </dev/null &' & while ! test -s `+beat+`; do :; done`)
	before, err := os.Stat(beat)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if after, err := os.Stat(beat); err != nil || after.Size() != before.Size() {
		t.Errorf("a descendant goes on: %d bytes, then %d", before.Size(), after.Size())
	}
}

func TestCode(t *testing.T) {
	if got := Code(137); got != "exit code 137, as after signal: killed" {
		t.Error(got)
	}
	if got := Code(3); got != "exit code 3" {
		t.Error(got)
	}
}

// Only what is old, named as ours and not held is swept.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	at := func(name string, age time.Duration) string {
		path := filepath.Join(os.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(path, "work"), 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		return path
	}
	held, err := MakeFolder("agent")
	if err != nil {
		t.Fatal(err)
	}
	at(filepath.Base(held.Path), time.Hour)
	dead := at("molt-agent-1-2", time.Hour)
	kept := []string{held.Path, at("molt-agent-3-4", 0), at("molt-agent-5", time.Hour), at("other-agent-1-2", time.Hour)}
	Sweep()
	if _, err := os.Stat(dead); err == nil {
		t.Error("a folder that nobody holds was left")
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := held.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(held.Path); err == nil {
		t.Error("a folder that was removed is there")
	}
}
