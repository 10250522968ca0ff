// From a GGUF file to a Hugging Face folder. Tensors are widened, renamed and written one at a time.

package gguf

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"molt/weights"
)

// Options of an import. The zero value writes one float32 file, which holds every value exactly.
type Options struct {
	DType    weights.DType         // of the written tensors; "" is F32
	MaxShard int64                 // bytes of tensors in one file; 0 writes one
	Progress func(done, total int) // called before each tensor and after the last; may be nil
}

// Summary says what was imported.
type Summary struct {
	Architecture string         `json:"architecture"`
	Name         string         `json:"name,omitzero"`    // general.name
	License      string         `json:"license,omitzero"` // general.license
	Tensors      int            `json:"tensors"`
	Parameters   int64          `json:"parameters"`
	Types        map[string]int `json:"types"` // tensors of each type in the GGUF file
	Tokenizer    string         `json:"tokenizer"`
	ChatTemplate bool           `json:"chat_template"`
	EOS          []int64        `json:"eos_token_id"`
	Fingerprint  string         `json:"fingerprint"`
}

// Import reads the model at path and writes it to the folder dir, which must not exist or be empty. The folder is there
// completely or not at all.
func Import(path, dir string, o Options) (Summary, error) {
	f, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	sum, err := f.importTo(dir, o)
	if err != nil {
		return Summary{}, fmt.Errorf("gguf: import %s: %w", path, err)
	}
	return sum, nil
}

func (f *File) importTo(dir string, o Options) (Summary, error) {
	s, c, err := newSource(f)
	if err != nil {
		return Summary{}, err
	}
	specs := c.Tensors()
	if err := s.check(specs); err != nil {
		return Summary{}, err
	}
	v, err := s.vocabulary(c.VocabSize)
	if err != nil {
		return Summary{}, err
	}
	if o.DType == "" {
		o.DType = weights.F32
	}
	s.config["torch_dtype"] = o.DType.TorchName()
	texts, err := s.texts(v)
	if err != nil {
		return Summary{}, err
	}
	manifest, err := weights.WriteStream(dir, texts, weights.Stream{
		Form: weights.Form{DType: o.DType, MaxShard: o.MaxShard}, Specs: specs, Tensors: s.tensors(specs, c, o.Progress),
	})
	if err != nil {
		return Summary{}, err
	}
	return s.summary(v, specs, manifest.Fingerprint), nil
}

func (s *source) summary(v *vocabulary, specs []weights.Spec, fingerprint string) Summary {
	sum := Summary{
		Architecture: s.architecture,
		Name:         s.meta.text("general.name"),
		License:      s.meta.text("general.license"),
		Tensors:      len(specs),
		Types:        make(map[string]int),
		Tokenizer:    v.kind(),
		ChatTemplate: s.meta.has("tokenizer.chat_template"),
		EOS:          v.eos,
		Fingerprint:  fingerprint,
	}
	for _, t := range s.file.tensors {
		sum.Types[t.kind.String()]++
	}
	for _, spec := range specs {
		n := int64(1)
		for _, d := range spec.Shape {
			n *= int64(d)
		}
		sum.Parameters += n
	}
	return sum
}

// check compares the tensors of the file with those that the configuration calls for.
func (s *source) check(specs []weights.Spec) error {
	for _, spec := range specs {
		name, err := s.toGGUF(spec.Name)
		if err != nil {
			return err
		}
		i, ok := s.file.index[name]
		if !ok {
			return fmt.Errorf("tensor %q is missing, which a %s of this configuration has", name, s.architecture)
		}
		if shape := s.file.tensors[i].shape; !slices.Equal(shape, spec.Shape) {
			return fmt.Errorf("tensor %q: has shape %v where the metadata call for %v", name, shape, spec.Shape)
		}
		s.used[name] = true
	}
	for _, name := range s.file.Names() {
		if !s.used[name] {
			return fmt.Errorf("tensor %.60q is not part of a %s of this configuration", name, s.architecture)
		}
	}
	return nil
}

// tensors makes the tensors of specs one after the other.
func (s *source) tensors(specs []weights.Spec, c weights.ModelConfig, progress func(done, total int)) iter.Seq2[weights.Tensor, error] {
	return func(yield func(weights.Tensor, error) bool) {
		for i, spec := range specs {
			if progress != nil {
				progress(i, len(specs))
			}
			t, err := s.tensor(spec, c)
			if !yield(t, err) || err != nil {
				return
			}
		}
		if progress != nil {
			progress(len(specs), len(specs))
		}
	}
}

func (s *source) tensor(spec weights.Spec, c weights.ModelConfig) (weights.Tensor, error) {
	name, err := s.toGGUF(spec.Name)
	if err != nil {
		return weights.Tensor{}, err
	}
	t, err := s.file.Tensor(name)
	if err != nil {
		return t, err
	}
	t.Name = spec.Name
	queries, keys := s.isPaired(spec.Name)
	switch {
	case queries:
		err = unpair(t.Data, spec.Shape[0], c.NumAttentionHeads)
	case keys:
		err = unpair(t.Data, spec.Shape[0], c.NumKeyValueHeads)
	case s.plusOne && strings.HasSuffix(spec.Name, "norm.weight"):
		minusOne(t.Data)
	}
	return t, err
}

// texts makes the small files of the folder.
func (s *source) texts(v *vocabulary) ([]weights.Text, error) {
	generation := map[string]any{"bos_token_id": s.config["bos_token_id"], "eos_token_id": v.eos, "pad_token_id": s.config["pad_token_id"]}
	for k, v := range generation {
		if v == nil {
			delete(generation, k)
		}
	}
	template, named, err := s.templates()
	if err != nil {
		return nil, err
	}
	out := []weights.Text{{Name: "chat_template.jinja", Data: template}}
	for _, t := range []struct {
		name  string
		value any
	}{
		{"config.json", s.config}, {"generation_config.json", generation}, {"tokenizer.json", v.tokenizer()}, {"tokenizer_config.json", v.config(named)},
	} {
		data, err := s.marshal(t.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		out = append(out, weights.Text{Name: t.name, Data: data})
	}
	return out, s.meta.err
}

// templates returns the chat template, nil when there is none, or all of them by name when there are several.
func (s *source) templates() (one []byte, named []namedTemplate, err error) {
	names := s.meta.texts("tokenizer.chat_templates")
	text := s.meta.text("tokenizer.chat_template")
	if s.meta.err != nil {
		return nil, nil, s.meta.err
	}
	if len(names) == 0 {
		if text == "" {
			return nil, nil, nil
		}
		return []byte(text), nil, nil
	}
	if text == "" {
		return nil, nil, errors.New("tokenizer.chat_template: missing although tokenizer.chat_templates lists further ones")
	}
	named = append(named, namedTemplate{"default", text})
	for _, name := range names {
		if name == "default" {
			continue
		}
		named = append(named, namedTemplate{name, s.meta.text("tokenizer.chat_template." + name)})
	}
	return nil, named, s.meta.err
}

// namedTemplate is an entry of chat_template in tokenizer_config.json.
type namedTemplate struct {
	Name     string `json:"name"`
	Template string `json:"template"`
}
