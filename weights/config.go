// What a model is made of: the numbers of config.json, their bounds, and the tensors that follow from them.

package weights

import (
	"fmt"
	"math"
)

// Architectures that can be read and written.
const (
	Llama = "LlamaForCausalLM"
	Qwen3 = "Qwen3ForCausalLM" // Llama with an RMSNorm on each head's queries and keys
)

var modelTypes = map[string]string{Llama: "llama", Qwen3: "qwen3"}

// ModelConfig is what config.json says of a model, under the names of config.json.
type ModelConfig struct {
	Architecture          string
	HiddenSize            int     // width of the residual stream
	IntermediateSize      int     // width of the MLP
	NumHiddenLayers       int     //
	NumAttentionHeads     int     // query heads
	NumKeyValueHeads      int     // divides NumAttentionHeads
	HeadDim               int     // even; need not be HiddenSize / NumAttentionHeads
	VocabSize             int     // rows of the embedding
	MaxPositionEmbeddings int     // tokens
	RMSNormEps            float64 //
	RopeTheta             float64 //
	TieWordEmbeddings     bool    // the head is the embedding
	AttentionBias         bool    // biases on the four attention projections
	BOS                   *int32  // bos_token_id; nil when there is none
	EOS                   []int32 // eos_token_id, one or a list; nil when there is none
}

// QKNorm reports whether queries and keys are normalized per head.
func (c ModelConfig) QKNorm() bool { return c.Architecture == Qwen3 }

// validate bounds the numbers, so that shapes computed from them cannot overflow.
func (c ModelConfig) validate() error {
	for _, n := range []struct {
		field      string
		value, max int
	}{
		{"hidden_size", c.HiddenSize, 1 << 20},
		{"intermediate_size", c.IntermediateSize, 1 << 22},
		{"num_hidden_layers", c.NumHiddenLayers, 1 << 12},
		{"num_attention_heads", c.NumAttentionHeads, 1 << 12},
		{"num_key_value_heads", c.NumKeyValueHeads, 1 << 12},
		{"head_dim", c.HeadDim, 1 << 14},
		{"vocab_size", c.VocabSize, 1 << 24},
		{"max_position_embeddings", c.MaxPositionEmbeddings, 1 << 30},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("%s: %d must be between 1 and %d", n.field, n.value, n.max)
		}
	}
	switch {
	case modelTypes[c.Architecture] == "":
		return fmt.Errorf("architectures: %q is not supported (%s and %s are)", c.Architecture, Llama, Qwen3)
	case c.NumAttentionHeads%c.NumKeyValueHeads != 0:
		return fmt.Errorf("num_key_value_heads: %d does not divide num_attention_heads %d", c.NumKeyValueHeads, c.NumAttentionHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim: %d must be even", c.HeadDim)
	case !(c.RMSNormEps > 0 && c.RMSNormEps < 1):
		return fmt.Errorf("rms_norm_eps: %v must be between 0 and 1", c.RMSNormEps)
	case !(c.RopeTheta >= 1 && c.RopeTheta <= math.MaxFloat32):
		return fmt.Errorf("rope_theta: %v must be at least 1", c.RopeTheta)
	}
	for _, id := range c.EOS {
		if id < 0 || int(id) >= c.VocabSize {
			return fmt.Errorf("eos_token_id: %d is outside the vocabulary of %d", id, c.VocabSize)
		}
	}
	if c.BOS != nil && (*c.BOS < 0 || int(*c.BOS) >= c.VocabSize) {
		return fmt.Errorf("bos_token_id: %d is outside the vocabulary of %d", *c.BOS, c.VocabSize)
	}
	return nil
}

// Spec is a tensor that a configuration calls for.
type Spec struct {
	Name  string
	Shape []int
}

// Tensors lists the tensors of the model under their Hugging Face names, in the order in which they are used.
func (c ModelConfig) Tensors() []Spec {
	h, q, kv := c.HiddenSize, c.NumAttentionHeads*c.HeadDim, c.NumKeyValueHeads*c.HeadDim
	specs := []Spec{{embeddingName, []int{c.VocabSize, h}}}
	for i := range c.NumHiddenLayers {
		add := func(name string, shape ...int) {
			specs = append(specs, Spec{fmt.Sprintf("model.layers.%d.%s", i, name), shape})
		}
		linear := func(name string, out, in int, bias bool) {
			add(name+".weight", out, in)
			if bias {
				add(name+".bias", out)
			}
		}
		add("input_layernorm.weight", h)
		linear("self_attn.q_proj", q, h, c.AttentionBias)
		linear("self_attn.k_proj", kv, h, c.AttentionBias)
		linear("self_attn.v_proj", kv, h, c.AttentionBias)
		if c.QKNorm() {
			add("self_attn.q_norm.weight", c.HeadDim)
			add("self_attn.k_norm.weight", c.HeadDim)
		}
		linear("self_attn.o_proj", h, q, c.AttentionBias)
		add("post_attention_layernorm.weight", h)
		linear("mlp.gate_proj", c.IntermediateSize, h, false)
		linear("mlp.up_proj", c.IntermediateSize, h, false)
		linear("mlp.down_proj", h, c.IntermediateSize, false)
	}
	specs = append(specs, Spec{"model.norm.weight", []int{h}})
	if !c.TieWordEmbeddings {
		specs = append(specs, Spec{headName, []int{c.VocabSize, h}})
	}
	return specs
}

const (
	headName      = "lm_head.weight"
	embeddingName = "model.embed_tokens.weight"
)
