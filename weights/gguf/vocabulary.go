// The tokenizer of a GGUF file: tokens with their types, and either merges (byte-level BPE, as GPT-2's) or scores
// (SentencePiece BPE, as Llama 2's and Gemma's).

package gguf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Types of tokens in tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUser    = 4
	tokenUnused  = 5
	tokenByte    = 6
)

// vocabulary is a checked tokenizer.
type vocabulary struct {
	tokens  []string
	types   []int64
	merges  [][2]string
	split   split // of a byte-level tokenizer
	pieces  bool  // SentencePiece
	prefix  bool  // a space is put before the text
	addBOS  bool
	addEOS  bool
	strips  bool // spaces after an added token belong to it, as llama.cpp has it for Phi-3
	context int
	special map[string]int64 // bos, eos, unk, pad → id
	eos     []int64          // what ends a generation
}

// kind names the tokenizer for a person.
func (v *vocabulary) kind() string {
	if v.pieces {
		return "SentencePiece BPE"
	}
	return "byte-level BPE (" + v.split.name + ")"
}

// vocabulary reads and checks the tokenizer; rows is the height of the embedding.
func (s *source) vocabulary(rows int) (*vocabulary, error) {
	m := s.meta
	v := &vocabulary{tokens: m.texts("tokenizer.ggml.tokens"), types: get[[]int64](m, "tokenizer.ggml.token_type", nil),
		special: make(map[string]int64), context: s.config["max_position_embeddings"].(int)}
	m.need("tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type")
	model := m.text("tokenizer.ggml.model")
	if m.err != nil {
		return nil, m.err
	}
	if err := v.checkTokens(rows); err != nil {
		return nil, err
	}
	var err error
	switch model {
	case "gpt2":
		err = s.readBytes(v)
	case "llama":
		err = s.readPieces(v)
	default:
		return nil, fmt.Errorf("tokenizer.ggml.model: %.40q is not supported (gpt2 and llama are)", model)
	}
	if err != nil {
		return nil, err
	}
	v.addBOS = m.flag("tokenizer.ggml.add_bos_token", v.pieces || v.split.bos)
	v.addEOS = m.flag("tokenizer.ggml.add_eos_token", false)
	if m.flag("tokenizer.ggml.add_sep_token", false) {
		return nil, errors.New("tokenizer.ggml.add_sep_token: true is not supported")
	}
	if m.flag("tokenizer.ggml.remove_extra_whitespaces", false) {
		return nil, errors.New("tokenizer.ggml.remove_extra_whitespaces: true is not supported")
	}
	return v, s.readSpecial(v)
}

func (v *vocabulary) checkTokens(rows int) error {
	if len(v.tokens) > rows {
		return fmt.Errorf("tokenizer.ggml.tokens: %d tokens but the embedding has only %d rows", len(v.tokens), rows)
	}
	if len(v.types) != len(v.tokens) {
		return fmt.Errorf("tokenizer.ggml.token_type: %d types for %d tokens", len(v.types), len(v.tokens))
	}
	seen := make(map[string]int, len(v.tokens))
	for id, token := range v.tokens {
		if token == "" {
			return fmt.Errorf("tokenizer.ggml.tokens: token %d is empty", id)
		}
		if strings.ToValidUTF8(token, "") != token {
			return fmt.Errorf("tokenizer.ggml.tokens: token %d, %.40q, is not UTF-8", id, token)
		}
		if other, twice := seen[token]; twice {
			return fmt.Errorf("tokenizer.ggml.tokens: %.40q has ids %d and %d", token, other, id)
		}
		seen[token] = id
		if t := v.types[id]; t < tokenNormal || t > tokenByte {
			return fmt.Errorf("tokenizer.ggml.token_type: token %d has type %d, which is unknown", id, t)
		}
	}
	return nil
}

// readBytes reads merges and the way text is split.
func (s *source) readBytes(v *vocabulary) error {
	pre := s.meta.text("tokenizer.ggml.pre")
	if pre == "" {
		return errors.New("tokenizer.ggml.pre: missing, so how text is split is unknown; convert the model again with a newer llama.cpp")
	}
	var known bool
	if v.split, known = splits[pre]; !known {
		return fmt.Errorf("tokenizer.ggml.pre: %.40q is not supported (%s are)", pre, splitNames())
	}
	s.meta.need("tokenizer.ggml.merges")
	for i, merge := range s.meta.texts("tokenizer.ggml.merges") {
		// The first part may begin with a space only if it is one.
		left, right, ok := strings.Cut(merge[min(1, len(merge)):], " ")
		if !ok || right == "" {
			return fmt.Errorf("tokenizer.ggml.merges: entry %d, %.40q, is not two tokens", i, merge)
		}
		v.merges = append(v.merges, [2]string{merge[:1] + left, right})
	}
	if s.meta.flag("tokenizer.ggml.add_space_prefix", false) {
		return errors.New("tokenizer.ggml.add_space_prefix: true is not supported for byte-level tokenizers")
	}
	return s.meta.err
}

// readPieces turns scores into merges: every way of making a token of two others, the best token first. Ties go to longer
// parts, as in the conversion of the transformers library.
func (s *source) readPieces(v *vocabulary) error {
	s.meta.need("tokenizer.ggml.scores")
	scores := get[[]float64](s.meta, "tokenizer.ggml.scores", nil)
	if s.meta.err != nil {
		return s.meta.err
	}
	if len(scores) != len(v.tokens) {
		return fmt.Errorf("tokenizer.ggml.scores: %d scores for %d tokens", len(scores), len(v.tokens))
	}
	v.pieces, v.prefix = true, s.meta.flag("tokenizer.ggml.add_space_prefix", true)
	v.strips = s.prefix == "phi3"
	var err error
	if v.merges, err = mergesOf(v.tokens, v.types, scores); err != nil {
		return err
	}
	for b := range 256 {
		if !slices.Contains(v.tokens, fmt.Sprintf("<0x%02X>", b)) {
			return fmt.Errorf("tokenizer.ggml.tokens: <0x%02X> is missing, so not every text could be encoded", b)
		}
	}
	return s.meta.err
}

// endings are control tokens at which llama.cpp ends a generation whatever the metadata say.
var endings = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>", "<EOT>", "<|end_of_text|>"}

func (s *source) readSpecial(v *vocabulary) error {
	for _, t := range []struct {
		name, key string
		ends      bool
	}{
		{"bos_token", "bos_token_id", false}, {"eos_token", "eos_token_id", true}, {"unk_token", "unknown_token_id", false},
		{"pad_token", "padding_token_id", false}, {"eot", "eot_token_id", true}, {"eom", "eom_token_id", true},
	} {
		key := "tokenizer.ggml." + t.key
		if !s.meta.has(key) {
			continue
		}
		id := s.meta.integer(key, 0)
		if id < 0 || id >= int64(len(v.tokens)) {
			return fmt.Errorf("%s: %d is outside the vocabulary of %d", key, id, len(v.tokens))
		}
		v.special[t.name] = id
		if t.ends && !slices.Contains(v.eos, id) {
			v.eos = append(v.eos, id)
		}
	}
	for id, token := range v.tokens {
		if v.types[id] == tokenControl && slices.Contains(endings, token) && !slices.Contains(v.eos, int64(id)) {
			v.eos = append(v.eos, int64(id))
		}
	}
	for name, on := range map[string]bool{"bos_token": v.addBOS, "eos_token": v.addEOS} {
		if _, ok := v.special[name]; on && !ok {
			return fmt.Errorf("tokenizer.ggml.%s_id: missing although the tokenizer adds it", name)
		}
	}
	return s.meta.err
}
