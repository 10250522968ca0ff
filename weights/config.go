// What a model is made of: the numbers of config.json, their bounds, and the tensors that follow from them.

package weights

import (
	"fmt"
	"math"
)

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
	PAD                   *int32  // pad_token_id; nil when there is none

	// What only some architectures have; zero is none.
	MLPBias               bool        // biases on the three projections of the MLP
	RopeScaling           RopeScaling // of the layers that do not rotate by RopeLocalBaseFreq
	RopeLocalBaseFreq     float64     // rope_theta of sliding layers where the family has LocalRope
	PartialRotaryFactor   float64     // share of each head that rotates; 0 is 1
	SlidingWindow         int         // tokens that a sliding layer sees, the last one among them
	LayerTypes            []string    // full_attention or sliding_attention for each layer; nil when none slides
	NoRope                []bool      // layers that do not rotate; nil when all do
	QueryPreAttnScalar    float64     // attention scores are divided by its square root instead of that of HeadDim
	AttnLogitSoftcapping  float64
	FinalLogitSoftcapping float64
	EmbeddingMultiplier   float64
	AttentionMultiplier   float64 // attention scores are multiplied by it instead
	ResidualMultiplier    float64
	LogitsScaling         float64 // logits are divided by it
}

// Layer is how the attention of a layer departs from seeing everything and rotating.
type Layer struct {
	Window    int  // tokens that it sees; 0 is all
	NoRope    bool // it does not rotate
	LocalRope bool // it rotates by RopeLocalBaseFreq
}

// Layers lists the layers' attention; nil when no layer departs.
func (c ModelConfig) Layers() []Layer {
	if c.LayerTypes == nil && c.NoRope == nil {
		return nil
	}
	layers, local := make([]Layer, c.NumHiddenLayers), c.Family().LocalRope
	for l := range layers {
		layers[l].NoRope = c.NoRope != nil && c.NoRope[l]
		if c.slides(l) {
			layers[l].Window, layers[l].LocalRope = c.SlidingWindow, local
		}
	}
	return layers
}

// RotaryDim is the width of each head that rotates.
func (c ModelConfig) RotaryDim() int {
	if c.PartialRotaryFactor == 0 {
		return c.HeadDim
	}
	return int(float64(c.HeadDim) * c.PartialRotaryFactor)
}

// validate reports the first thing that is not possible.
func (c ModelConfig) validate() error {
	if err := c.validateNumbers(); err != nil {
		return err
	}
	if err := c.validateLayers(); err != nil {
		return err
	}
	if err := c.validateFactors(); err != nil {
		return err
	}
	return c.validateIDs()
}

// validateNumbers bounds the numbers, so that shapes computed from them cannot overflow.
func (c ModelConfig) validateNumbers() error {
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
	case c.Family().ModelType == "":
		_, _, err := findFamily([]string{c.Architecture}, "")
		return err
	case c.NumAttentionHeads%c.NumKeyValueHeads != 0:
		return fmt.Errorf("num_key_value_heads: %d does not divide num_attention_heads %d", c.NumKeyValueHeads, c.NumAttentionHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim: %d must be even", c.HeadDim)
	case !(c.RMSNormEps > 0 && c.RMSNormEps < 1):
		return fmt.Errorf("rms_norm_eps: %v must be between 0 and 1", c.RMSNormEps)
	case !(c.RopeTheta >= 1 && c.RopeTheta <= math.MaxFloat32):
		return fmt.Errorf("rope_theta: %v must be at least 1", c.RopeTheta)
	}
	return nil
}

