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
)

// writeTensors writes a whole file as float32.
func writeTensors(w io.Writer, tensors []Tensor) ([]TensorDigest, error) {
	specs := make([]Spec, len(tensors))
	for i, t := range tensors {
		if err := t.check(); err != nil {
			return nil, err
		}
		specs[i] = Spec{t.Name, t.Shape}
	}
	header, err := marshalHeader(specs, F32)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(header); err != nil {
		return nil, err
	}
	digests := make([]TensorDigest, len(tensors))
	for i, t := range tensors {
		if digests[i], err = writeValues(w, t, F32); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// writeValues writes the values of a tensor. The digest is of the values as they will be read, so after rounding to dtype.
func writeValues(w io.Writer, t Tensor, dtype DType) (TensorDigest, error) {
	const chunk = 16 << 10
	h := sha256.New()
	buf := make([]byte, 0, dtypeBytes[dtype]*min(chunk, len(t.Data)))
	var exact []byte
	var rounded [chunk]float32
	for from := 0; from < len(t.Data); from += chunk {
		part := t.Data[from:min(from+chunk, len(t.Data))]
		var err error
		if buf, err = Encode(buf[:0], part, dtype); err != nil {
			return TensorDigest{}, fmt.Errorf("tensor %q: from %d on: %w", t.Name, from, err)
		}
		if _, err := w.Write(buf); err != nil {
			return TensorDigest{}, err
		}
		if dtype == F32 {
			h.Write(buf)
			continue
		}
		if err := Decode(rounded[:len(part)], buf, dtype); err != nil {
			return TensorDigest{}, err
		}
		if exact, err = Encode(exact[:0], rounded[:len(part)], F32); err != nil {
			return TensorDigest{}, err
		}
		h.Write(exact)
	}
	return TensorDigest{t.Name, t.Shape, sum(h)}, nil
}

// marshalHeader lays tensors of one type out one behind the other.
func marshalHeader(specs []Spec, dtype DType) ([]byte, error) {
	header := bytes.NewBuffer(make([]byte, 8))
	enc := jsontext.NewEncoder(header) // refuses a name that comes twice
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String("__metadata__")); err != nil {
		return nil, err
	}
	if err := enc.WriteValue(jsontext.Value(`{"format":"pt"}`)); err != nil {
		return nil, err
	}
	offset := int64(0)
	for _, s := range specs {
		end := offset + s.bytes(dtype)
		if err := writeTokens(enc, jsontext.String(s.Name)); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", s.Name, err)
		}
		err := json.MarshalEncode(enc, struct {
			DType   DType    `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{dtype, s.Shape, [2]int64{offset, end}})
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", s.Name, err)
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

// bytes is the length of the tensor's data.
func (s Spec) bytes(dtype DType) int64 {
	n := int64(dtypeBytes[dtype])
	for _, d := range s.Shape {
		n *= int64(d)
	}
	return n
}

func writeTokens(enc *jsontext.Encoder, tokens ...jsontext.Token) error {
	for _, t := range tokens {
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}
