// The cache of one model, laid out as Python's huggingface_hub does:
//
//	models--org--name/refs/REVISION          the commit that a branch or tag is at
//	models--org--name/blobs/CHECKSUM         the files, each once: SHA-256 of large ones, git's SHA-1 of others
//	models--org--name/snapshots/COMMIT/FILE  a link to ../../blobs/CHECKSUM, or the file itself where links are impossible;
//	                                         folders of the repository are folders here
//	.locks/models--org--name/CHECKSUM.lock   held while a blob is written

package hub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molt/internal/atomicfile"
)

type store struct {
	cache string
	name  Name
}

func (s store) path(parts ...string) string {
	return filepath.Join(append([]string{s.cache, s.name.folder()}, parts...)...)
}

func (s store) snapshot(commit string) string { return s.path("snapshots", commit) }
func (s store) blob(sum string) string        { return s.path("blobs", sum) }
func (s store) lock(sum string) string {
	return filepath.Join(s.cache, ".locks", s.name.folder(), sum+".lock")
}

// find returns the complete copy of a revision, or why there is none.
func (s store) find(revision string) (Model, error) {
	commit := revision
	if !isCommit(revision) {
		data, err := os.ReadFile(s.path("refs", filepath.FromSlash(revision)))
		if errors.Is(err, fs.ErrNotExist) {
			return Model{}, fmt.Errorf("%s has no %s", s.path(), revision)
		}
		if err != nil {
			return Model{}, err
		}
		commit = strings.TrimSpace(string(data[:min(len(data), 100)]))
		if !isCommit(commit) {
			return Model{}, fmt.Errorf("%s does not hold a commit", s.path("refs", revision))
		}
	}
	dir := s.snapshot(commit)
	if err := complete(dir); err != nil {
		return Model{}, err
	}
	return Model{Dir: dir, ID: s.name.ID, Revision: revision, Commit: commit}, nil
}

// complete reports what a snapshot lacks.
func complete(dir string) error {
	have := func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
	if !have(configName) {
		return fmt.Errorf("%s has no %s", dir, configName)
	}
	if have(singleName) {
		return nil
	}
	if !have(indexName) {
		return fmt.Errorf("%s has no %s", dir, singleName)
	}
	index, err := readAtMost(filepath.Join(dir, indexName), maxIndex)
	if err != nil {
		return err
	}
	shards, err := shardsOf(index)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, indexName), err)
	}
	for _, shard := range shards {
		if !have(shard) {
			return fmt.Errorf("%s has no %s", dir, shard)
		}
	}
	return nil
}

// setRef notes what a branch or tag is at.
func (s store) setRef(commit string) error {
	if isCommit(s.name.Revision) {
		return nil
	}
	path := s.path("refs", filepath.FromSlash(s.name.Revision))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(commit))
}

// link puts a blob into a snapshot under its name.
func (s store) link(commit, name, sum string, copies bool) error {
	path := filepath.Join(s.snapshot(commit), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	target := filepath.Join(strings.Repeat("../", 2+strings.Count(name, "/"))+"blobs", sum)
	if have, err := os.Readlink(path); err == nil && have == target && !copies {
		return nil
	}
	temporary := path + "." + rand.Text() + ".tmp" // nobody else's: others may link the same file now
	if copies || os.Symlink(target, temporary) != nil {
		temporary = s.blob(sum) // the file itself moves in
	}
	return os.Rename(temporary, path)
}

func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
