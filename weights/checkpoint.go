// Training checkpoints. A folder of checkpoints holds one folder for each, written atomically and complete with a
// manifest. What is read is verified first; what is damaged is passed over with a warning, never deleted in its favour.

package weights

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"molt/internal/atomicfile"
)

const (
	tensorsName = "tensors.safetensors"
	stateName   = "state.json"
	maxState    = 1 << 30 // bytes
)

// ErrNoCheckpoint says that a folder holds no checkpoint at all, damaged ones included: training may start afresh.
var ErrNoCheckpoint = errors.New("no checkpoint")

// Checkpoint is what a run needs to continue.
type Checkpoint struct {
	Step    int64    // optimizer steps done
	Tensors []Tensor // weights and optimizer moments, under names of the caller's choice; finite
	State   []byte   // JSON, opaque here
}

// WriteCheckpoint writes c as the folder name inside dir, which is made if it is missing. It is there completely or not
// at all. A valid checkpoint of this name is an error; a damaged one is set aside under a new name.
func WriteCheckpoint(dir, name string, c Checkpoint) (Manifest, error) {
	if err := errors.Join(os.MkdirAll(dir, 0o777), atomicfile.SyncDir(filepath.Dir(dir))); err != nil {
		return Manifest{}, fmt.Errorf("weights: write checkpoint %s: %w", filepath.Join(dir, name), cause(err))
	}
	return writeCheckpoint(osDisk{}, dir, name, c)
}

func writeCheckpoint(d disk, dir, name string, c Checkpoint) (Manifest, error) {
	path := filepath.Join(dir, name)
	m, err := c.write(d, dir, name)
	if err != nil {
		return Manifest{}, fmt.Errorf("weights: write checkpoint %s: %w", path, err)
	}
	return m, nil
}

func (c Checkpoint) write(d disk, dir, name string) (Manifest, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, damagedSuffix) {
		return Manifest{}, fmt.Errorf("%q is no name for a checkpoint", name)
	}
	if !jsontext.Value(c.State).IsValid() {
		return Manifest{}, errors.New("state is not JSON")
	}
	if c.Step < 0 {
		return Manifest{}, fmt.Errorf("step %d is negative", c.Step)
	}
	path := filepath.Join(dir, name)
	if err := makeRoom(d, path); err != nil {
		return Manifest{}, err
	}
	return writeDir(d, path, c.Step, func(w *draft) error {
		return errors.Join(w.tensors(tensorsName, c.Tensors), w.bytes(stateName, c.State))
	})
}

const damagedSuffix = ".damaged"

// makeRoom sets a damaged checkpoint of the same name aside: after a resume from an older one, its step comes again.
func makeRoom(d disk, path string) error {
	if err := requireEmpty(path); err == nil {
		return nil
	}
	saved, err := OpenCheckpoint(path)
	if err == nil {
		return errors.Join(errors.New("a valid checkpoint of this name exists"), saved.Close())
	}
	if !Damaged(err) {
		return err
	}
	aside := path + damagedSuffix
	if err := d.RemoveAll(aside); err != nil {
		return fmt.Errorf("remove %s: %w", aside, cause(err))
	}
	if err := d.Rename(path, aside); err != nil {
		return fmt.Errorf("set the damaged checkpoint aside: %w", linkCause(err))
	}
	return nil
}

// Saved is an open checkpoint whose every byte has been verified.
type Saved struct {
	Name     string
	Path     string
	State    []byte // JSON
	Manifest Manifest
	*File    // the tensors
}

// Step is the number of optimizer steps that had been done.
func (s *Saved) Step() int64 { return s.Manifest.Step }

// OpenCheckpoint opens and verifies the checkpoint at path. The caller closes it.
func OpenCheckpoint(path string) (*Saved, error) {
	s, err := openCheckpoint(path)
	if err != nil {
		return nil, fmt.Errorf("weights: read checkpoint %s: %w", path, err)
	}
	return s, nil
}

func openCheckpoint(path string) (*Saved, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%s is missing", manifestName)
	}
	if err := checkListing(root, m); err != nil {
		return nil, err
	}
	s := &Saved{Name: filepath.Base(path), Path: path, Manifest: *m}
	if s.State, err = readSmall(root, stateName, maxState); err != nil {
		return nil, err
	}
	if err := m.verify(stateName, s.State); err != nil {
		return nil, err
	}
	if s.File, err = openIn(root, tensorsName); err != nil {
		return nil, err
	}
	if err := s.File.verify(m); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkListing makes sure that the folder holds the files of a checkpoint, all of them in the manifest, and nothing else.
func checkListing(root *os.Root, m *Manifest) error {
	want := []string{manifestName, stateName, tensorsName}
	listed := []string{manifestName}
	for _, f := range m.Files {
		listed = append(listed, f.Name)
	}
	slices.Sort(listed)
	if !slices.Equal(listed, want) {
		return fmt.Errorf("%s lists %q, which are not the files of a checkpoint", manifestName, listed)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return cause(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			return fmt.Errorf("%s does not belong to the checkpoint", e.Name())
		}
	}
	return nil
}

// Damaged reports whether a checkpoint that cannot be opened is to blame itself. When the process may not read it, or has
// run out of something, the checkpoint may be sound and must not be passed over.
func Damaged(err error) bool {
	return !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ENOMEM)
}

// Latest opens the valid checkpoint of the highest step in dir. Damaged ones that are newer are passed over, each with a
// warning. ErrNoCheckpoint means that there is none; when all are damaged the error says so instead.
func Latest(dir string) (s *Saved, warnings []string, err error) {
	stored, err := list(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("weights: find checkpoint in %s: %w", dir, err)
	}
	for _, c := range stored {
		s, err := OpenCheckpoint(c.path)
		if err == nil {
			return s, warnings, nil
		}
		if !Damaged(err) {
			return nil, warnings, err
		}
		warnings = append(warnings, fmt.Sprintf("checkpoint passed over: %v", err))
	}
	if len(warnings) > 0 {
		return nil, warnings, fmt.Errorf("weights: find checkpoint in %s: none of %d is valid; the newest: %s", dir, len(warnings), warnings[0])
	}
	return nil, nil, fmt.Errorf("weights: find checkpoint in %s: %w", dir, ErrNoCheckpoint)
}
