// The header of a safetensors file: 8 bytes of length (little-endian), then JSON from tensor name to dtype, shape and
// data offsets, then the data. Nothing in it is believed: no size is allocated, no offset used before it has been
// checked against the file, and every byte of the data must belong to exactly one tensor.

package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
)

const (
	maxHeaderBytes = 100_000_000 // the reference implementation's limit
	maxTensors     = 1 << 18
	maxNameBytes   = 1024
	maxRank        = 16
	maxDim         = 1 << 48
)

// layout is a checked header.
type layout struct {
	tensors []place // in order of their data
	data    []byte  // what follows the header
}

// place says where a tensor lies in layout.data.
type place struct {
	name     string
	dtype    DType
	shape    []int
	count    int // values
	from, to uint64
}

// parse checks a whole file. Its errors say what is wrong with it; the caller names the file.
func parse(file []byte) (layout, error) {
	if len(file) < 8 {
		return layout{}, fmt.Errorf("file of %d bytes is too short for a header; it is cut off or not safetensors", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeaderBytes {
		return layout{}, fmt.Errorf("header of %d bytes; at most %d are allowed", n, maxHeaderBytes)
	}
	if n > uint64(len(file)-8) {
		return layout{}, fmt.Errorf("header of %d bytes exceeds file of %d bytes; the file is cut off", n, len(file))
	}
	l := layout{data: file[8+n:]}
	if err := l.readHeader(file[8 : 8+n]); err != nil {
		return layout{}, err
	}
	return l, l.checkCover(len(file))
}

func (l *layout) readHeader(header []byte) error {
	if len(header) == 0 || header[0] != '{' {
		return errors.New("header does not begin with {; the file is damaged or not safetensors")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(header))
	if _, err := dec.ReadToken(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return fmt.Errorf("header: %w", err)
		}
		if err := l.readEntry(name.String(), dec); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("header holds more than one JSON object")
	}
	return nil
}

func (l *layout) readEntry(name string, dec *jsontext.Decoder) error {
	if name == "__metadata__" {
		if dec.PeekKind() != '{' {
			return errors.New("header: __metadata__ must be an object")
		}
		if err := dec.SkipValue(); err != nil {
			return fmt.Errorf("header: __metadata__: %w", err)
		}
		return nil
	}
	if len(l.tensors) == maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	if len(name) > maxNameBytes {
		return fmt.Errorf("tensor %.40q…: name of %d bytes; at most %d", name, len(name), maxNameBytes)
	}
	var e struct {
		DType   DType      `json:"dtype"`
		Shape   dims       `json:"shape"`
		Offsets *[2]uint64 `json:"data_offsets"`
	}
	if err := json.UnmarshalDecode(dec, &e, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("tensor %q: header: %w", name, err)
	}
	if e.Shape == nil || e.Offsets == nil {
		return fmt.Errorf("tensor %q: header lacks shape or data_offsets", name)
	}
	p := place{name: name, dtype: e.DType, from: e.Offsets[0], to: e.Offsets[1]}
	if err := p.measure(e.Shape); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	l.tensors = append(l.tensors, p)
	return nil
}

// dims is a shape; decoding stops at maxRank, however long the list is.
type dims []uint64

func (d *dims) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return cmp.Or(err, errors.New("must be a list of numbers"))
	}
	*d = dims{}
	for dec.PeekKind() != ']' {
		var n uint64
		if err := json.UnmarshalDecode(dec, &n); err != nil {
			return err
		}
		if *d = append(*d, n); len(*d) > maxRank {
			return fmt.Errorf("more than %d dimensions", maxRank)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// measure checks dtype and shape against the length of the data.
func (p *place) measure(shape dims) error {
	if err := p.dtype.check(); err != nil {
		return err
	}
	size, count := uint64(dtypeBytes[p.dtype]), uint64(1)
	for _, d := range shape {
		over, product := bits.Mul64(count, d)
		if over != 0 || product > maxDim || d > maxDim {
			return fmt.Errorf("shape %v holds more values than any file can", shape)
		}
		count = product
		p.shape = append(p.shape, int(d))
	}
	if p.from > p.to {
		return fmt.Errorf("data offsets [%d,%d) run backwards", p.from, p.to)
	}
	if p.to-p.from != count*size {
		return fmt.Errorf("data offsets [%d,%d) span %d bytes but shape %v of %s needs %d", p.from, p.to, p.to-p.from, shape, p.dtype, count*size)
	}
	p.count = int(count)
	return nil
}

// checkCover makes sure that the tensors lie in the file one behind the other, with no byte shared and none left over.
func (l *layout) checkCover(fileBytes int) error {
	slices.SortStableFunc(l.tensors, func(a, b place) int {
		if a.from != b.from {
			return cmp.Compare(a.from, b.from)
		}
		return cmp.Compare(a.to, b.to)
	})
	end, before := uint64(0), ""
	for _, p := range l.tensors {
		switch {
		case p.to > uint64(len(l.data)):
			return fmt.Errorf("tensor %q: data offsets [%d,%d) exceed file of %d bytes", p.name, p.from, p.to, fileBytes)
		case p.from < end:
			return fmt.Errorf("tensor %q: data offsets [%d,%d) overlap tensor %q, which ends at %d", p.name, p.from, p.to, before, end)
		case p.from > end:
			return fmt.Errorf("tensor %q: data offsets [%d,%d) leave a gap of %d bytes before them", p.name, p.from, p.to, p.from-end)
		}
		end, before = p.to, p.name
	}
	if left := uint64(len(l.data)) - end; left > 0 {
		return fmt.Errorf("%d bytes after the last tensor belong to none", left)
	}
	return nil
}
