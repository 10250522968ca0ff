// The workspace is a copy, so that rollouts do not see each other's changes.

package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of a workspace that is copied for every rollout.
const (
	maxFiles = 100_000
	maxBytes = 4 << 30
)

// copyFolder copies files, folders and links that stay inside. Anything else is refused.
func copyFolder(to, from string) error {
	files, bytes := 0, int64(0)
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files, bytes = files+1, bytes+info.Size()
		if files > maxFiles || bytes > maxBytes {
			return fmt.Errorf("workspace %s: more than %d files or %d bytes; name a smaller folder", from, maxFiles, int64(maxBytes))
		}
		return copyEntry(source, filepath.Join(to, name), name, info)
	})
}

func copyEntry(source *os.Root, to, name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case name == ".":
		return nil
	case mode.IsDir():
		return os.Mkdir(to, mode.Perm()|0o700)
	case mode.IsRegular():
		return copyFile(source, to, name, mode.Perm()|0o600)
	case mode&fs.ModeSymlink != 0:
		if _, err := source.Stat(name); err != nil {
			return fmt.Errorf("workspace: the link %s leads outside or nowhere: %w", name, err)
		}
		target, err := source.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return fmt.Errorf("workspace: %s is neither file, folder nor link", name)
}

func copyFile(source *os.Root, to, name string, perm fs.FileMode) error {
	in, err := source.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
