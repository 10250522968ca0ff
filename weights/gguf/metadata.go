// Metadata: typed values under dotted names. Integers of every width become int64, floats float64, arrays slices of them.

package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// Types of metadata values.
const (
	kindU8 = iota
	kindI8
	kindU16
	kindI16
	kindU32
	kindI32
	kindF32
	kindBool
	kindText
	kindArray
	kindU64
	kindI64
	kindF64
)

var kindBytes = map[uint32]int64{kindU8: 1, kindI8: 1, kindU16: 2, kindI16: 2, kindU32: 4, kindI32: 4, kindF32: 4, kindBool: 1,
	kindText: 8, kindU64: 8, kindI64: 8, kindF64: 8} // the least that one takes

// reader reads a header. The first error stays; what is read after it is zero.
type reader struct {
	from   *bufio.Reader
	left   int64  // bytes that may still be read
	size   int64  // of the file
	values uint64 // of all arrays so far
	err    error
	buf    [8]byte
}

// used counts the bytes read.
func (r *reader) used() int64 { return min(r.size, maxMetadata) - r.left }

// claim makes sure that n bytes are left before they are allocated.
func (r *reader) claim(n uint64) bool {
	if r.err == nil && n > uint64(r.left) {
		r.err = fmt.Errorf("%d bytes are called for where %d are left; the file is cut off or damaged", n, r.left)
	}
	return r.err == nil
}

func (r *reader) bytes(n int) []byte {
	b := r.buf[:n]
	clear(r.buf[:])
	if r.claim(uint64(n)) {
		r.left -= int64(n)
		_, r.err = io.ReadFull(r.from, b)
	}
	return b
}

func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// text reads a string of at most limit bytes; 0 lifts the limit.
func (r *reader) text(limit uint64) string {
	n := r.u64()
	if r.err == nil && limit > 0 && n > limit {
		r.err = fmt.Errorf("a name of %d bytes; at most %d are allowed", n, limit)
	}
	if !r.claim(n) {
		return ""
	}
	b := make([]byte, n)
	r.left -= int64(n)
	_, r.err = io.ReadFull(r.from, b)
	return string(b)
}

// scalar reads an int64, float64, bool or string.
func (r *reader) scalar(kind uint32) any {
	switch kind {
	case kindText:
		return r.text(0)
	case kindBool:
		b := r.bytes(1)[0]
		if b > 1 {
			r.fail(fmt.Errorf("%d is no boolean", b))
		}
		return b == 1
	case kindF32:
		return float64(math.Float32frombits(r.u32()))
	case kindF64:
		return math.Float64frombits(r.u64())
	case kindU64:
		n := r.u64()
		if n > math.MaxInt64 {
			r.fail(fmt.Errorf("%d is too large", n))
		}
		return int64(n)
	}
	b := binary.LittleEndian.Uint64(append(r.bytes(int(kindBytes[kind])), make([]byte, 8)...))
	switch kind {
	case kindI8:
		return int64(int8(b))
	case kindI16:
		return int64(int16(b))
	case kindI32:
		return int64(int32(b))
	}
	return int64(b)
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// value reads one value of any type.
func (r *reader) value() any {
	kind := r.u32()
	if kind != kindArray {
		if r.err == nil && kindBytes[kind] == 0 {
			r.fail(fmt.Errorf("value type %d is unknown", kind))
		}
		if r.err != nil {
			return nil
		}
		return r.scalar(kind)
	}
	kind, n := r.u32(), r.u64()
	size := kindBytes[kind]
	switch {
	case r.err != nil:
		return nil
	case kind == kindArray:
		r.fail(errors.New("arrays of arrays are not supported"))
		return nil
	case size == 0:
		r.fail(fmt.Errorf("value type %d is unknown", kind))
		return nil
	case n > uint64(r.left/size):
		r.fail(fmt.Errorf("an array of %d values where %d bytes are left; the file is cut off or damaged", n, r.left))
		return nil
	}
	if r.values += n; r.values > maxValues {
		r.fail(fmt.Errorf("the arrays have more than %d values together", maxValues))
		return nil
	}
	switch kind {
	case kindText:
		return list[string](r, kind, n)
	case kindBool:
		return list[bool](r, kind, n)
	case kindF32, kindF64:
		return list[float64](r, kind, n)
	}
	return list[int64](r, kind, n)
}

func list[T any](r *reader, kind uint32, n uint64) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = r.scalar(kind).(T)
		if r.err != nil {
			return nil
		}
	}
	return out
}

func (r *reader) metadata(keys uint64) (metadata, error) {
	m := metadata{values: make(map[string]any), asked: make(map[string]bool)}
	for range keys {
		key := r.text(maxKeyBytes)
		if r.err != nil {
			return m, fmt.Errorf("metadata: %w", r.err)
		}
		if !utf8.ValidString(key) {
			return m, fmt.Errorf("metadata: key %.60q is not UTF-8", key)
		}
		if _, twice := m.values[key]; twice {
			return m, fmt.Errorf("metadata: key %.60q comes twice", key)
		}
		if m.values[key] = r.value(); r.err != nil {
			return m, fmt.Errorf("metadata: %.60s: %w", key, r.err)
		}
	}
	return m, nil
}

// metadata answers by name. The first value of a wrong type stays as its error.
type metadata struct {
	values map[string]any
	asked  map[string]bool
	err    error
}

func (m *metadata) has(key string) bool {
	_, ok := m.values[key]
	return ok
}

// get returns otherwise when the key is missing.
func get[T any](m *metadata, key string, otherwise T) T {
	m.asked[key] = true
	v, ok := m.values[key]
	if !ok {
		return otherwise
	}
	t, ok := v.(T)
	if !ok && m.err == nil {
		m.err = fmt.Errorf("%s: is of type %T where %T belongs", key, v, otherwise)
	}
	return t
}

func (m *metadata) integer(key string, otherwise int64) int64    { return get(m, key, otherwise) }
func (m *metadata) number(key string, otherwise float64) float64 { return get(m, key, otherwise) }
func (m *metadata) flag(key string, otherwise bool) bool         { return get(m, key, otherwise) }
func (m *metadata) text(key string) string                       { return get(m, key, "") }
func (m *metadata) texts(key string) []string                    { return get[[]string](m, key, nil) }

// need reports a key that must be there.
func (m *metadata) need(keys ...string) {
	for _, key := range keys {
		if !m.has(key) && m.err == nil {
			m.err = fmt.Errorf("%s: missing", key)
		}
	}
}
