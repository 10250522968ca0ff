//go:build !unix

package weights

import (
	"io"
	"os"
)

// mapFile reads a whole file into memory.
func mapFile(f *os.File) (data []byte, unmap func() error, err error) {
	data, err = io.ReadAll(f)
	return data, func() error { return nil }, err
}

// release does nothing: the file is in memory until it is closed.
func release([]byte, int, int) {}
