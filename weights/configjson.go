// config.json of a Hugging Face folder. A field either has a meaning here, is known to change nothing, or is refused by
// name: a model that is computed differently from how it was trained looks healthy and is wrong.

package weights

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// configFile is config.json. Pointers tell absent from zero.
type configFile struct {
	Architectures         []string       `json:"architectures"`
	ModelType             string         `json:"model_type"`
	HiddenSize            int            `json:"hidden_size"`
	IntermediateSize      int            `json:"intermediate_size"`
	NumHiddenLayers       int            `json:"num_hidden_layers"`
	NumAttentionHeads     int            `json:"num_attention_heads"`
	NumKeyValueHeads      *int           `json:"num_key_value_heads"`
	HeadDim               *int           `json:"head_dim"`
	VocabSize             int            `json:"vocab_size"`
	MaxPositionEmbeddings int            `json:"max_position_embeddings"`
	RMSNormEps            float64        `json:"rms_norm_eps"`
	RopeTheta             *float64       `json:"rope_theta"`
	RopeScaling           jsontext.Value `json:"rope_scaling"`
	RopeParameters        *ropeFile      `json:"rope_parameters"` // where transformers 5 puts both
	HiddenAct             *string        `json:"hidden_act"`
	TieWordEmbeddings     bool           `json:"tie_word_embeddings"`
	AttentionBias         bool           `json:"attention_bias"`
	BOS                   *int32         `json:"bos_token_id"`
	EOS                   idList         `json:"eos_token_id"`

	MLPBias            bool           `json:"mlp_bias"`
	UseSlidingWindow   bool           `json:"use_sliding_window"`
	SlidingWindow      *int           `json:"sliding_window"`
	LayerTypes         []string       `json:"layer_types"`
	AttentionDropout   float64        `json:"attention_dropout"`
	PartialRotary      *float64       `json:"partial_rotary_factor"`
	PretrainingTP      *int           `json:"pretraining_tp"`
	QuantizationConfig jsontext.Value `json:"quantization_config"`
	AutoMap            jsontext.Value `json:"auto_map"`
	TrustRemoteCode    bool           `json:"trust_remote_code"`

	Rest map[string]jsontext.Value `json:",embed"`
}

type ropeFile struct {
	Theta *float64 `json:"rope_theta"`
	Type  string   `json:"rope_type"`
}

// harmless fields change neither the mathematics nor what we write.
var harmless = []string{"_name_or_path", "_attn_implementation_autoset", "dtype", "torch_dtype", "initializer_range", "max_window_layers",
	"pad_token_id", "transformers_version", "use_cache", "return_dict", "output_attentions", "output_hidden_states"}

// ParseConfig reads config.json. Every field that changes the mathematics and is not implemented is refused by name.
func ParseConfig(data []byte) (ModelConfig, error) {
	c, err := parseConfig(data)
	if err != nil {
		return c, fmt.Errorf("weights: config.json: %w", err)
	}
	return c, nil
}

func parseConfig(data []byte) (ModelConfig, error) {
	var f configFile
	if err := json.Unmarshal(data, &f); err != nil {
		return ModelConfig{}, shorten(err)
	}
	if err := f.refuse(); err != nil {
		return ModelConfig{}, err
	}
	c := ModelConfig{
		Architecture:          f.Architectures[0],
		HiddenSize:            f.HiddenSize,
		IntermediateSize:      f.IntermediateSize,
		NumHiddenLayers:       f.NumHiddenLayers,
		NumAttentionHeads:     f.NumAttentionHeads,
		NumKeyValueHeads:      f.NumAttentionHeads,
		VocabSize:             f.VocabSize,
		MaxPositionEmbeddings: f.MaxPositionEmbeddings,
		RMSNormEps:            f.RMSNormEps,
		RopeTheta:             10000,
		TieWordEmbeddings:     f.TieWordEmbeddings,
		AttentionBias:         f.AttentionBias,
		BOS:                   f.BOS,
		EOS:                   f.EOS,
	}
	if f.NumKeyValueHeads != nil {
		c.NumKeyValueHeads = *f.NumKeyValueHeads
	} else if c.Architecture == Qwen3 {
		return c, errors.New("num_key_value_heads: missing")
	}
	if f.HeadDim != nil {
		c.HeadDim = *f.HeadDim
	} else if c.Architecture == Qwen3 {
		return c, errors.New("head_dim: missing")
	} else if f.NumAttentionHeads > 0 {
		c.HeadDim = f.HiddenSize / f.NumAttentionHeads
	}
	for _, theta := range []*float64{f.RopeTheta, f.ropeParameters().Theta} {
		if theta != nil {
			c.RopeTheta = *theta
		}
	}
	return c, c.validate()
}

func (f configFile) ropeParameters() ropeFile {
	if f.RopeParameters == nil {
		return ropeFile{}
	}
	return *f.RopeParameters
}

