package weights

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const llamaJSON = `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"intermediate_size":172,"num_hidden_layers":5,
	"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":512,"max_position_embeddings":512,"rms_norm_eps":1e-05,"rope_theta":10000.0,
	"hidden_act":"silu","tie_word_embeddings":true,"bos_token_id":1,"eos_token_id":[1,2],"torch_dtype":"float32"}`

const qwenJSON = `{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","attention_bias":false,"attention_dropout":0.0,"bos_token_id":3,
	"eos_token_id":4,"head_dim":16,"hidden_act":"silu","hidden_size":24,"initializer_range":0.02,"intermediate_size":40,
	"max_position_embeddings":40960,"max_window_layers":28,"num_attention_heads":4,"num_hidden_layers":2,"num_key_value_heads":2,
	"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":1000000,"sliding_window":null,"tie_word_embeddings":false,
	"torch_dtype":"bfloat16","transformers_version":"4.51.0","use_cache":true,"use_sliding_window":false,"vocab_size":100}`

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(llamaJSON))
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	want := ModelConfig{Architecture: Llama, HiddenSize: 64, IntermediateSize: 172, NumHiddenLayers: 5, NumAttentionHeads: 8, NumKeyValueHeads: 4,
		HeadDim: 8, VocabSize: 512, MaxPositionEmbeddings: 512, RMSNormEps: 1e-5, RopeTheta: 10000, TieWordEmbeddings: true, BOS: &one, EOS: []int32{1, 2}}
	if show(c) != show(want) {
		t.Errorf("got  %s\nwant %s", show(c), show(want))
	}
	c, err = ParseConfig([]byte(qwenJSON))
	if err != nil {
		t.Fatal(err)
	}
	three := int32(3)
	want = ModelConfig{Architecture: Qwen3, HiddenSize: 24, IntermediateSize: 40, NumHiddenLayers: 2, NumAttentionHeads: 4, NumKeyValueHeads: 2,
		HeadDim: 16, VocabSize: 100, MaxPositionEmbeddings: 40960, RMSNormEps: 1e-6, RopeTheta: 1e6, BOS: &three, EOS: []int32{4}}
	if show(c) != show(want) || !c.Family().QKNorm {
		t.Errorf("got  %s\nwant %s", show(c), show(want))
	}
}

func show(c ModelConfig) string {
	id := func(p *int32) int32 {
		if p == nil {
			return -1
		}
		return *p
	}
	bos, pad := id(c.BOS), id(c.PAD)
	c.BOS, c.PAD = nil, nil
	return fmt.Sprintf("%+v bos %d pad %d", c, bos, pad)
}

// edit puts a field into a config, replacing the one of the same name.
func edit(config, field, value string) string {
	start := strings.Index(config, `"`+field+`":`)
	if start < 0 {
		return strings.Replace(config, "{", `{"`+field+`":`+value+",", 1)
	}
	end := start + strings.IndexAny(config[start:], ",}")
	if config[start+len(field)+3] == '[' {
		end = start + strings.Index(config[start:], "]") + 1
	}
	return config[:start] + `"` + field + `":` + value + config[end:]
}

