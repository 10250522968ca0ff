// The format: magic and version, counts, metadata (key, type, value), tensor descriptions, then the data of the tensors,
// each at a multiple of the alignment. Nothing in it is believed: a count or length is compared with what is left of the
// file before anything is allocated, and every tensor must lie inside the file with no byte shared.

package gguf

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"molt/weights"
)

const (
	magic          = 0x46554747 // "GGUF"
	maxKeys        = 1 << 16
	maxTensors     = 1 << 18
	maxMetadata    = 1 << 30 // bytes, descriptions of the tensors included
	maxKeyBytes    = 1 << 16
	maxValues      = 1 << 24 // in arrays, where one that takes a byte of the file takes eight of memory
	maxDims        = 4
	maxDim         = 1 << 40
	maxAlignment   = 1 << 20 // bytes
	usualAlignment = 32
)

// File is an open GGUF file whose header has been checked. Reading is safe for concurrent use; Close is not.
type File struct {
	meta    metadata
	tensors []info
	index   map[string]int // tensor → index in tensors
	from    io.ReaderAt
	data    int64 // where the tensors begin
	close   func() error
}

// info describes a tensor.
type info struct {
	name   string
	kind   tensorType
	shape  []int // row-major: the slowest dimension first, other than in the file
	values int
	offset int64 // after File.data
	bytes  int64
}

// Open opens and checks the file at path.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("gguf: open %s: %w", path, errors.Join(err, file.Close()))
	}
	f, err := parse(file, stat.Size())
	if err != nil {
		return nil, fmt.Errorf("gguf: open %s: %w", path, errors.Join(err, file.Close()))
	}
	f.close = file.Close
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.close() }

