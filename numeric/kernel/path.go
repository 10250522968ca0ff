package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Path is a way to compute the operators. All give the same bits.
const (
	PathPlain  = "plain"
	PathAVX2   = "avx2"
	PathAVX512 = "avx512"
)

// The paths in the order of pathNames.
const (
	plain = iota
	avx2
	avx512
)

var pathNames = [...]string{PathPlain, PathAVX2, PathAVX512}

// active is the path in use: the fastest that this machine can run, unless MOLT_KERNEL names another.
var active = choose(os.Getenv("MOLT_KERNEL"), Paths())

// choose returns the index of the path asked for, the last of the possible ones when none is.
func choose(asked string, possible []string) int {
	if asked == "" {
		return len(possible) - 1
	}
	if !slices.Contains(possible, asked) {
		panic(fmt.Sprintf("kernel: MOLT_KERNEL=%s: this machine can run %s", asked, strings.Join(possible, ", ")))
	}
	return slices.Index(pathNames[:], asked)
}

// Path names the path in use.
func Path() string { return pathNames[active] }

// Paths lists the paths that this machine can run, slowest first.
func Paths() []string { return pathNames[:fastest()+1] }

// SetPath switches to another path, for a test or a benchmark, and returns the function that switches back. It panics when
// this machine cannot run it. No operator may be running.
func SetPath(path string) (restore func()) {
	old := active
	active = choose(path, Paths())
	return func() { active = old }
}