func TestConfigRefusals(t *testing.T) {
	for _, c := range []struct{ base, field, value, want string }{
		{llamaJSON, "architectures", `["BlendForCausalLM"]`, `architectures: ["BlendForCausalLM"] is not supported (Exaone4ForCausalLM, `},
		{llamaJSON, "architectures", `[]`, "architectures"},
		{llamaJSON, "model_type", `"qwen3"`, `model_type: "qwen3" does not belong to LlamaForCausalLM`},
		{llamaJSON, "auto_map", `{"AutoModel":"modeling.X"}`, "auto_map: code that comes with a model is never run"},
		{llamaJSON, "trust_remote_code", `true`, "trust_remote_code"},
		{llamaJSON, "_attn_implementation_internal", `"flash"`, "_attn_implementation_internal: unknown field"},
		{llamaJSON, "quantization_config", `{"quant_method":"fp8"}`, "quantization_config"},
		{llamaJSON, "rope_scaling", `{"rope_type":"llama3","factor":8.0}`, "rope_scaling: low_freq_factor 0 and high_freq_factor 0 must be"},
		{llamaJSON, "rope_scaling", `{"type":"linear"}`, "rope_scaling: factor is missing"},
		{llamaJSON, "rope_scaling", `{"type":"linear","factor":0.5}`, "rope_scaling: factor: 0.5 must be between 1 and 1e6"},
		{llamaJSON, "rope_scaling", `{"type":"linear","rope_type":"yarn","factor":2.0}`, `rope_scaling: rope_type "yarn" contradicts type "linear"`},
		{llamaJSON, "rope_scaling", `{"type":"mrope","mrope_section":[16,24,24]}`, `rope_scaling: mrope_section: unknown object member name`},
		{llamaJSON, "rope_scaling", `{"type":"ntk","factor":2.0}`, `rope_scaling: "ntk" is not supported (linear, dynamic, llama3, yarn and longrope are)`},
		{llamaJSON, "rope_scaling", `{"type":"yarn","factor":2.0,"beta_fast":1.0,"beta_slow":3.0}`, "rope_scaling: beta_slow 3 and beta_fast 1"},
		{llamaJSON, "rope_scaling", `{"type":"longrope","factor":2.0,"short_factor":[1.0],"long_factor":[1.0]}`, "factor: has 1 numbers; a head has 4 frequencies"},
		{llamaJSON, "rope_parameters", `{"rope_theta":500000.0,"rope_type":"default"}`, "rope_theta: contradicts"},
		{llamaJSON, "hidden_act", `"gelu"`, `hidden_act: "gelu" is not supported`},
		{qwenJSON, "mlp_bias", `true`, "mlp_bias: true is not supported for Qwen3ForCausalLM"},
		{llamaJSON, "sliding_window", `4096`, "sliding_window: 4096 is not supported for LlamaForCausalLM"},
		{qwenJSON, "layer_types", `["full_attention","sliding_attention"]`, "sliding_window: missing, although layer_types has sliding_attention"},
		{qwenJSON, "layer_types", `["full_attention","linear_attention"]`, `layer_types: "linear_attention" is not supported (full_attention and sliding_attention are)`},
		{qwenJSON, "layer_types", `["full_attention"]`, "layer_types: has 1 entries for 2 layers"},
		{qwenJSON, "attention_dropout", `0.1`, "attention_dropout"},
		{llamaJSON, "partial_rotary_factor", `0.5`, "partial_rotary_factor"},
		{llamaJSON, "pretraining_tp", `2`, "pretraining_tp"},
		{llamaJSON, "logit_scale", `0.5`, "logit_scale: unknown field"},
		{llamaJSON, "hidden_size", `64.5`, "hidden_size"},
		{llamaJSON, "hidden_size", `"64"`, "hidden_size"},
		{llamaJSON, "hidden_size", `0`, "hidden_size: 0 must be between 1 and"},
		{llamaJSON, "num_hidden_layers", `1000000000`, "num_hidden_layers: 1000000000 must be"},
		{llamaJSON, "num_key_value_heads", `3`, "num_key_value_heads: 3 does not divide num_attention_heads 8"},
		{llamaJSON, "head_dim", `7`, "head_dim: 7 must be even"},
		{qwenJSON, "head_dim", `null`, "head_dim: missing"},
		{qwenJSON, "num_key_value_heads", `null`, "num_key_value_heads: missing"},
		{llamaJSON, "rms_norm_eps", `0`, "rms_norm_eps"},
		{llamaJSON, "rope_theta", `0`, "rope_theta"},
		{llamaJSON, "eos_token_id", `[512]`, "eos_token_id: 512 is outside the vocabulary of 512"},
		{llamaJSON, "eos_token_id", `"</s>"`, "eos_token_id"},
		{llamaJSON, "bos_token_id", `-1`, "bos_token_id: -1 is outside"},
	} {
		_, err := ParseConfig([]byte(edit(c.base, c.field, c.value)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "weights: config.json: ") {
			t.Errorf("%s = %s: got %v, want %q", c.field, c.value, err, c.want)
		}
	}
	for _, text := range []string{``, `{`, `[]`, `{"a":1} x`, "{\"hidden_size\":1,\"hidden_size\":2}"} {
		if _, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestConfigAccepted(t *testing.T) {
	for _, c := range []struct{ base, field, value string }{
		{llamaJSON, "rope_scaling", `null`},
		{llamaJSON, "rope_scaling", `{"rope_type":"default"}`},
		{llamaJSON, "rope_scaling", `{"type":"linear","factor":2.0}`},
		{llamaJSON, "rope_scaling", `{"type":"dynamic","factor":2.0}`},
		{llamaJSON, "rope_parameters", `{"rope_theta":10000.0,"rope_type":"yarn","factor":4.0}`},
		{llamaJSON, "mlp_bias", `true`},
		{llamaJSON, "rope_parameters", `{"rope_theta":10000.0,"rope_type":"default"}`},
		{llamaJSON, "num_key_value_heads", `null`},
		{llamaJSON, "eos_token_id", `null`},
		{llamaJSON, "bos_token_id", `null`},
		{llamaJSON, "pretraining_tp", `1`},
		{llamaJSON, "quantization_config", `null`},
		{qwenJSON, "layer_types", `["full_attention","full_attention"]`},
		{qwenJSON, "sliding_window", `4096`},
	} {
		if _, err := ParseConfig([]byte(edit(c.base, c.field, c.value))); err != nil {
			t.Errorf("%s = %s: %v", c.field, c.value, err)
		}
	}
}

func TestMarshalConfigRoundTrip(t *testing.T) {
	texts := []string{llamaJSON, qwenJSON, edit(llamaJSON, "eos_token_id", "null"), edit(qwenJSON, "attention_bias", "true")}
	for _, text := range published {
		texts = append(texts, text)
	}
	for _, text := range texts {
		c, err := ParseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := marshalConfig(c, "")
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseConfig(data)
		if err != nil || show(back) != show(c) {
			t.Errorf("got  %s (%v)\nwant %s", show(back), err, show(c))
		}
	}
}

func TestTensorsOfConfig(t *testing.T) {
	c, err := ParseConfig([]byte(edit(edit(qwenJSON, "num_hidden_layers", "1"), "attention_bias", "true")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.Tensors() {
		got = append(got, fmt.Sprint(s.Name, s.Shape))
	}
	want := []string{
		"model.embed_tokens.weight[100 24]",
		"model.layers.0.input_layernorm.weight[24]",
		"model.layers.0.self_attn.q_proj.weight[64 24]", "model.layers.0.self_attn.q_proj.bias[64]",
		"model.layers.0.self_attn.k_proj.weight[32 24]", "model.layers.0.self_attn.k_proj.bias[32]",
		"model.layers.0.self_attn.v_proj.weight[32 24]", "model.layers.0.self_attn.v_proj.bias[32]",
		"model.layers.0.self_attn.q_norm.weight[16]", "model.layers.0.self_attn.k_norm.weight[16]",
		"model.layers.0.self_attn.o_proj.weight[24 64]", "model.layers.0.self_attn.o_proj.bias[24]",
		"model.layers.0.post_attention_layernorm.weight[24]",
		"model.layers.0.mlp.gate_proj.weight[40 24]", "model.layers.0.mlp.up_proj.weight[40 24]", "model.layers.0.mlp.down_proj.weight[24 40]",
		"model.norm.weight[24]", "lm_head.weight[100 24]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(llamaJSON))
	f.Add([]byte(qwenJSON))
	for _, text := range published {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig(data)
		if err != nil {
			return
		}
		written, err := marshalConfig(c, "")
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseConfig(written); err != nil || show(back) != show(c) {
			t.Errorf("%s became %s (%v)", show(c), show(back), err)
		}
	})
}