// parse checks a file of size bytes. Its errors say what is wrong; the caller names the file.
func parse(file io.ReaderAt, size int64) (*File, error) {
	r := &reader{from: bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 1<<16), left: min(size, maxMetadata), size: size}
	tensors, keys, err := r.preamble()
	if err != nil {
		return nil, err
	}
	f := &File{from: file, index: make(map[string]int)}
	if f.meta, err = r.metadata(keys); err != nil {
		return nil, err
	}
	for range tensors {
		t, err := r.info()
		if err != nil {
			return nil, err
		}
		if _, twice := f.index[t.name]; twice {
			return nil, fmt.Errorf("tensor %.60q comes twice", t.name)
		}
		f.index[t.name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	alignment := f.meta.integer("general.alignment", usualAlignment)
	if f.meta.err != nil {
		return nil, f.meta.err
	}
	if alignment < 1 || alignment > maxAlignment || alignment&(alignment-1) != 0 {
		return nil, fmt.Errorf("general.alignment: %d must be a power of two", alignment)
	}
	f.data = (r.used() + alignment - 1) / alignment * alignment
	return f, f.checkPlaces(size, alignment)
}

// preamble reads what comes before the metadata.
func (r *reader) preamble() (tensors, keys uint64, err error) {
	if m := r.u32(); r.err != nil || m != magic {
		return 0, 0, errors.New("does not begin with GGUF; it is not a GGUF file")
	}
	version := r.u32()
	switch {
	case r.err != nil:
		return 0, 0, r.err
	case version == 0x02000000 || version == 0x03000000:
		return 0, 0, errors.New("is big-endian, which is not supported; convert it for a little-endian machine")
	case version != 2 && version != 3:
		return 0, 0, fmt.Errorf("version %d is not supported (2 and 3 are)", version)
	}
	tensors, keys = r.u64(), r.u64()
	switch {
	case r.err != nil:
		return 0, 0, r.err
	case tensors > maxTensors:
		return 0, 0, fmt.Errorf("%d tensors; at most %d are allowed", tensors, maxTensors)
	case keys > maxKeys:
		return 0, 0, fmt.Errorf("%d metadata keys; at most %d are allowed", keys, maxKeys)
	}
	return tensors, keys, nil
}

// info reads the description of one tensor.
func (r *reader) info() (info, error) {
	t := info{name: r.text(maxKeyBytes)}
	dims := r.u32()
	if r.err != nil {
		return t, fmt.Errorf("tensor descriptions: %w", r.err)
	}
	if dims > maxDims {
		return t, fmt.Errorf("tensor %.60q: %d dimensions; at most %d", t.name, dims, maxDims)
	}
	t.values = 1
	for range dims {
		d := r.u64()
		if r.err == nil && (d < 1 || d > maxDim || uint64(t.values) > maxDim/d) {
			return t, fmt.Errorf("tensor %.60q: a dimension of %d is not possible", t.name, d)
		}
		t.shape, t.values = append(t.shape, int(d)), t.values*int(max(d, 1))
	}
	t.kind = tensorType(r.u32())
	offset := r.u64()
	if r.err != nil {
		return t, fmt.Errorf("tensor %.60q: %w", t.name, r.err)
	}
	b, err := t.kind.block()
	if err != nil {
		return t, fmt.Errorf("tensor %.60q: %w", t.name, err)
	}
	if len(t.shape) > 0 && t.shape[0]%b.values != 0 {
		return t, fmt.Errorf("tensor %.60q: rows of %d values do not fill blocks of %d (%s)", t.name, t.shape[0], b.values, t.kind)
	}
	if offset > 1<<62 {
		return t, fmt.Errorf("tensor %.60q: offset %d is past the end of the file", t.name, offset)
	}
	slices.Reverse(t.shape)
	t.offset, t.bytes = int64(offset), int64(t.values/b.values)*int64(b.bytes)
	return t, nil
}

// checkPlaces makes sure that every tensor lies in the file, aligned, and shares no byte with another.
func (f *File) checkPlaces(size, alignment int64) error {
	order := slices.Clone(f.tensors)
	slices.SortFunc(order, func(a, b info) int { return cmp.Compare(a.offset, b.offset) })
	end, before := int64(0), ""
	for _, t := range order {
		switch {
		case t.offset%alignment != 0:
			return fmt.Errorf("tensor %.60q: offset %d is not a multiple of the alignment %d", t.name, t.offset, alignment)
		case t.bytes > size-f.data || t.offset > size-f.data-t.bytes:
			return fmt.Errorf("tensor %.60q: %d bytes at %d exceed the file of %d bytes; the file is cut off", t.name, t.bytes, f.data+t.offset, size)
		case t.offset < end:
			return fmt.Errorf("tensor %.60q: begins at %d, inside tensor %.60q, which ends at %d", t.name, t.offset, before, end)
		}
		end, before = t.offset+t.bytes, t.name
	}
	return nil
}

// Names lists the tensors in the order of the file.
func (f *File) Names() []string {
	names := make([]string, len(f.tensors))
	for i, t := range f.tensors {
		names[i] = t.name
	}
	return names
}

// Tensor reads a tensor into memory of its own, widened to float32.
func (f *File) Tensor(name string) (weights.Tensor, error) {
	i, ok := f.index[name]
	if !ok {
		return weights.Tensor{}, fmt.Errorf("tensor %q is missing", name)
	}
	t := f.tensors[i]
	out := weights.Tensor{Name: name, Shape: t.shape, Data: make([]float32, t.values)}
	if err := f.widen(out.Data, t); err != nil {
		return weights.Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	return out, nil
}

// widen reads and widens a bounded piece at a time.
func (f *File) widen(dst []float32, t info) error {
	b := blocks[t.kind]
	piece := make([]byte, min(t.bytes, 4096*int64(b.bytes)))
	for at := t.offset; len(dst) > 0; at += int64(len(piece)) {
		piece = piece[:min(len(piece), len(dst)/b.values*b.bytes)]
		if _, err := f.from.ReadAt(piece, f.data+at); err != nil {
			return err
		}
		n := len(piece) / b.bytes * b.values
		if err := b.decode(dst[:n], piece, t.kind); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

func (b block) decode(dst []float32, src []byte, kind tensorType) error {
	if b.widen == nil {
		return weights.Decode(dst, src, weights.DType(kind.String()))
	}
	for ; len(dst) > 0; dst, src = dst[b.values:], src[b.bytes:] {
		b.widen(dst, src)
	}
	return nil
}
