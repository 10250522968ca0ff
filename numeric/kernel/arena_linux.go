package kernel

import (
	"fmt"
	"syscall"
	"unsafe"
)

// reserve maps zeroed private memory and asks for huge pages; a system without them serves small ones.
func reserve(floats int) []float32 {
	mem, err := syscall.Mmap(-1, 0, 4*floats, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("kernel: reserving %d MiB: %v", 4*floats>>20, err))
	}
	_ = syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem))), floats)
}

func unreserve(block []float32) {
	if err := syscall.Munmap(bytesOf(block)); err != nil {
		panic(fmt.Sprintf("kernel: releasing %d MiB: %v", 4*len(block)>>20, err))
	}
}
