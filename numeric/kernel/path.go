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

// active is the path in use: the fastest that this machine can run, unless MOLT_KERNEL names another. refused says why what
// MOLT_KERNEL names is not in use.
var active, refused = first()

func first() (int, error) {
	path := os.Getenv("MOLT_KERNEL")
	if path == "" {
		return fastest(), nil
	}
	if i := slices.Index(Paths(), path); i >= 0 {
		return i, nil
	}
	return fastest(), noPath(path)
}

func noPath(path string) error {
	return fmt.Errorf("kernel: no path %q on this machine, which can run %s (MOLT_KERNEL)", path, strings.Join(Paths(), ", "))
}

// Refused is why the path that MOLT_KERNEL names is not in use; nil where it is, and where none is named. A program asks
// before it computes: NewPool panics otherwise.
func Refused() error { return refused }

func find(path string) int {
	i := slices.Index(Paths(), path)
	if i < 0 {
		panic(noPath(path).Error())
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
