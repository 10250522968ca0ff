package chained

import (
	"encoding/json/v2"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"molt/internal/atomicfile"
)

// File is a file of records that is open only while it is written. It is safe for concurrent use; a nil File keeps nothing.
type File struct {
	path string

	mu     sync.Mutex // guards what follows
	chain  Chain
	err    error // the first that happened; later records are not written
	closed bool  // the file may be another's
}

// Create makes a file, which must not exist.
func Create(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), atomicfile.SyncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, err
	}
	return &File{path: path}, nil
}

// Open reads a file and goes on behind its last finished line. It reports how many bytes of an unfinished one it cut off.
func Open(path string, each func(record []byte) error) (f *File, cut int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	chain, size, err := Read(data, each)
	if err != nil {
		return nil, 0, err
	}
	f = &File{path: path, chain: chain}
	if size < len(data) {
		err = os.Truncate(path, int64(size))
	}
	return f, len(data) - size, err
}

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Write appends a record. With sync, it and all before it are on disk when Write returns. Err says what went wrong.
func (f *File) Write(record any, sync bool) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || f.closed {
		return
	}
	var body []byte
	if body, f.err = json.Marshal(record); f.err == nil {
		f.err = f.append(f.chain.add(body), sync)
	}
}

func (f *File) append(line []byte, sync bool) error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err = file.Write(line); err == nil && sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Sync puts on disk what was written before. Others may write meanwhile. Err says what went wrong.
func (f *File) Sync() {
	if f == nil {
		return
	}
	err := f.sync()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && !f.closed {
		f.err = err
	}
}

func (f *File) sync() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Err is what went wrong, if anything did.
func (f *File) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Seal is the end of what was written; the zero Seal of a nil File.
func (f *File) Seal() Seal {
	if f == nil {
		return Seal{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chain.Seal()
}

// Close ends the writing and reports what went wrong.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.err
}

// Remove closes the file and deletes it.
func (f *File) Remove() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.Close(), os.Remove(f.path))
}

// SetAside renames a damaged file to a name that is free, which it returns.
func SetAside(path string) (to string, err error) {
	to = path + ".damaged"
	for i := 2; ; i++ {
		if _, err := os.Lstat(to); err != nil {
			break
		}
		to = path + "." + strconv.Itoa(i) + ".damaged"
	}
	return to, os.Rename(path, to)
}
