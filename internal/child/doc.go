// Package child bounds programs that we start and do not trust.
//
//	does            gives a program a process group and limits, keeps the end of what it says, ends all it started
//	takes           an argument list, limits
//	gives           what os/exec needs
//	must not know   why the program runs
//	start reading   child.go
package child

import (
	"fmt"
	"strings"
	"sync"
)

// Limits bound one program and what it starts, each process for itself. Zero leaves a limit as it is.
type Limits struct {
	Memory    int64 // bytes of address space
	Data      int64 // bytes of memory that can be written
	CPU       int64 // seconds of processor time
	FileSize  int64 // bytes that one file may grow to
	OpenFiles int64
	Processes int64 // of the user, on the whole machine
}

// Wrap is the argument list that runs argv under the limits. It needs a POSIX shell when there are any.
func (l Limits) Wrap(argv []string) []string {
	var set strings.Builder
	limit := func(flag string, value, unit int64) {
		if value > 0 {
			fmt.Fprintf(&set, "ulimit -%s %d && ", flag, max(1, value/unit))
		}
	}
	limit("v", l.Memory, 1024)
	limit("d", l.Data, 1024)
	limit("t", l.CPU, 1)
	limit("f", l.FileSize, 512)
	limit("n", l.OpenFiles, 1)
	limit("u", l.Processes, 1)
	if set.Len() == 0 {
		return argv
	}
	return append([]string{"/bin/sh", "-c", set.String() + `exec "$@"`, "sh"}, argv...)
}

// Tail keeps the last bytes that were written to it. It is safe for use by several goroutines.
type Tail struct {
	Keep int // bytes

	mu      sync.Mutex
	kept    []byte // guarded by mu
	dropped int64  // guarded by mu; bytes
}

// Write implements io.Writer and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - t.Keep; n > 0 && len(t.kept) > 2*t.Keep {
		t.kept = append(t.kept[:0], t.kept[n:]...)
		t.dropped += int64(n)
	}
	return len(p), nil
}

// Bytes is a copy of what was kept, and how much came before it.
func (t *Tail) Bytes() (kept []byte, dropped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := max(0, len(t.kept)-t.Keep)
	return append([]byte(nil), t.kept[n:]...), t.dropped + int64(n)
}
