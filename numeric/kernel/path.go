package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The paths that compute the operators. All give the same bits.
const (
	PathPlain  = "plain"
	PathAVX2   = "avx2"
	PathAVX512 = "avx512"
)

// path is the path in use: the fastest this machine can run, unless MOLT_KERNEL names another.
var path = choose(os.Getenv("MOLT_KERNEL"), Paths())

func choose(asked string, able []string) string {
	if asked == "" {
		return able[len(able)-1]
	}
	if !slices.Contains(able, asked) {
		panic(fmt.Sprintf("kernel: MOLT_KERNEL=%s: this machine can run %s", asked, strings.Join(able, ", ")))
	}
	return asked
}

// Path names the path in use.
func Path() string { return path }

// SetPath switches to another path, for a test or a benchmark, and returns the function that switches back. It panics when
// this machine cannot run it. No operator may be running.
func SetPath(p string) (restore func()) {
	old := path
	path = choose(p, Paths())
	return func() { path = old }
}
