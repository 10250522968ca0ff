// Starlark, for machines where nothing keeps Python apart. The interpreter runs in a process of its own, so that limits on
// memory and time hold: this program starts itself again, and Child takes over.

package sandbox

import (
	"fmt"
	"io"
	"os"
	"strings"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const starlarkChild = "MOLT_STARLARK_CHILD"

// maxSteps bounds a Starlark program whatever the clock says: it then ends in the same place everywhere.
const maxSteps = 50_000_000

// Child must be called first in main: in a process that a Box started, it runs the program and exits.
func Child() {
	if os.Getenv(starlarkChild) == "" {
		return
	}
	source, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = interpret(string(source))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// crashed is the exit code of a Go program whose runtime gave up.
const crashed = 2

// crash says in a sentence what such a program says in a screenful. At a limit on memory the runtime ends in several ways, with
// a fault among them.
func crash(said string) string {
	line, _, _ := strings.Cut(said, "\n")
	switch {
	case strings.HasPrefix(line, "SIGXCPU"):
		return "out of processor time"
	case strings.HasPrefix(line, "panic: "):
		return "the interpreter failed: " + line
	}
	return "out of memory"
}

func interpret(source string) error {
	thread := &starlark.Thread{Name: "program", Print: func(_ *starlark.Thread, text string) { fmt.Println(text) }}
	thread.SetMaxExecutionSteps(maxSteps)
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	_, err := starlark.ExecFileOptions(options, thread, "program", source, starlark.StringDict{"math": math.Module})
	if e, ok := err.(*starlark.EvalError); ok {
		return fmt.Errorf("%s", e.Backtrace())
	}
	return err
}
