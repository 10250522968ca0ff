package child

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	if diff := cmp.Diff([]string{"ls", "-l"}, Limits{}.Wrap([]string{"ls", "-l"})); diff != "" {
		t.Error(diff)
	}
	argv := Limits{Memory: 1 << 30, CPU: 7, FileSize: 1 << 20, OpenFiles: 64}.Wrap([]string{"sh", "-c", "ulimit -v; ulimit -t; ulimit -f; ulimit -n; echo \"$0\"", "a b"})
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil || string(out) != "1048576\n7\n2048\n64\na b\n" {
		t.Errorf("%v %q", err, out)
	}
}

func TestTail(t *testing.T) {
	tail := Tail{Keep: 10}
	for range 100 {
		tail.Write([]byte("abc"))
	}
	kept, dropped := tail.Bytes()
	if string(kept) != "cabcabcabc" || dropped != 290 {
		t.Errorf("%q after %d", kept, dropped)
	}
	tail = Tail{Keep: 10}
	tail.Write(bytes.Repeat([]byte("x"), 5))
	if kept, dropped := tail.Bytes(); string(kept) != "xxxxx" || dropped != 0 {
		t.Errorf("%q after %d", kept, dropped)
	}
}

// What a program leaves running when it ends by itself ends too.
func TestEndGroup(t *testing.T) {
	command := exec.Command("/bin/sh", "-c", "sleep 60 & exit 3")
	command.SysProcAttr = OwnGroup()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	EndGroup(command.Process.Pid)
	if n, err := out.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d %v", n, err)
	}
	if err := command.Wait(); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
}

// What a program leaves behind in its group ends with the group.
func TestKillGroup(t *testing.T) {
	command := exec.Command("/bin/sh", "-c", "sleep 60 & echo started; wait")
	command.SysProcAttr = OwnGroup()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 8)
	if _, err := out.Read(line); err != nil || !strings.HasPrefix(string(line), "started") {
		t.Fatal(err, string(line))
	}
	if err := KillGroup(command.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(line); n != 0 || err == nil { // the pipe closes when the last of the group has ended
		t.Errorf("%d %v", n, err)
	}
	if err := command.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}
