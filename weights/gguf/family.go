// The architectures that can be imported: what GGUF calls their tensors and numbers, and what Hugging Face does.

package gguf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// family is one architecture of general.architecture.
type family struct {
	architecture string            // of config.json
	modelType    string            //
	blocks       map[string]string // Hugging Face's name inside a layer → GGUF's inside a block
	paired       bool              // the rows of queries and keys are stored in rotary pairs; see unpair
	plusOne      bool              // norms are stored as 1 + weight
	extend       func(*source) error
}

// blockNames are those of most architectures.
var blockNames = map[string]string{
	"input_layernorm":          "attn_norm",
	"self_attn.q_proj":         "attn_q",
	"self_attn.k_proj":         "attn_k",
	"self_attn.v_proj":         "attn_v",
	"self_attn.o_proj":         "attn_output",
	"self_attn.q_norm":         "attn_q_norm",
	"self_attn.k_norm":         "attn_k_norm",
	"post_attention_layernorm": "ffn_norm",
	"mlp.gate_proj":            "ffn_gate",
	"mlp.up_proj":              "ffn_up",
	"mlp.down_proj":            "ffn_down",
}

// with returns blockNames with some names changed or added.
func with(names map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range blockNames {
		out[k] = v
	}
	for k, v := range names {
		out[k] = v
	}
	return out
}

