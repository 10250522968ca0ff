// What agents must not find: where graders read labels, and the folders of other rollouts. Each is a folder that the agents of
// this process find empty while they run, but for their own.

package command

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"molt/internal/child"
)

// labels holds a file for each grader that runs, rollouts a folder for each rollout. They are there while a rollout is that
// needs them.
var (
	labels   = shared{kind: "labels"}
	rollouts = shared{kind: "agents"}
)

type shared struct {
	kind   string
	mu     sync.Mutex
	users  int           // guarded by mu
	folder *child.Folder // guarded by mu; nil without users
	path   string        // guarded by mu; the folder's, without links
}

// enter says where the folder is. It stays there until as many have left as entered.
func (s *shared) enter() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == nil {
		folder, err := child.MakeFolder(s.kind)
		if err != nil {
			return "", err
		}
		if s.path, err = filepath.EvalSymlinks(folder.Path); err != nil {
			return "", errors.Join(err, folder.Remove())
		}
		s.folder = folder
	}
	s.users++
	return s.path, nil
}

func (s *shared) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	folder := s.folder
	s.folder = nil
	return folder.Remove()
}

// write makes a grader's file, in a folder whose name nobody could know before, and what removes it.
func write(labels string, told []byte) (path string, remove func() error, err error) {
	folder, err := os.MkdirTemp(labels, "grade-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(folder) }
	path = filepath.Join(folder, "grade.json")
	if err := os.WriteFile(path, told, 0o600); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return path, remove, nil
}
