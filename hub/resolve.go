// From a name to a folder. The hub is asked which commit a branch is at; what is already in the cache is used without it.

package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Model is a model on this machine.
type Model struct {
	Dir        string   // the folder with its files
	ID         string   // "org/name"; "" for a folder that was given as such
	Revision   string   // as asked for
	Commit     string   // 40 hex digits; "" for a plain folder
	Downloaded int64    // bytes
	Skipped    []string // files of the repository that were not fetched, and folders, which end in a slash; where the hub was asked
	Warning    string   // a sentence when the hub could not be asked and the cache had to do; "" otherwise
}

// Resolve finds the model called name. A folder of that name comes first.
func (c Config) Resolve(ctx context.Context, name string) (Model, error) {
	if isFolder(name) {
		return Model{Dir: name}, nil
	}
	if looksLikePath(name) {
		return Model{}, fmt.Errorf("hub: %s: there is no such folder", name)
	}
	n, err := ParseName(name)
	if err != nil {
		return Model{}, fmt.Errorf("%w (and there is no folder of that name)", err)
	}
	m, err := c.resolve(ctx, n)
	if err != nil {
		return Model{}, fmt.Errorf("hub: %s: %w", n, err)
	}
	return m, nil
}

// IsName reports whether name is meant for the hub: it has the form org/name, and neither it nor org is a folder here.
func IsName(name string) bool {
	if _, err := ParseName(name); err != nil || looksLikePath(name) {
		return false
	}
	org, _, slash := strings.Cut(name, "/")
	return slash && !isFolder(name) && !isFolder(org)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func looksLikePath(name string) bool {
	return name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~") ||
		strings.HasSuffix(name, "/") || strings.Contains(name, `\`)
}

func (c Config) resolve(ctx context.Context, n Name) (Model, error) {
	s := store{c.Cache, n}
	cached, missing := s.find(n.Revision)
	if missing == nil && (c.Offline || isCommit(n.Revision) && len(c.Also) == 0) {
		return cached, nil
	}
	if c.Offline {
		return Model{}, fmt.Errorf("is no folder here, is not in the cache (%w), and HF_HUB_OFFLINE forbids to download it; unset it, or give a folder", missing)
	}
	r := newRemote(c, n)
	list, err := r.list(ctx)
	if missing == nil && (errors.As(err, new(*unreachableError)) || errors.As(err, new(*busyError))) {
		cached.Warning = fmt.Sprintf("%s: the hub could not be asked for changes (%v); commit %s from the cache is used", n, err, cached.Commit)
		return cached, nil
	}
	if missing == nil && errors.As(err, new(*refusedError)) {
		return Model{}, fmt.Errorf("%w; HF_HUB_OFFLINE=1 uses the copy in the cache", err)
	}
	if err != nil {
		return Model{}, err
	}
	done, err := r.download(ctx, s, list)
	if err != nil {
		return Model{}, err
	}
	if err := s.setRef(list.commit); err != nil {
		return Model{}, err
	}
	return Model{Dir: s.snapshot(list.commit), ID: n.ID, Revision: n.Revision, Commit: list.commit, Downloaded: done, Skipped: list.skipped(s)}, nil
}
