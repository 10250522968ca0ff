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
var active = first()

func first() int {
	if path := os.Getenv("MOLT_KERNEL"); path != "" {
		return find(path)
	}
	return fastest()
}

func find(path string) int {
	i := slices.Index(Paths(), path)
	if i < 0 {
		panic(fmt.Sprintf("kernel: no path %q on this machine, which can run %s (MOLT_KERNEL)", path, strings.Join(Paths(), ", ")))
	}
	return i
}

// Path names the path in use.
func Path() string { return pathNames[active] }

// Paths lists the paths that this machine can run, slowest first.
func Paths() []string { return slices.Clone(pathNames[:fastest()+1]) }

// SetPath switches to another path, for a test or a benchmark, and returns the function that switches back. It panics when
// this machine cannot run it. No operator may be running.
func SetPath(path string) (restore func()) {
	old := active
	active = find(path)
	return func() { active = old }
}
