// Starlark, for machines where nothing keeps Python apart. The interpreter runs in a process of its own, so that limits on
// memory and time hold: this program starts itself again, and Child takes over.

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// starlarkChild names the variable that makes this program an interpreter. It holds the bytes that values may take.
const starlarkChild = "MOLT_STARLARK_CHILD"

// maxSteps bounds a Starlark program whatever the clock says: it then ends in the same place everywhere.
const maxSteps = 50_000_000

// armed says that Child was called: this program can be started as an interpreter, and will not begin anew instead.
var armed atomic.Bool

// Child must be called first in main: in a process that a Box started, it runs the program and exits.
func Child() {
	armed.Store(true)
	told := os.Getenv(starlarkChild)
	if told == "" {
		return
	}
	memory, err := strconv.ParseUint(told, 10, 64)
	var source []byte
	if err == nil {
		source, err = io.ReadAll(os.Stdin)
	}
	if err == nil {
		err = interpret(string(source), memory)
	}
	switch {
	case errors.Is(err, errMemory):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(crashed)
	case err != nil:
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

var errMemory = errors.New("out of memory")

// often is how many steps a program takes between two looks at its memory.
const often = 1 << 10

// interpret runs a program whose values may take so many bytes. The limit of the process stands behind this one: a single step
// can make a text of 1 GiB, which is seen after it.
func interpret(source string, memory uint64) error {
	gauge := newGauge(memory)
	thread := &starlark.Thread{Name: "program"}
	thread.Print = func(_ *starlark.Thread, text string) {
		if !gauge.over() {
			fmt.Println(text)
		}
	}
	thread.OnMaxSteps = func(t *starlark.Thread) {
		switch {
		case t.Steps >= maxSteps:
			t.Cancel("too many steps")
		case gauge.over():
			t.Cancel(errMemory.Error())
		}
		t.SetMaxExecutionSteps(t.Steps + often)
	}
	thread.SetMaxExecutionSteps(often)
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	values, err := starlark.ExecFileOptions(options, thread, "program", source, starlark.StringDict{"math": math.Module})
	over := gauge.over()
	runtime.KeepAlive(values)
	if over {
		return errMemory
	}
	if e, ok := err.(*starlark.EvalError); ok {
		return fmt.Errorf("%s", e.Backtrace())
	}
	return err
}

// gauge says whether the values of this process have ever taken more than they may.
type gauge struct {
	most   uint64
	sample []metrics.Sample
	passed bool
}

func newGauge(most uint64) *gauge {
	return &gauge{most: most, sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

func (g *gauge) over() bool {
	if !g.passed && g.objects() > g.most {
		runtime.GC() // some may be values no longer
		g.passed = g.objects() > g.most
	}
	return g.passed
}

func (g *gauge) objects() uint64 {
	metrics.Read(g.sample)
	return g.sample[0].Value.Uint64()
}