var families = map[string]family{
	"llama":   {"LlamaForCausalLM", "llama", blockNames, true, false, (*source).llama},
	"smollm3": {"SmolLM3ForCausalLM", "smollm3", blockNames, true, false, (*source).smollm3},
	"qwen2":   {"Qwen2ForCausalLM", "qwen2", blockNames, false, false, (*source).qwen2},
	"qwen3":   {"Qwen3ForCausalLM", "qwen3", blockNames, false, false, (*source).qwen3},
	"granite": {"GraniteForCausalLM", "granite", blockNames, true, false, (*source).granite},
	"gemma":   {"GemmaForCausalLM", "gemma", blockNames, false, true, (*source).gemma1},
	"gemma2":  {"Gemma2ForCausalLM", "gemma2", gemmaNames, false, true, (*source).gemma2},
	"gemma3":  {"Gemma3ForCausalLM", "gemma3_text", gemmaNames, false, true, (*source).gemma3},
	"phi3": {"Phi3ForCausalLM", "phi3", with(map[string]string{"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}),
		false, false, (*source).phi3},
	"olmo2": {"Olmo2ForCausalLM", "olmo2", with(map[string]string{"post_attention_layernorm": "post_attention_norm",
		"post_feedforward_layernorm": "post_ffw_norm"}), false, false, (*source).olmo2},
}

var gemmaNames = with(map[string]string{"post_attention_layernorm": "post_attention_norm",
	"pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"})

func (s *source) llama() error {
	s.flag("attention_bias", s.has("blk.0.attn_q.bias") && s.has("blk.0.attn_output.bias"))
	return s.llamaRope()
}

// smollm3: the architecture has no key for its layers without rotary embedding; every fourth is one.
func (s *source) smollm3() error {
	rotary := make([]int, s.layers)
	for i := range rotary {
		if (i+1)%4 != 0 {
			rotary[i] = 1
		}
	}
	s.config["no_rope_layers"], s.config["no_rope_layer_interval"] = rotary, 4
	s.config["use_sliding_window"], s.config["sliding_window"] = false, nil
	s.flag("attention_bias", s.has("blk.0.attn_q.bias"))
	return s.llamaRope()
}

func (s *source) qwen2() error {
	delete(s.config, "head_dim")
	s.config["use_sliding_window"] = false
	return s.noFactors()
}

func (s *source) qwen3() error {
	s.flag("attention_bias", s.has("blk.0.attn_q.bias"))
	s.config["use_sliding_window"], s.config["sliding_window"] = false, nil
	return s.noFactors()
}

// granite scales embeddings, what blocks add, scores and logits.
func (s *source) granite() error {
	s.flag("attention_bias", s.has("blk.0.attn_q.bias"))
	for field, key := range map[string]string{"embedding_multiplier": "embedding_scale", "residual_multiplier": "residual_scale",
		"attention_multiplier": "attention.scale", "logits_scaling": "logit_scale"} {
		s.meta.need(s.key(key))
		s.config[field] = shortest(s.meta.number(s.key(key), 1))
	}
	return s.noFactors()
}

func (s *source) gemma1() error {
	delete(s.config, "hidden_act")
	s.config["hidden_activation"] = "gelu_pytorch_tanh"
	s.flag("attention_bias", false)
	return s.noFactors()
}

// gemma2 alternates sliding and full attention, a sliding layer first.
func (s *source) gemma2() error {
	s.gemma(2)
	s.meta.need(s.key("attn_logit_softcapping"), s.key("final_logit_softcapping"))
	s.config["attn_logit_softcapping"] = s.meta.number(s.key("attn_logit_softcapping"), 0)
	s.config["final_logit_softcapping"] = s.meta.number(s.key("final_logit_softcapping"), 0)
	if s.layers == 46 { // the 27B model scales by the width of the model, not of a head; GGUF does not say so
		s.config["query_pre_attn_scalar"] = s.hidden / s.heads
	}
	return s.noFactors()
}

// gemma3 has five sliding layers, then a full one, and a rotary base of its own for the sliding ones.
func (s *source) gemma3() error {
	s.gemma(6)
	s.config["rope_local_base_freq"] = s.meta.number(s.key("rope.freq_base_swa"), 10000)
	s.config["rope_theta"] = s.meta.number(s.key("rope.freq_base"), 1e6)
	s.config["attn_logit_softcapping"] = nil
	s.config["final_logit_softcapping"] = nil
	if cap := s.meta.number(s.key("final_logit_softcapping"), 0); cap != 0 {
		s.config["final_logit_softcapping"] = cap
	}
	if s.layers == 62 {
		s.config["query_pre_attn_scalar"] = s.hidden / s.heads
	}
	return s.noFactors()
}

// gemma is what Gemma 2 and 3 share: attention slides over a window in all but every period-th layer.
func (s *source) gemma(period int) {
	delete(s.config, "hidden_act")
	s.config["hidden_activation"] = "gelu_pytorch_tanh"
	s.config["query_pre_attn_scalar"] = s.headDim
	s.flag("attention_bias", false)
	s.meta.need(s.key("attention.sliding_window"))
	s.config["sliding_window"] = s.meta.integer(s.key("attention.sliding_window"), 0)
	const pattern = "attention.sliding_window_pattern" // the period again, or what each layer does
	slides, each := s.meta.values[s.key(pattern)].([]bool)
	if each && len(slides) == s.layers {
		s.meta.asked[s.key(pattern)] = true
	} else if n := s.count(pattern, period); n != period && s.meta.err == nil {
		s.meta.err = fmt.Errorf("%s: %d is not supported for %s (%d is)", s.key(pattern), n, s.prefix, period)
	}
	kinds := make([]string, s.layers)
	for i := range kinds {
		kinds[i] = "sliding_attention"
		if each && !slides[i] || !each && (i+1)%period == 0 {
			kinds[i] = "full_attention"
		}
	}
	s.config["layer_types"] = kinds
}

func (s *source) phi3() error {
	delete(s.config, "head_dim")
	s.config["sliding_window"] = nil
	if window := s.meta.integer(s.key("attention.sliding_window"), 0); window > 0 {
		s.config["sliding_window"] = window
	}
	s.flag("attention_bias", false)
	if s.rotary != s.headDim {
		s.config["partial_rotary_factor"] = float64(s.rotary) / float64(s.headDim)
	}
	return s.longRope()
}

func (s *source) olmo2() error {
	delete(s.config, "head_dim")
	s.flag("attention_bias", false)
	s.meta.integer(s.key("attention.sliding_window"), 0)
	if s.meta.has(s.key("attention.sliding_window")) {
		return fmt.Errorf("%s: OLMo 3 is not supported", s.key("attention.sliding_window"))
	}
	return s.noFactors()
}

func (s *source) flag(field string, on bool) { s.config[field] = on }

// noFactors refuses rotary factors where the architecture has none.
func (s *source) noFactors() error {
	for _, name := range []string{"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"} {
		if s.has(name) {
			return fmt.Errorf("tensor %q: rotary factors are not supported for %s", name, s.architecture)
		}
	}
	return nil
}

// toGGUF returns the name of a tensor of config.json's architecture in the file.
func (f family) toGGUF(name string) (string, error) {
	switch name {
	case "model.embed_tokens.weight":
		return "token_embd.weight", nil
	case "model.norm.weight":
		return "output_norm.weight", nil
	case "lm_head.weight":
		return "output.weight", nil
	}
	rest, inLayer := strings.CutPrefix(name, "model.layers.")
	layer, rest, _ := strings.Cut(rest, ".")
	dot := strings.LastIndexByte(rest, '.')
	if !inLayer || dot < 0 {
		return "", fmt.Errorf("tensor %q has no name in GGUF", name)
	}
	block, ok := f.blocks[rest[:dot]]
	if !ok {
		return "", fmt.Errorf("tensor %q has no name in GGUF", name)
	}
	return "blk." + layer + "." + block + rest[dot:], nil
}

// isPaired reports whether unpair is needed for a tensor of config.json's architecture.
func (f family) isPaired(name string) (queries, keys bool) {
	return f.paired && strings.Contains(name, ".q_proj."), f.paired && strings.Contains(name, ".k_proj.")
}

// unpair restores the rows of one projection: GGUF's llama stores, for each head, rows 0, d/2, 1, d/2+1, … so that the two
// rows that rotate together are neighbours; Hugging Face stores them half a head apart.
func unpair(data []float32, rows, heads int) error {
	if heads < 1 || rows%(2*heads) != 0 {
		return fmt.Errorf("%d rows do not divide into %d heads", rows, heads)
	}
	width, d := len(data)/rows, rows/heads
	pairs := slices.Clone(data[:d*width])
	for h := range heads {
		head := data[h*d*width:][:d*width]
		copy(pairs, head)
		for i := range d {
			from := i%(d/2)*2 + i/(d/2)
			copy(head[i*width:(i+1)*width], pairs[from*width:(from+1)*width])
		}
	}
	return nil
}

// minusOne undoes plusOne.
func minusOne(data []float32) {
	for i := range data {
		data[i]--
	}
}

var errEmpty = errors.New("is empty")
