// Folders that are wholly there or not at all: they are filled under a temporary name beside the target, every file and
// folder is synced, then the folder is renamed. What interrupts this at any point leaves the target as it was.

package weights

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molt/internal/atomicfile"
)

// disk is what writing asks of the file system, so that tests can let the n-th call fail.
type disk interface {
	Mkdir(path string) error
	Create(path string) (diskFile, error) // path must not exist
	Rename(from, to string) error         // to must not exist
	Remove(path string) error             // an empty folder
	RemoveAll(path string) error          // also when nothing is there
	SyncDir(path string) error
}

type diskFile interface {
	io.Writer
	Sync() error
	Close() error
}

type osDisk struct{}

func (osDisk) Mkdir(path string) error      { return os.Mkdir(path, 0o777) }
func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(path string) error     { return os.Remove(path) }
func (osDisk) RemoveAll(path string) error  { return os.RemoveAll(path) }
func (osDisk) SyncDir(path string) error    { return atomicfile.SyncDir(path) }
func (osDisk) Create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
}

const partialSuffix = ".partial" // of folders that are being written or removed

// partialName is where dir is filled: beside it, so that a rename suffices. A leftover of a killed process is replaced.
func partialName(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+partialSuffix)
}

func isPartial(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, partialSuffix)
}

// writeDir makes the folder dir from what fill writes, and a manifest of it. dir must not exist or be empty.
func writeDir(d disk, dir string, step int64, fill func(*draft) error) (m Manifest, err error) {
	dir = filepath.Clean(dir)
	if err := requireEmpty(dir); err != nil {
		return m, err
	}
	tmp := partialName(dir)
	if err := errors.Join(d.RemoveAll(tmp), d.Mkdir(tmp)); err != nil {
		return m, fmt.Errorf("make %s: %w", tmp, cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.RemoveAll(tmp))
		}
	}()
	w := &draft{disk: d, dir: tmp, manifest: Manifest{Format: manifestFormat, Step: step}}
	if err := fill(w); err != nil {
		return m, err
	}
	if err := w.seal(); err != nil {
		return m, err
	}
	return w.manifest, publish(d, tmp, dir)
}

// requireEmpty refuses a target that holds anything.
func requireEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cause(err)
	case len(entries) > 0:
		return fmt.Errorf("the folder is not empty (it holds %s); choose another one or empty it", entries[0].Name())
	}
	return nil
}

// publish gives a filled folder its name.
func publish(d disk, tmp, dir string) error {
	if err := d.SyncDir(tmp); err != nil {
		return fmt.Errorf("sync %s: %w", tmp, cause(err))
	}
	if err := d.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", dir, cause(err))
	}
	if err := d.Rename(tmp, dir); err != nil {
		return fmt.Errorf("rename to %s: %w", dir, linkCause(err))
	}
	if err := d.SyncDir(filepath.Dir(dir)); err != nil {
		return fmt.Errorf("sync %s: %w", filepath.Dir(dir), cause(err))
	}
	return nil
}

func linkCause(err error) error {
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// draft is a folder that is being filled.
type draft struct {
	disk     disk
	dir      string
	manifest Manifest
}

// file writes one file and notes its digest in the manifest.
func (w *draft) file(name string, write func(io.Writer) error) error {
	digest, err := w.put(name, write)
	if err != nil {
		return err
	}
	w.manifest.Files = append(w.manifest.Files, digest)
	return nil
}

// bytes writes data unless it is nil.
func (w *draft) bytes(name string, data []byte) error {
	if data == nil {
		return nil
	}
	return w.file(name, func(to io.Writer) error { _, err := to.Write(data); return err })
}

// folder writes files into a folder inside; without files there is none.
func (w *draft) folder(name string, files []Text) error {
	if len(files) == 0 {
		return nil
	}
	path := filepath.Join(w.dir, name)
	if err := w.disk.Mkdir(path); err != nil {
		return fmt.Errorf("make %s: %w", path, cause(err))
	}
	for _, f := range files {
		if err := w.bytes(name+"/"+f.Name, f.Data); err != nil {
			return err
		}
	}
	if err := w.disk.SyncDir(path); err != nil {
		return fmt.Errorf("sync %s: %w", path, cause(err))
	}
	return nil
}

// tensors writes a safetensors file and notes the digests of its tensors.
func (w *draft) tensors(name string, tensors []Tensor) error {
	return w.file(name, func(to io.Writer) (err error) {
		w.manifest.Tensors, err = writeTensors(to, tensors)
		w.manifest.Fingerprint = combine(w.manifest.Tensors)
		return err
	})
}

// seal writes the manifest.
func (w *draft) seal() error {
	data, err := w.manifest.marshal()
	if err != nil {
		return err
	}
	_, err = w.put(manifestName, func(to io.Writer) error { _, err := to.Write(data); return err })
	return err
}

func (w *draft) put(name string, write func(io.Writer) error) (d FileDigest, err error) {
	path := filepath.Join(w.dir, name)
	f, err := w.disk.Create(path)
	if err != nil {
		return d, fmt.Errorf("create %s: %w", path, cause(err))
	}
	hash, count := sha256.New(), new(counter)
	buf := bufio.NewWriterSize(f, 1<<16)
	err = write(io.MultiWriter(buf, hash, count))
	if err == nil {
		err = errors.Join(buf.Flush(), f.Sync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return d, fmt.Errorf("write %s: %w", path, cause(err))
	}
	return FileDigest{name, int64(*count), sum(hash)}, nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
