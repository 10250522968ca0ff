package child

import (
	"fmt"
	"strings"
)

// Limits bound one program and what it starts, each process for itself. Zero leaves a limit as it is.
type Limits struct {
	Memory    int64 // bytes of address space
	Data      int64 // bytes of memory that can be written
	CPU       int64 // seconds of processor time
	FileSize  int64 // bytes that one file may grow to
	OpenFiles int64
	Processes int64 // of the user in its user namespace
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
	if l.Processes > 0 { // -u in bash, -p in dash
		fmt.Fprintf(&set, "{ ulimit -u %d 2>/dev/null || ulimit -p %d; } && ", l.Processes, l.Processes)
	}
	if set.Len() == 0 {
		return argv
	}
	return append([]string{"/bin/sh", "-c", set.String() + `exec "$@"`, "sh"}, argv...)
}
