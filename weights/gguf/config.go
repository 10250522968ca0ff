// config.json from metadata. A key of the architecture that is not read here is refused by name: it may change the
// mathematics.

package gguf

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"molt/weights"
)

// source is a file on its way to a folder.
type source struct {
	file   *File
	meta   *metadata
	config map[string]any // config.json
	used   map[string]bool
	family
	prefix                         string // of the keys: general.architecture
	layers, hidden, heads, headDim int
	rotary                         int // elements of a head that rotate
}

// harmlessKeys of an architecture change nothing that is computed.
var harmlessKeys = []string{"tensor_data_layout"}

// newSource reads general.architecture and the configuration.
func newSource(f *File) (*source, weights.ModelConfig, error) {
	s := &source{file: f, meta: &f.meta, config: make(map[string]any), used: make(map[string]bool)}
	s.prefix = s.meta.text("general.architecture")
	var known bool
	if s.family, known = families[s.prefix]; !known {
		return nil, weights.ModelConfig{}, fmt.Errorf("general.architecture: %.40q is not supported (%s are)", s.prefix,
			strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	if s.meta.has("split.count") && s.meta.integer("split.count", 1) > 1 {
		return nil, weights.ModelConfig{}, fmt.Errorf("split.count: the model is split over %d files; join them with llama-gguf-split --merge",
			s.meta.integer("split.count", 1))
	}
	if err := s.readConfig(); err != nil {
		return nil, weights.ModelConfig{}, err
	}
	text, err := s.marshal(s.config)
	if err != nil {
		return nil, weights.ModelConfig{}, err
	}
	c, err := weights.ParseConfig(text)
	return s, c, err
}

func (s *source) key(name string) string { return s.prefix + "." + name }

func (s *source) has(tensor string) bool {
	_, ok := s.file.index[tensor]
	return ok
}

func (s *source) marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
}

func (s *source) readConfig() error {
	if err := s.readShape(); err != nil {
		return err
	}
	if err := s.checkAttention(); err != nil {
		return err
	}
	rows, err := s.embeddingRows()
	if err != nil {
		return err
	}
	s.config = map[string]any{
		"architectures":           []string{s.architecture},
		"model_type":              s.modelType,
		"hidden_size":             s.hidden,
		"intermediate_size":       s.count("feed_forward_length", 0),
		"num_hidden_layers":       s.layers,
		"num_attention_heads":     s.heads,
		"num_key_value_heads":     s.count("attention.head_count_kv", s.heads),
		"head_dim":                s.headDim,
		"vocab_size":              rows,
		"max_position_embeddings": s.count("context_length", 0),
		"rms_norm_eps":            shortest(s.meta.number(s.key("attention.layer_norm_rms_epsilon"), 0)),
		"rope_theta":              s.meta.number(s.key("rope.freq_base"), 10000),
		"hidden_act":              "silu",
		"tie_word_embeddings":     !s.has("output.weight"),
		"bos_token_id":            s.tokenID("bos_token_id"),
		"eos_token_id":            s.tokenID("eos_token_id"),
		"pad_token_id":            s.tokenID("padding_token_id"),
	}
	if err := s.ropeScaling(); err != nil {
		return err
	}
	if err := s.extend(s); err != nil {
		return err
	}
	return s.refuseRest()
}

// readShape reads what other fields are checked against.
func (s *source) readShape() error {
	s.meta.need(s.key("block_count"), s.key("embedding_length"), s.key("feed_forward_length"), s.key("attention.head_count"),
		s.key("context_length"), s.key("attention.layer_norm_rms_epsilon"))
	s.layers, s.hidden, s.heads = s.count("block_count", 0), s.count("embedding_length", 0), s.count("attention.head_count", 0)
	switch {
	case s.meta.err != nil:
		return s.meta.err
	case s.heads < 1:
		return fmt.Errorf("%s: %d must be positive", s.key("attention.head_count"), s.heads)
	case s.layers < 1 || s.layers > 1<<12:
		return fmt.Errorf("%s: %d must be between 1 and %d", s.key("block_count"), s.layers, 1<<12)
	}
	s.headDim = s.count("attention.key_length", s.hidden/s.heads)
	s.rotary = s.count("rope.dimension_count", s.headDim)
	return nil
}

// checkAttention refuses heads that are not as wide as they are everywhere, and attention to what comes later.
func (s *source) checkAttention() error {
	if v := s.count("attention.value_length", s.headDim); v != s.headDim {
		return fmt.Errorf("%s: %d differs from the width of a key, %d, which is not supported", s.key("attention.value_length"), v, s.headDim)
	}
	if s.rotary != s.headDim && s.modelType != "phi3" {
		return fmt.Errorf("%s: %d of the %d elements of a head rotate, which is not supported for %s", s.key("rope.dimension_count"), s.rotary, s.headDim, s.prefix)
	}
	if !s.meta.flag(s.key("attention.causal"), true) {
		return fmt.Errorf("%s: false is not supported", s.key("attention.causal"))
	}
	return nil
}

// embeddingRows is the size of the vocabulary, which the metadata need not hold.
func (s *source) embeddingRows() (int, error) {
	const name = "token_embd.weight"
	s.meta.integer(s.key("vocab_size"), 0) // asked for, and not believed
	at, ok := s.file.index[name]
	if !ok {
		return 0, fmt.Errorf("tensor %q is missing", name)
	}
	shape := s.file.tensors[at].shape
	if len(shape) != 2 {
		return 0, fmt.Errorf("tensor %q: has %d dimensions, not 2", name, len(shape))
	}
	return shape[0], nil
}

// count reads a number of things. A list with one entry for each layer must hold one value only.
func (s *source) count(name string, otherwise int) int {
	key := s.key(name)
	if list, ok := s.meta.values[key].([]int64); ok && len(list) > 0 {
		s.meta.asked[key] = true
		if slices.Min(list) != slices.Max(list) && s.meta.err == nil {
			s.meta.err = fmt.Errorf("%s: layers of different shapes are not supported", key)
		}
		return int(list[0])
	}
	n := s.meta.integer(key, int64(otherwise))
	if (n < 0 || n > 1<<31) && s.meta.err == nil {
		s.meta.err = fmt.Errorf("%s: %d is not possible", key, n)
	}
	return int(n)
}

// tokenID returns the id of a special token, nil when there is none.
func (s *source) tokenID(name string) any {
	key := "tokenizer.ggml." + name
	if !s.meta.has(key) {
		return nil
	}
	return s.meta.integer(key, 0)
}

// refuseRest names the first key of the architecture that nothing has asked for.
func (s *source) refuseRest() error {
	if s.meta.err != nil {
		return s.meta.err
	}
	for _, key := range slices.Sorted(maps.Keys(s.meta.values)) {
		name, ours := strings.CutPrefix(key, s.prefix+".")
		if ours && !s.meta.asked[key] && !slices.Contains(harmlessKeys, name) {
			return fmt.Errorf("%s: is not supported for %s; it may change the mathematics", key, s.prefix)
		}
	}
	return nil
}

// shortest undoes the widening of a float32 to the double that a person wrote: 1e-5, not 9.99999974e-06.
func shortest(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64)
	if err != nil {
		return v
	}
	return out
}
