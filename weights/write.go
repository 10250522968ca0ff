// Writing safetensors. Tensors stream through a bounded buffer; the header is padded so that the data begins at a
// multiple of 8 bytes.

package weights

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"

	"molt/internal/atomicfile"
)

// WriteSafetensors replaces the file at path with tensors as float32. On any error the old file is untouched.
func WriteSafetensors(path string, tensors []Tensor) (digests []TensorDigest, err error) {
	err = atomicfile.WriteFunc(path, func(w io.Writer) (err error) {
		digests, err = writeTensors(w, tensors)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return digests, nil
}

func writeTensors(w io.Writer, tensors []Tensor) ([]TensorDigest, error) {
	header, err := marshalHeader(tensors)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(header); err != nil {
		return nil, err
	}
	digests := make([]TensorDigest, len(tensors))
	for i, t := range tensors {
		h := sha256.New()
		both := io.MultiWriter(w, h)
		if err := eachChunk(t.Data, func(b []byte) error { _, err := both.Write(b); return err }); err != nil {
			return nil, err
		}
		digests[i] = TensorDigest{t.Name, t.Shape, sum(h)}
	}
	return digests, nil
}

// marshalHeader checks the tensors and lays them out one behind the other.
func marshalHeader(tensors []Tensor) ([]byte, error) {
	header := bytes.NewBuffer(make([]byte, 8))
	enc := jsontext.NewEncoder(header) // refuses a name that comes twice
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String("__metadata__")); err != nil {
		return nil, err
	}
	if err := enc.WriteValue(jsontext.Value(`{"format":"pt"}`)); err != nil {
		return nil, err
	}
	offset := int64(0)
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return nil, err
		}
		end := offset + 4*int64(len(t.Data))
		if err := writeTokens(enc, jsontext.String(t.Name)); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		err := json.MarshalEncode(enc, struct {
			DType   string   `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{"F32", t.Shape, [2]int64{offset, end}})
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		offset = end
	}
	if err := writeTokens(enc, jsontext.EndObject); err != nil {
		return nil, err
	}
	out := bytes.TrimRight(header.Bytes(), "\n")
	for len(out)%8 != 0 {
		out = append(out, ' ')
	}
	binary.LittleEndian.PutUint64(out, uint64(len(out)-8))
	return out, nil
}

func writeTokens(enc *jsontext.Encoder, tokens ...jsontext.Token) error {
	for _, t := range tokens {
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}
