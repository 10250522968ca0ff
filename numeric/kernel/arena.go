package kernel

import (
	"fmt"
	"unsafe"
)

// Arena hands out float32 slices from memory outside Go's heap: 64-byte aligned, on huge pages where the system has
// them, never scanned or moved by the collector. Memory is reserved as address space and costs nothing until touched.
//
// An Arena belongs to one goroutine at a time. Its slices are valid until Reset or Free; the collector does not know
// that they are in use, so whoever holds them must keep to that.
type Arena struct {
	blocks [][]float32 // the last one is being filled; earlier ones are full
	used   int         // floats of the last block handed out
	before int         // floats of the earlier blocks
}

const (
	alignFloats = 64 / 4
	minBlock    = 1 << 20 // floats: 4 MiB, two huge pages
)

// NewArena reserves room for the given number of floats. The arena grows when more are asked for.
func NewArena(floats int) *Arena {
	a := &Arena{}
	a.grow(floats)
	return a
}

// Floats returns n floats with capacity n. Their contents are zero only the first time the memory is handed out.
func (a *Arena) Floats(n int) []float32 {
	if n < 0 {
		panic(fmt.Sprintf("kernel: Arena.Floats: %d floats", n))
	}
	padded := roundUp(n, alignFloats)
	if len(a.blocks) == 0 || len(a.blocks[len(a.blocks)-1])-a.used < padded {
		a.grow(padded)
	}
	block := a.blocks[len(a.blocks)-1]
	s := block[a.used : a.used+n : a.used+n]
	a.used += padded
	return s
}

// Zeros returns n floats that are zero.
func (a *Arena) Zeros(n int) []float32 {
	s := a.Floats(n)
	clear(s)
	return s
}

// Reset takes back every slice. An arena that had grown keeps one block large enough for all of it, so that a repeated
// sequence of requests settles without further growth.
func (a *Arena) Reset() {
	if len(a.blocks) > 1 {
		total := a.before + len(a.blocks[len(a.blocks)-1])
		a.Free()
		a.grow(total)
	}
	a.used = 0
}

// Free returns the memory to the system. The arena is empty and usable afterwards.
func (a *Arena) Free() {
	for _, b := range a.blocks {
		unreserve(b)
	}
	*a = Arena{}
}

// Bytes is the size of the reserved memory.
func (a *Arena) Bytes() int {
	if len(a.blocks) == 0 {
		return 0
	}
	return 4 * (a.before + len(a.blocks[len(a.blocks)-1]))
}

func (a *Arena) grow(floats int) {
	if len(a.blocks) > 0 {
		a.before += len(a.blocks[len(a.blocks)-1])
	}
	a.blocks = append(a.blocks, reserve(roundUp(max(floats, 1), minBlock)))
	a.used = 0
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// bytesOf views floats as the bytes they occupy.
func bytesOf(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}
