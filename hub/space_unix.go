//go:build linux || darwin

package hub

import "golang.org/x/sys/unix"

// freeBytes is the space left for us where dir lies.
func freeBytes(dir string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