func (c ModelConfig) validateLayers() error {
	if c.SlidingWindow < 0 || c.SlidingWindow > 1<<30 {
		return fmt.Errorf("sliding_window: %d must be between 1 and 2^30", c.SlidingWindow)
	}
	if c.LayerTypes != nil && len(c.LayerTypes) != c.NumHiddenLayers {
		return fmt.Errorf("layer_types: has %d entries for %d layers", len(c.LayerTypes), c.NumHiddenLayers)
	}
	if c.NoRope != nil && len(c.NoRope) != c.NumHiddenLayers {
		return fmt.Errorf("no_rope_layers: has %d entries for %d layers", len(c.NoRope), c.NumHiddenLayers)
	}
	for l, t := range c.LayerTypes {
		switch {
		case t != fullAttention && t != slidingAttention:
			return fmt.Errorf("layer_types: %q is not supported (%s and %s are)", t, fullAttention, slidingAttention)
		case c.slides(l) && c.SlidingWindow == 0:
			return fmt.Errorf("sliding_window: missing, although layer_types has %s", slidingAttention)
		}
	}
	return nil
}

func (c ModelConfig) validateFactors() error {
	for _, n := range []struct {
		field string
		value float64
	}{
		{"query_pre_attn_scalar", c.QueryPreAttnScalar},
		{"attn_logit_softcapping", c.AttnLogitSoftcapping},
		{"final_logit_softcapping", c.FinalLogitSoftcapping},
		{"embedding_multiplier", c.EmbeddingMultiplier},
		{"attention_multiplier", c.AttentionMultiplier},
		{"residual_multiplier", c.ResidualMultiplier},
		{"logits_scaling", c.LogitsScaling},
	} {
		if !(n.value == 0 || n.value >= 1e-6 && n.value <= 1e6) {
			return fmt.Errorf("%s: %v must be between 1e-6 and 1e6", n.field, n.value)
		}
	}
	rotary := c.RotaryDim()
	switch {
	case !(c.PartialRotaryFactor >= 0 && c.PartialRotaryFactor <= 1) || rotary < 2 || rotary%2 != 0:
		return fmt.Errorf("partial_rotary_factor: %v must rotate an even part of a head of %d", c.PartialRotaryFactor, c.HeadDim)
	case c.RopeLocalBaseFreq != 0 && !(c.RopeLocalBaseFreq >= 1 && c.RopeLocalBaseFreq <= math.MaxFloat32):
		return fmt.Errorf("rope_local_base_freq: %v must be at least 1", c.RopeLocalBaseFreq)
	case c.RopeScaling.Type == "yarn" && c.RopeTheta == 1:
		return fmt.Errorf("rope_theta: 1 must be more for yarn")
	}
	return c.RopeScaling.validate(rotary / 2)
}

func (c ModelConfig) validateIDs() error {
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
	h, q, kv, f := c.HiddenSize, c.NumAttentionHeads*c.HeadDim, c.NumKeyValueHeads*c.HeadDim, c.Family()
	qkvBias := c.AttentionBias || f.QKVBias
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
		if !f.PostNorm {
			add("input_layernorm.weight", h)
		}
		if f.Fused {
			linear("self_attn.qkv_proj", q+2*kv, h, false)
		} else {
			linear("self_attn.q_proj", q, h, qkvBias)
			linear("self_attn.k_proj", kv, h, qkvBias)
			linear("self_attn.v_proj", kv, h, qkvBias)
		}
		if f.QKNorm {
			add("self_attn.q_norm.weight", c.HeadDim)
			add("self_attn.k_norm.weight", c.HeadDim)
		}
		if f.QKNormWide {
			add("self_attn.q_norm.weight", q)
			add("self_attn.k_norm.weight", kv)
		}
		linear("self_attn.o_proj", h, q, c.AttentionBias)
		add("post_attention_layernorm.weight", h)
		if f.Sandwich {
			add("pre_feedforward_layernorm.weight", h)
		}
		if f.Fused {
			linear("mlp.gate_up_proj", 2*c.IntermediateSize, h, false)
		} else {
			linear("mlp.gate_proj", c.IntermediateSize, h, c.MLPBias)
			linear("mlp.up_proj", c.IntermediateSize, h, c.MLPBias)
		}
		linear("mlp.down_proj", h, c.IntermediateSize, c.MLPBias)
		if f.Sandwich || f.PostNorm {
			add("post_feedforward_layernorm.weight", h)
		}
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
