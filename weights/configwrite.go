// config.json for transformers: rope_theta and rope_scaling as all its versions read them.

package weights

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strconv"
	"strings"
)

// configFile is config.json as we write it; what an architecture does not have is left out, but for the ids, whose absence
// would mean a default.
type configFile struct {
	Architectures         []string  `json:"architectures"`
	ModelType             string    `json:"model_type"`
	HiddenSize            int       `json:"hidden_size"`
	IntermediateSize      int       `json:"intermediate_size"`
	NumHiddenLayers       int       `json:"num_hidden_layers"`
	NumAttentionHeads     int       `json:"num_attention_heads"`
	NumKeyValueHeads      int       `json:"num_key_value_heads"`
	HeadDim               int       `json:"head_dim"`
	VocabSize             int       `json:"vocab_size"`
	MaxPositionEmbeddings int       `json:"max_position_embeddings"`
	RMSNormEps            decimal   `json:"rms_norm_eps"`
	RopeTheta             decimal   `json:"rope_theta"`
	RopeScaling           *ropeFile `json:"rope_scaling,omitzero"`
	RopeLocalBaseFreq     decimal   `json:"rope_local_base_freq,omitzero"`
	PartialRotaryFactor   decimal   `json:"partial_rotary_factor,omitzero"`
	Original              int       `json:"original_max_position_embeddings,omitzero"`
	HiddenAct             string    `json:"hidden_act"`
	HiddenActivation      string    `json:"hidden_activation,omitzero"`
	TieWordEmbeddings     bool      `json:"tie_word_embeddings"`
	AttentionBias         *bool     `json:"attention_bias,omitzero"`
	MLPBias               *bool     `json:"mlp_bias,omitzero"`
	UseSlidingWindow      *bool     `json:"use_sliding_window,omitzero"`
	SlidingWindow         any       `json:"sliding_window,omitzero"`
	LayerTypes            []string  `json:"layer_types,omitzero"`
	NoRopeLayers          []int     `json:"no_rope_layers,omitzero"`
	QueryPreAttnScalar    float64   `json:"query_pre_attn_scalar,omitzero"`
	AttnLogitSoftcapping  any       `json:"attn_logit_softcapping,omitzero"`
	FinalLogitSoftcapping any       `json:"final_logit_softcapping,omitzero"`
	EmbeddingMultiplier   decimal   `json:"embedding_multiplier,omitzero"`
	AttentionMultiplier   decimal   `json:"attention_multiplier,omitzero"`
	ResidualMultiplier    decimal   `json:"residual_multiplier,omitzero"`
	LogitsScaling         decimal   `json:"logits_scaling,omitzero"`
	BOS                   *int32    `json:"bos_token_id"`
	EOS                   any       `json:"eos_token_id"`
	PAD                   *int32    `json:"pad_token_id"`
	TorchDType            string    `json:"torch_dtype"`
}

// decimal is written with a point or an exponent, since transformers tells 4.0 from 4.
type decimal float64

func (d decimal) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(d), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// null is written as such where leaving a field out would mean a default.
var null = jsontext.Value("null")

// marshalConfig writes config.json for transformers, with the type of the weights beside it ("" is F32).
func marshalConfig(c ModelConfig, dtype DType) ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	w := configFile{
		Architectures: []string{c.Architecture}, ModelType: c.Family().ModelType, HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize,
		NumHiddenLayers: c.NumHiddenLayers, NumAttentionHeads: c.NumAttentionHeads, NumKeyValueHeads: c.NumKeyValueHeads, HeadDim: c.HeadDim,
		VocabSize: c.VocabSize, MaxPositionEmbeddings: c.MaxPositionEmbeddings, RMSNormEps: decimal(c.RMSNormEps), RopeTheta: decimal(c.RopeTheta),
		RopeScaling: c.RopeScaling.marshal(), HiddenAct: "silu", TieWordEmbeddings: c.TieWordEmbeddings,
		BOS: c.BOS, PAD: c.PAD, TorchDType: cmp.Or(dtype, F32).TorchName(),
		EmbeddingMultiplier: decimal(c.EmbeddingMultiplier), AttentionMultiplier: decimal(c.AttentionMultiplier),
		ResidualMultiplier: decimal(c.ResidualMultiplier), LogitsScaling: decimal(c.LogitsScaling), QueryPreAttnScalar: c.QueryPreAttnScalar,
	}
	switch len(c.EOS) { // one id is written alone, as most readers expect
	case 0:
	case 1:
		w.EOS = c.EOS[0]
	default:
		w.EOS = c.EOS
	}
	w.family(c)
	return json.Marshal(w, jsontext.WithIndent(" "))
}

// family adds what c's architecture has beside the numbers of all.
func (w *configFile) family(c ModelConfig) {
	f := c.Family()
	if !f.Fused && !f.QKVBias {
		w.AttentionBias = &c.AttentionBias
	}
	if c.Architecture == Llama || c.Architecture == SmolLM3 || c.Architecture == Granite {
		w.MLPBias = &c.MLPBias
	}
	if f.GELU {
		w.HiddenAct, w.HiddenActivation = "gelu_pytorch_tanh", "gelu_pytorch_tanh"
	}
	if c.Architecture == Gemma3 {
		w.RopeLocalBaseFreq = decimal(c.RopeLocalBaseFreq)
	}
	if f.Fused {
		w.PartialRotaryFactor = decimal(c.PartialRotaryFactor)
		w.Original = c.RopeScaling.Original
	}
	w.layers(c)
}

// layers adds windows, caps and rotations: null where the architecture would take a default.
func (w *configFile) layers(c ModelConfig) {
	number := func(v float64) any {
		if v == 0 {
			return null
		}
		return decimal(v)
	}
	switch c.Architecture {
	case Gemma2:
		w.AttnLogitSoftcapping, w.FinalLogitSoftcapping = number(c.AttnLogitSoftcapping), number(c.FinalLogitSoftcapping)
	case Gemma3:
		w.FinalLogitSoftcapping = number(c.FinalLogitSoftcapping)
	}
	slides := c.LayerTypes != nil
	switch c.Architecture {
	case Llama, Gemma, Olmo2, Granite:
		return
	case Qwen2, Qwen3, SmolLM3:
		w.UseSlidingWindow = &slides
	}
	w.SlidingWindow = null
	if slides {
		w.SlidingWindow = c.SlidingWindow
	}
	if c.Architecture != Mistral && c.Architecture != Phi3 {
		w.LayerTypes = c.LayerTypes
		for l := 0; !slides && l < c.NumHiddenLayers; l++ {
			w.LayerTypes = append(w.LayerTypes, fullAttention)
		}
	}
	for l := 0; c.Architecture == SmolLM3 && l < c.NumHiddenLayers; l++ {
		rotates := 1
		if c.NoRope != nil && c.NoRope[l] {
			rotates = 0
		}
		w.NoRopeLayers = append(w.NoRopeLayers, rotates)
	}
}
