//go:build !amd64

package kernel

// pause tells the processor that the caller is polling.
func pause() {}
