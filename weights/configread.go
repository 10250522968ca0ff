// config.json of a Hugging Face folder. A field either has a meaning here, is known to change nothing, or is refused by
// name: a model that is computed differently from how it was trained looks healthy and is wrong. So each reader asks for the
// fields that its architecture honours, and what nobody asked for must be on a list.

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

// harmless fields change neither the mathematics nor what we write; sampling settings are for nobody to apply.
var harmless = []string{"_name_or_path", "_attn_implementation_autoset", "attn_implementation", "cache_implementation", "dtype", "torch_dtype",
	"initializer_range", "is_llama_config", "max_window_layers", "transformers.js_config", "transformers_version", "use_cache", "return_dict",
	"output_attentions", "output_hidden_states", "unsloth_fixed", "unsloth_version", "_sliding_window_pattern", "tokenizer_class", "id2label",
	"label2id", "max_sequence_length", "do_sample", "temperature", "top_k", "top_p"}

// neutral fields change nothing at one value, whatever the architecture; null is as neutral.
var neutral = map[string]any{
	"attention_bias": false, "mlp_bias": false, "lm_head_bias": false, "use_bias": false, "qk_layernorm": false, "rope_interleaved": false,
	"use_mrope": false, "use_sliding_window": false, "use_bidirectional_attention": false,
	"is_encoder_decoder": false, "add_cross_attention": false, "tie_encoder_decoder": false,
	"attention_dropout": 0.0, "hidden_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
	"pretraining_tp": 1.0, "full_attn_mod": 1.0, "interpolate_factor": 1.0, "partial_rotary_factor": 1.0,
	"embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0,
}

// ParseConfig reads config.json. Every field that changes the mathematics and is not implemented is refused by name.
func ParseConfig(data []byte) (ModelConfig, error) {
	c, err := parseConfig(data)
	if err != nil {
		return c, fmt.Errorf("weights: config.json: %w", err)
	}
	return c, nil
}

func parseConfig(data []byte) (ModelConfig, error) {
	f := &fields{read: map[string]bool{}}
	if err := json.Unmarshal(data, &f.values); err != nil {
		return ModelConfig{}, shorten(err)
	}
	if err := f.refuseCode(); err != nil {
		return ModelConfig{}, err
	}
	name, family, err := findFamily(field[[]string](f, "architectures", nil), field(f, "model_type", ""))
	if err := cmp.Or(f.err, err); err != nil {
		return ModelConfig{}, err
	}
	c := f.config(name, family)
	if f.err == nil {
		f.refuseRest(name, family)
	}
	return c, cmp.Or(f.err, c.validate())
}

// config reads what all architectures share, then what this one has.
func (f *fields) config(name string, family Family) ModelConfig {
	c := ModelConfig{
		Architecture:          name,
		HiddenSize:            field(f, "hidden_size", 0),
		IntermediateSize:      field(f, "intermediate_size", 0),
		NumHiddenLayers:       field(f, "num_hidden_layers", 0),
		NumAttentionHeads:     field(f, "num_attention_heads", 0),
		VocabSize:             field(f, "vocab_size", 0),
		MaxPositionEmbeddings: field(f, "max_position_embeddings", 0),
		RMSNormEps:            field(f, "rms_norm_eps", 0.0),
		TieWordEmbeddings:     field(f, "tie_word_embeddings", family.tied),
		BOS:                   field[*int32](f, "bos_token_id", nil),
		EOS:                   field[idList](f, "eos_token_id", nil),
		PAD:                   field[*int32](f, "pad_token_id", nil),
	}
	c.HeadDim = f.orElse("head_dim", family.ownHeadDim, c.HiddenSize/max(1, c.NumAttentionHeads))
	c.NumKeyValueHeads = f.orElse("num_key_value_heads", family.ownKVHeads, c.NumAttentionHeads)
	f.readActivation(family)
	f.readRope(&c, family)
	if f.err == nil {
		f.err = c.validateNumbers() // before layers are listed
	}
	if f.err == nil {
		family.more(f, &c)
	}
	return c
}

// orElse reads a number that follows from others when it is absent and needs not be there.
func (f *fields) orElse(name string, needed bool, otherwise int) int {
	if needed && !f.present(name) {
		f.fail("%s: missing", name)
	}
	return field(f, name, otherwise)
}

func (f *fields) readActivation(family Family) {
	accepted, names := []string{"silu", "swish"}, []string{"hidden_act"}
	if family.GELU {
		// Gemma's first files say gelu and mean its tanh form.
		accepted, names = []string{"gelu_pytorch_tanh", "gelu"}, []string{"hidden_act", "hidden_activation"}
	}
	for _, name := range names {
		if act := field(f, name, accepted[0]); !slices.Contains(accepted, act) {
			f.fail("%s: %q is not supported (%s is)", name, act, accepted[0])
		}
	}
}

// refuseCode names a field that asks for code of the model's own or for quantized weights.
func (f *fields) refuseCode() error {
	if f.present("quantization_config") || f.present("compression_config") {
		return errors.New("quantization_config: quantized weights are not supported; use the unquantized model")
	}
	for _, name := range []string{"auto_map", "trust_remote_code"} {
		if f.present(name) && string(f.values[name]) != "false" && !families[f.onlyArchitecture()].shipsCode {
			return fmt.Errorf("%s: code that comes with a model is never run", name)
		}
		f.read[name] = true
	}
	return nil
}

func (f *fields) onlyArchitecture() string {
	var names []string
	if json.Unmarshal(f.values["architectures"], &names) != nil || len(names) != 1 {
		return ""
	}
	return names[0]
}

// refuseRest names the first field that nobody has asked for and that may change something.
func (f *fields) refuseRest(name string, family Family) {
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if f.read[key] || !f.present(key) || slices.Contains(harmless, key) {
			continue
		}
		value := f.values[key]
		known, listed := neutral[key]
		var got any
		if listed && json.Unmarshal(value, &got) == nil && got == known {
			continue
		}
		if listed || f.knownElsewhere(key) {
			f.fail("%s: %.40s is not supported for %s", key, value, name)
			return
		}
		f.fail("%s: unknown field; it may change the mathematics (remove it if it does not)", key)
		return
	}
}

// knownElsewhere reports whether other architectures honour a field.
func (f *fields) knownElsewhere(key string) bool {
	return slices.Contains([]string{"sliding_window", "layer_types", "final_logit_softcapping", "attn_logit_softcapping",
		"query_pre_attn_scalar", "no_rope_layers", "rope_local_base_freq", "attention_multiplier",
		"sliding_window_pattern"}, key)
}

// fields are the members of config.json. The first error stays.
type fields struct {
	values map[string]jsontext.Value
	read   map[string]bool // by somebody who honours it
	err    error
}

// present reports whether a field is there and not null.
func (f *fields) present(name string) bool {
	v := f.values[name]
	return len(v) > 0 && v.Kind() != 'n'
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// field reads a member; absent is its value when it is not there or null.
func field[T any](f *fields, name string, absent T) T {
	f.read[name] = true
	if !f.present(name) {
		return absent
	}
	var v T
	if err := json.Unmarshal(f.values[name], &v, json.RejectUnknownMembers(true)); err != nil {
		f.fail("%s: %w", name, shorten(err))
	}
	return v
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
