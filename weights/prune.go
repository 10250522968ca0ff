// Deleting old checkpoints within a budget of number and bytes.

package weights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prune deletes the oldest checkpoints in dir until at most keep remain and they take at most maxBytes; 0 lifts either
// limit. It never deletes the newest valid checkpoint nor those named in protect. When the limits cannot be met without
// them, warning says so. Leftovers of interrupted writes and checkpoints that were set aside as damaged go first.
func Prune(dir string, keep int, maxBytes int64, protect ...string) (removed []string, warning string, err error) {
	return prune(osDisk{}, dir, keep, maxBytes, protect)
}

func prune(d disk, dir string, keep int, maxBytes int64, protect []string) (removed []string, warning string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("weights: prune %s: %w", dir, err)
		}
	}()
	if err := sweep(d, dir); err != nil {
		return nil, "", err
	}
	all, err := list(dir)
	if err != nil {
		return nil, "", err
	}
	newest, err := newestValid(all)
	if err != nil {
		return nil, "", err
	}
	protect = append(slices.Clone(protect), newest)
	total := int64(0)
	for _, c := range all {
		total += c.bytes
	}
	over := func() bool {
		return keep > 0 && len(all)-len(removed) > keep || maxBytes > 0 && total > maxBytes
	}
	for _, c := range slices.Backward(all) {
		if !over() {
			break
		}
		if slices.Contains(protect, c.name) {
			continue
		}
		if err := drop(d, c.path); err != nil {
			return removed, "", err
		}
		removed, total = append(removed, c.name), total-c.bytes
	}
	if over() {
		warning = fmt.Sprintf("checkpoints in %s: %d with %d bytes remain, over the limit of %d and %d bytes, because they are protected or the newest",
			dir, len(all)-len(removed), total, keep, maxBytes)
	}
	return removed, warning, nil
}

// newestValid verifies from the newest on; "" when none is valid.
func newestValid(all []stored) (string, error) {
	for _, c := range all {
		s, err := OpenCheckpoint(c.path)
		if err == nil {
			return c.name, s.Close()
		}
		if !Damaged(err) {
			return "", err
		}
	}
	return "", nil
}

// drop removes a folder in two steps, so that a kill in between leaves no half checkpoint under its name.
func drop(d disk, path string) error {
	partial := partialName(path)
	if err := d.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove %s: %w", partial, cause(err))
	}
	if err := d.Rename(path, partial); err != nil {
		return fmt.Errorf("remove %s: %w", path, linkCause(err))
	}
	if err := d.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove %s: %w", partial, cause(err))
	}
	return d.SyncDir(filepath.Dir(path))
}

// sweep removes what interrupted writes and damage have left.
func sweep(d disk, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cause(err)
	}
	for _, e := range entries {
		if !isPartial(e.Name()) && !strings.HasSuffix(e.Name(), damagedSuffix) {
			continue
		}
		if err := d.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove %s: %w", e.Name(), cause(err))
		}
	}
	return nil
}
