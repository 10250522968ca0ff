//go:build !amd64

package kernel

// Paths lists the paths that this machine can run, slowest first.
func Paths() []string { return []string{PathPlain} }
