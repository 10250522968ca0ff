// One safetensors file, open for reading. The data is mapped, not copied, where the system can; values are checked when
// they are read.

package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// File is an open safetensors file whose header has been checked. Reading is safe for concurrent use; Close is not.
type File struct {
	name    string // for errors
	bytes   []byte // the whole file
	unmap   func() error
	layout  layout
	indices map[string]int // tensor → index in layout.tensors
}

// Open opens and checks the safetensors file at path.
func Open(path string) (*File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("weights: open %s: %w", path, cause(err))
	}
	defer root.Close()
	f, err := openIn(root, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("weights: open %s: %w", path, err)
	}
	return f, nil
}

// openIn opens a file of a folder. Links that lead out of the folder are not followed.
func openIn(root *os.Root, name string) (*File, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	data, unmap, err := mapFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	out := &File{name: name, bytes: data, unmap: unmap, indices: make(map[string]int)}
	if err := guard(func() (err error) { out.layout, err = parse(data); return err }); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), unmap())
	}
	for i, p := range out.layout.tensors {
		out.indices[p.name] = i
	}
	return out, nil
}

// openRegular opens a file for reading; a pipe or device would block or never end. Of the links that lead out of the
// folder, those of the Hugging Face cache are followed.
func openRegular(root *os.Root, name string) (*os.File, error) {
	if blob, ok := blobOf(root, name); ok {
		blobs, err := os.OpenRoot(root.Name() + "/../../blobs")
		if err != nil {
			return nil, fmt.Errorf("the cache has lost its blobs: %w", cause(err))
		}
		defer blobs.Close()
		return openRegular(blobs, blob)
	}
	info, err := root.Stat(name)
	if err != nil {
		return nil, outside(cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, outside(cause(err))
	}
	return f, nil
}

// blobOf returns what a file of the Hugging Face cache stands for. A snapshot is a folder of links to ../../blobs/SUM
// (../../../blobs/SUM from a folder inside), and those may be links in turn to ../../blobs/SU/SUM, which all models share.
// Nothing else counts.
func blobOf(root *os.Root, name string) (blob string, ok bool) {
	target, err := root.Readlink(name)
	if err != nil {
		return "", false
	}
	blob, ok = strings.CutPrefix(filepath.ToSlash(target), strings.Repeat("../", 2+strings.Count(name, "/"))+"blobs/")
	sum := blob
	if prefix, rest, shared := strings.Cut(blob, "/"); shared {
		ok, sum = ok && len(prefix) == 2 && strings.HasPrefix(rest, prefix), rest
	}
	return blob, ok && (len(sum) == 40 || len(sum) == 64) && strings.Trim(sum, "0123456789abcdef") == ""
}

// outside adds the fix for a link that leaves the folder.
func outside(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w (links out of the folder are not followed; copy it with cp -rL)", err)
}

// cause drops the operation and path that the os package adds; our sentence has them already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// guard turns the fault of reading a mapped file that was cut in the meantime into an error.
func guard(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(interface{ Addr() uintptr })
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("the file changed while it was read (fault at %#x)", fault.Addr())
		}
	}()
	return read()
}

// Names lists the tensors in the order of their data.
func (f *File) Names() []string {
	names := make([]string, len(f.layout.tensors))
	for i, p := range f.layout.tensors {
		names[i] = p.name
	}
	return names
}

// Shape returns the shape of a tensor. The caller must not change it.
func (f *File) Shape(name string) (shape []int, ok bool) {
	i, ok := f.indices[name]
	if !ok {
		return nil, false
	}
	return f.layout.tensors[i].shape, true
}

// DType returns the type of a tensor's values in the file.
func (f *File) DType(name string) (dtype DType, ok bool) {
	i, ok := f.indices[name]
	if !ok {
		return "", false
	}
	return f.layout.tensors[i].dtype, true
}

// Read copies a tensor's values into dst, which must have its length. Types narrower than float32 are widened exactly;
// F64 and integers are rounded to nearest even. NaN and infinities are refused.
func (f *File) Read(name string, dst []float32) error {
	i, ok := f.indices[name]
	if !ok {
		return fmt.Errorf("weights: read %s: tensor %q is not in the file", f.name, name)
	}
	p := f.layout.tensors[i]
	if p.count != len(dst) {
		return fmt.Errorf("weights: read %s: tensor %q: holds %d values, not %d", f.name, name, p.count, len(dst))
	}
	err := guard(func() error { return Decode(dst, f.layout.data[p.from:p.to], p.dtype) })
	if err != nil {
		return fmt.Errorf("weights: read %s: tensor %q: %w", f.name, name, err)
	}
	header := len(f.bytes) - len(f.layout.data)
	release(f.bytes, header+int(p.from), header+int(p.to))
	if err := finite(name, dst); err != nil {
		return fmt.Errorf("weights: read %s: %w", f.name, err)
	}
	return nil
}

// Tensor reads a tensor into memory of its own.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.indices[name]
	if !ok {
		return Tensor{}, fmt.Errorf("weights: read %s: tensor %q is not in the file", f.name, name)
	}
	p := f.layout.tensors[i]
	t := Tensor{name, p.shape, make([]float32, p.count)}
	return t, f.Read(name, t.Data)
}

// Close gives the mapping back. Slices that Read filled stay valid.
func (f *File) Close() error {
	if err := f.unmap(); err != nil {
		return fmt.Errorf("weights: close %s: %w", f.name, err)
	}
	return nil
}
