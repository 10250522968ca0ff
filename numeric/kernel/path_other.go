//go:build !amd64

package kernel

// fastest is the last path that this machine can run.
func fastest() int { return plain }
