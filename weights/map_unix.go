//go:build unix

package weights

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file read-only. The mapping outlives the descriptor.
func mapFile(f *os.File) (data []byte, unmap func() error, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 { // cannot be mapped
		return nil, func() error { return nil }, nil
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

// release lets the system drop the pages that lie in data[from:to]; reading them again costs a page fault. So a model that
// is copied tensor by tensor is not in memory twice.
func release(data []byte, from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, to/page*page // the mapping begins at a page
	if to > from {
		_ = unix.Madvise(data[from:to], unix.MADV_DONTNEED) // only advice
	}
}
