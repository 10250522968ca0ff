//go:build !linux

package kernel

import "unsafe"

// reserve takes the memory from Go's heap, which keeps it while the arena refers to it.
func reserve(floats int) []float32 {
	block := make([]float32, floats+alignFloats)
	off := -int(uintptr(unsafe.Pointer(unsafe.SliceData(block)))/4) & (alignFloats - 1)
	return block[off : off+floats : off+floats]
}

func unreserve([]float32) {}
