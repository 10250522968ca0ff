package child

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// Folder is a temporary folder that its owner keeps locked, so that a later process knows whether the owner still lives.
type Folder struct {
	Path string
	held *os.File
}

// MakeFolder makes one in the system's folder for temporary files. The kind names what it is for: lower-case letters.
func MakeFolder(kind string) (*Folder, error) {
	path, err := os.MkdirTemp("", fmt.Sprintf("molt-%s-%d-", kind, os.Getpid()))
	if err != nil {
		return nil, err
	}
	held, err := lock(path)
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	return &Folder{path, held}, nil
}

// Remove removes it and all that it holds. It may be called again.
func (f *Folder) Remove() error {
	defer f.held.Close()
	return os.RemoveAll(f.Path)
}

func lock(path string) (*os.File, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		folder.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return folder, nil
}

// young is how old a folder must be before it counts as left behind: its owner may not have locked it yet.
const young = time.Minute

var folderName = regexp.MustCompile(`^molt-[a-z]+-[0-9]+-[0-9]+$`)

// Sweep removes the folders that this user's processes left behind when they were killed. What it cannot remove stays.
func Sweep() {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.IsDir() || !folderName.MatchString(e.Name()) || time.Since(info.ModTime()) < young {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		if held, err := lock(path); err == nil {
			os.RemoveAll(path)
			held.Close()
		}
	}
}
