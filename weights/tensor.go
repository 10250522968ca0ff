// Tensors as the outside names them, and the fingerprint by which two sets of weights are compared.

package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strings"
)

// Tensor is a named array in row-major order. len(Data) is the product of Shape; an empty Shape is one number.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Fingerprint names the contents of a set of tensors: 64 hex digits of SHA-256 over names, shapes and values. The order
// of the tensors does not count; the sign of zero does.
func Fingerprint(tensors []Tensor) string {
	digests := make([]TensorDigest, len(tensors))
	abreast(len(tensors), func(i int) { digests[i] = digest(tensors[i]) })
	return combine(digests)
}

// TensorDigest is the SHA-256 of a tensor's values as little-endian float32.
type TensorDigest struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"`
}

func digest(t Tensor) TensorDigest {
	d, _ := writeValues(io.Discard, t, F32) // neither float32 nor Discard fails
	return d
}

// combine hashes digests in order of name, each part behind its length so that no two lists read alike.
func combine(digests []TensorDigest) string {
	sorted := slices.Clone(digests)
	slices.SortFunc(sorted, func(a, b TensorDigest) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, d := range sorted {
		fmt.Fprintf(h, "%d:%s,%d:%v,%s;", len(d.Name), d.Name, len(d.Shape), d.Shape, d.SHA256)
	}
	return sum(h)
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// check reports a tensor that must not be written: a shape that does not fit, or a value that is no number.
func (t Tensor) check() error {
	n := 1
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt/4/d {
			return fmt.Errorf("tensor %q: shape %v is not possible", t.Name, t.Shape)
		}
		n *= d
	}
	if n != len(t.Data) {
		return fmt.Errorf("tensor %q: shape %v needs %d values, not %d", t.Name, t.Shape, n, len(t.Data))
	}
	return finite(t.Name, t.Data)
}

// finite reports the first NaN or infinity.
func finite(name string, data []float32) error {
	for i, v := range data {
		if v-v != 0 {
			return fmt.Errorf("tensor %q: value %d is %v", name, i, v)
		}
	}
	return nil
}
