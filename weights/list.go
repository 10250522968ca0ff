// What lies in a folder of checkpoints.

package weights

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stored is a checkpoint folder, valid or not.
type stored struct {
	name  string
	path  string
	step  int64 // -1 when the manifest cannot be read
	bytes int64
}

// list returns the checkpoints in dir, the newest first. Folders that are being written or were set aside are not
// listed. A missing dir holds none.
func list(dir string) ([]stored, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cause(err)
	}
	var out []stored
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), damagedSuffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		out = append(out, stored{e.Name(), path, stepOf(path), size(path)})
	}
	slices.SortFunc(out, func(a, b stored) int {
		return cmp.Or(cmp.Compare(b.step, a.step), strings.Compare(b.name, a.name))
	})
	return out, nil
}

// stepOf reads the step from the manifest, or from a name such as step-12 when the manifest is damaged.
func stepOf(path string) int64 {
	if root, err := os.OpenRoot(path); err == nil {
		defer root.Close()
		if m, err := readManifest(root); err == nil && m != nil {
			return m.Step
		}
	}
	var step int64
	if _, err := fmt.Sscanf(filepath.Base(path), "step-%d", &step); err == nil && step >= 0 {
		return step
	}
	return -1
}

// size is the number of bytes in a folder; what cannot be read counts nothing.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