// refuse names the first field that asks for something that is not implemented.
func (f configFile) refuse() error {
	if len(f.Architectures) != 1 || modelTypes[f.Architectures[0]] == "" {
		return fmt.Errorf("architectures: %q is not supported (%s and %s are)", f.Architectures, Llama, Qwen3)
	}
	if f.ModelType != modelTypes[f.Architectures[0]] {
		return fmt.Errorf("model_type: %q does not belong to %s", f.ModelType, f.Architectures[0])
	}
	theta, rope := f.RopeTheta, f.ropeParameters()
	for _, c := range []struct {
		bad         bool
		field, what string
	}{
		{present(f.AutoMap), "auto_map", "code that comes with a model is never run"},
		{f.TrustRemoteCode, "trust_remote_code", "code that comes with a model is never run"},
		{present(f.QuantizationConfig), "quantization_config", "quantized weights are not supported; use the unquantized model"},
		{!defaultRope(f.RopeScaling), "rope_scaling", fmt.Sprintf("%s is not supported", f.RopeScaling)},
		{rope.Type != "" && rope.Type != "default", "rope_parameters.rope_type", fmt.Sprintf("%q is not supported", rope.Type)},
		{theta != nil && rope.Theta != nil && *theta != *rope.Theta, "rope_theta", "contradicts rope_parameters.rope_theta"},
		{f.HiddenAct != nil && *f.HiddenAct != "silu", "hidden_act", fmt.Sprintf("%q is not supported (silu is)", deref(f.HiddenAct))},
		{f.MLPBias, "mlp_bias", "true is not supported"},
		{f.UseSlidingWindow, "use_sliding_window", "true is not supported"},
		{f.SlidingWindow != nil && f.Architectures[0] != Qwen3, "sliding_window", "is not supported"},
		{slices.ContainsFunc(f.LayerTypes, func(t string) bool { return t != "full_attention" }), "layer_types", fmt.Sprintf("%q: only full_attention is supported", f.LayerTypes)},
		{f.AttentionDropout != 0, "attention_dropout", fmt.Sprintf("%v is not supported (0 is)", f.AttentionDropout)},
		{f.PartialRotary != nil && *f.PartialRotary != 1, "partial_rotary_factor", "only 1 is supported"},
		{f.PretrainingTP != nil && *f.PretrainingTP > 1, "pretraining_tp", "more than 1 is not supported"},
	} {
		if c.bad {
			return fmt.Errorf("%s: %s", c.field, c.what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Rest)) {
		if !slices.Contains(harmless, name) {
			return fmt.Errorf("%s: unknown field; it may change the mathematics (remove it if it does not)", name)
		}
	}
	return nil
}

func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// defaultRope accepts null and the spelled-out default.
func defaultRope(v jsontext.Value) bool {
	if !present(v) {
		return true
	}
	var r struct {
		RopeType string `json:"rope_type"`
		Type     string `json:"type"`
	}
	err := json.Unmarshal(v, &r, json.RejectUnknownMembers(true))
	return err == nil && cmp.Or(r.RopeType, r.Type) == "default" && (r.Type == "" || r.Type == "default")
}

// idList is null, one id or a list of ids.
type idList []int32

func (l *idList) UnmarshalJSON(data []byte) error {
	*l = nil
	switch jsontext.Value(data).Kind() {
	case 'n':
		return nil
	case '[':
		return json.Unmarshal(data, (*[]int32)(l))
	}
	*l = make(idList, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// shorten drops Go's type names from a JSON error.
func shorten(err error) error {
	var s *json.SemanticError
	if !errors.As(err, &s) {
		return err
	}
	what := cmp.Or(s.Err, fmt.Errorf("a JSON %s does not belong here", s.JSONKind))
	if s.JSONPointer == "" {
		return what
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(string(s.JSONPointer), "/"), what)
}

// marshalConfig writes config.json for transformers.
func marshalConfig(c ModelConfig) ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	var eos any // one id is written alone, as most readers expect
	switch len(c.EOS) {
	case 0:
	case 1:
		eos = c.EOS[0]
	default:
		eos = c.EOS
	}
	return json.Marshal(struct {
		Architectures         []string `json:"architectures"`
		ModelType             string   `json:"model_type"`
		HiddenSize            int      `json:"hidden_size"`
		IntermediateSize      int      `json:"intermediate_size"`
		NumHiddenLayers       int      `json:"num_hidden_layers"`
		NumAttentionHeads     int      `json:"num_attention_heads"`
		NumKeyValueHeads      int      `json:"num_key_value_heads"`
		HeadDim               int      `json:"head_dim"`
		VocabSize             int      `json:"vocab_size"`
		MaxPositionEmbeddings int      `json:"max_position_embeddings"`
		RMSNormEps            float64  `json:"rms_norm_eps"`
		RopeTheta             float64  `json:"rope_theta"`
		HiddenAct             string   `json:"hidden_act"`
		TieWordEmbeddings     bool     `json:"tie_word_embeddings"`
		AttentionBias         bool     `json:"attention_bias"`
		BOS                   *int32   `json:"bos_token_id"`
		EOS                   any      `json:"eos_token_id"`
		TorchDType            string   `json:"torch_dtype"`
	}{
		[]string{c.Architecture}, modelTypes[c.Architecture], c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers, c.NumAttentionHeads,
		c.NumKeyValueHeads, c.HeadDim, c.VocabSize, c.MaxPositionEmbeddings, c.RMSNormEps, c.RopeTheta, "silu", c.TieWordEmbeddings,
		c.AttentionBias, c.BOS, eos, "float32",
	}, jsontext.WithIndent(" "))
}
