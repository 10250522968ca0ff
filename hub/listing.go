// What a repository holds, as the hub lists it. Nothing in a list is believed.

package hub

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxFiles = 100_000 // in a list

// listing is what a repository holds at a commit.
type listing struct {
	commit  string
	files   map[string]remoteFile // by path
	folders []string              // that were not looked into, by path
	odd     []string              // quoted paths that could lead out of a folder; they are never fetched
}

// add takes over a line of the hub's list.
func (l *listing) add(e entry) error {
	if len(l.files)+len(l.folders)+len(l.odd) >= maxFiles {
		return fmt.Errorf("holds more than %d files and folders", maxFiles)
	}
	switch {
	case e.Type != "file" && e.Type != "directory":
		return nil
	case !safePath(e.Path):
		l.odd = append(l.odd, fmt.Sprintf("%.60q", e.Path))
		return nil
	case e.Type == "directory":
		l.folders = append(l.folders, e.Path)
		return nil
	}
	f := remoteFile{e.Path, e.Size, e.OID}
	if e.LFS != nil {
		f.bytes, f.sum = e.LFS.Size, e.LFS.OID
	}
	if f.bytes < 0 || len(f.sum) != 40 && len(f.sum) != 64 || !isHex(f.sum) {
		return fmt.Errorf("the hub describes %.60q with %d bytes and checksum %.80q, which cannot be", f.name, f.bytes, f.sum)
	}
	l.files[f.name] = f
	return nil
}

// safePath accepts what stays inside of a folder on every system.
func safePath(path string) bool {
	bad := func(r rune) bool { return r < ' ' || strings.ContainsRune(`\:*?"<>|`, r) || r == utf8.RuneError }
	if len(path) > 1000 || strings.ContainsFunc(path, bad) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || len(part) > 255 || part == "." || part == ".." || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return false
		}
	}
	return true
}

// remoteFile is a file on the hub.
type remoteFile struct {
	name  string // path in the repository
	bytes int64
	sum   string // SHA-256 (64 digits) of a large file, git's SHA-1 (40) of another
}

// matches reports whether name is the pattern, in which each * stands for any text.
func matches(pattern, name string) bool {
	first, rest, any := strings.Cut(pattern, "*")
	name, ok := strings.CutPrefix(name, first)
	if !ok || !any {
		return ok && name == ""
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, last)
}

// skipped lists what the snapshot lacks of the repository: files, and folders of which it has nothing.
func (l listing) skipped(s store) []string {
	out := slices.Clone(l.odd)
	for _, folder := range l.folders {
		out = append(out, folder+"/")
	}
	var lacking []string
	begun := make(map[string]bool) // folders of which there is something
	for name := range l.files {
		if size(filepath.Join(s.snapshot(l.commit), name)) < 0 {
			lacking = append(lacking, name)
		} else if top, _, inside := strings.Cut(name, "/"); inside {
			begun[top] = true
		}
	}
	for _, name := range lacking {
		if top, _, inside := strings.Cut(name, "/"); inside && !begun[top] {
			name = top + "/"
		}
		if name != ".gitattributes" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
