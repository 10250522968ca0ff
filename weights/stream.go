// Writing a model whose tensors are made one at a time: only one of them is in memory. They go into one safetensors file
// or into shards with an index, as transformers writes them.

package weights

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Stream is a set of tensors that are made one at a time.
type Stream struct {
	Form
	Specs   []Spec                   // the tensors, in the order in which they come
	Tensors iter.Seq2[Tensor, error] // gives exactly Specs; an error ends it
}

// Text is a small file of a folder.
type Text struct {
	Name string
	Data []byte
}

// WriteStream writes texts and the tensors to dir, which must not exist or be empty. It is there completely or not at all.
func WriteStream(dir string, texts []Text, s Stream) (Manifest, error) {
	m, err := writeStream(osDisk{}, dir, texts, s)
	if err != nil {
		return Manifest{}, fmt.Errorf("weights: write %s: %w", dir, err)
	}
	return m, nil
}

func writeStream(d disk, dir string, texts []Text, s Stream) (Manifest, error) {
	return writeDir(d, dir, 0, func(w *draft) error {
		for _, t := range texts {
			if err := w.bytes(t.Name, t.Data); err != nil {
				return err
			}
		}
		return w.stream(s)
	})
}

// stream writes the tensors, and the index when they take more than one file.
func (w *draft) stream(s Stream) error {
	if s.DType == "" {
		s.DType = F32
	}
	next, stop := iter.Pull2(s.Tensors)
	defer stop()
	shards := s.plan()
	for _, shard := range shards {
		err := w.file(shard.file, func(to io.Writer) error {
			digests, err := writeShard(to, shard.specs, s.DType, next)
			w.manifest.Tensors = append(w.manifest.Tensors, digests...)
			return err
		})
		if err != nil {
			return err
		}
	}
	if t, err, more := next(); more {
		return errors.Join(err, fmt.Errorf("tensor %q comes although none is left to write", t.Name))
	}
	w.manifest.Fingerprint = combine(w.manifest.Tensors)
	if len(shards) == 1 {
		return nil
	}
	index, err := marshalIndex(shards, s.DType)
	if err != nil {
		return err
	}
	return w.bytes(indexName, index)
}

// planned is a file and the tensors that go into it.
type planned struct {
	file  string
	specs []Spec
}

// plan fills one shard after the other.
func (s Stream) plan() []planned {
	shards, filled := []planned{{}}, int64(0)
	for _, spec := range s.Specs {
		size := spec.bytes(s.DType)
		if s.MaxShard > 0 && filled > 0 && filled+size > s.MaxShard {
			shards, filled = append(shards, planned{}), 0
		}
		last := &shards[len(shards)-1]
		last.specs, filled = append(last.specs, spec), filled+size
	}
	for i := range shards {
		shards[i].file = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
	}
	if len(shards) == 1 {
		shards[0].file = singleName
	}
	return shards
}

func writeShard(to io.Writer, specs []Spec, dtype DType, next func() (Tensor, error, bool)) ([]TensorDigest, error) {
	header, err := marshalHeader(specs, dtype)
	if err != nil {
		return nil, err
	}
	if _, err := to.Write(header); err != nil {
		return nil, err
	}
	var digests []TensorDigest
	for _, spec := range specs {
		t, err, more := next()
		if err != nil {
			return nil, err
		}
		if !more || t.Name != spec.Name || !slices.Equal(t.Shape, spec.Shape) {
			return nil, fmt.Errorf("tensor %q of shape %v was to come next, not %q of shape %v", spec.Name, spec.Shape, t.Name, t.Shape)
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		digest, err := writeValues(to, t, dtype)
		if err != nil {
			return nil, err
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

// marshalIndex writes model.safetensors.index.json with the fields that transformers writes.
func marshalIndex(shards []planned, dtype DType) ([]byte, error) {
	var index struct {
		Metadata struct {
			Parameters int64 `json:"total_parameters"`
			Bytes      int64 `json:"total_size"`
		} `json:"metadata"`
		Map map[string]string `json:"weight_map"`
	}
	index.Map = make(map[string]string)
	for _, shard := range shards {
		for _, spec := range shard.specs {
			index.Map[spec.Name] = shard.file
			index.Metadata.Bytes += spec.bytes(dtype)
		}
	}
	index.Metadata.Parameters = index.Metadata.Bytes / int64(dtypeBytes[dtype])
	out, err := json.Marshal(index, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(out, '\n'), err
}
