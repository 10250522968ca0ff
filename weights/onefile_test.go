package weights

import (
	"io"

	"molt/internal/atomicfile"
)

// writeOne writes one file as float32, with the writer of checkpoints.
func writeOne(path string, tensors []Tensor) (digests []TensorDigest, err error) {
	err = atomicfile.WriteFunc(path, func(w io.Writer) (err error) {
		digests, err = writeTensors(w, tensors)
		return err
	})
	return digests, err
}
