package weights

import (
	"strings"
	"testing"
)

// published has the fields of config.json as the vendors' folders have them, in their spellings.
var published = map[string]string{
	"Llama 3.2 1B": `{"architectures":["LlamaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":128000,"eos_token_id":[128001,128008,128009],
		"head_dim":64,"hidden_act":"silu","hidden_size":2048,"initializer_range":0.02,"intermediate_size":8192,"max_position_embeddings":131072,"mlp_bias":false,
		"model_type":"llama","num_attention_heads":32,"num_hidden_layers":16,"num_key_value_heads":8,"pretraining_tp":1,"rms_norm_eps":1e-05,
		"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},
		"rope_theta":500000.0,"tie_word_embeddings":true,"torch_dtype":"bfloat16","transformers_version":"4.45.0.dev0","use_cache":true,"vocab_size":128256}`,
	"Llama 2 7B": `{"_name_or_path":"meta-llama/Llama-2-7b-hf","architectures":["LlamaForCausalLM"],"bos_token_id":1,"eos_token_id":2,"hidden_act":"silu",
		"hidden_size":4096,"initializer_range":0.02,"intermediate_size":11008,"max_position_embeddings":4096,"model_type":"llama","num_attention_heads":32,
		"num_hidden_layers":32,"num_key_value_heads":32,"pretraining_tp":1,"rms_norm_eps":1e-05,"rope_scaling":null,"tie_word_embeddings":false,
		"torch_dtype":"float16","transformers_version":"4.31.0.dev0","use_cache":true,"vocab_size":32000}`,
	"SmolLM2 135M": `{"architectures":["LlamaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":1,"eos_token_id":2,"hidden_act":"silu",
		"hidden_size":576,"initializer_range":0.041666666666666664,"intermediate_size":1536,"is_llama_config":true,"max_position_embeddings":8192,"mlp_bias":false,
		"model_type":"llama","num_attention_heads":9,"num_hidden_layers":30,"num_key_value_heads":3,"pad_token_id":2,"pretraining_tp":1,"rms_norm_eps":1e-05,
		"rope_interleaved":false,"rope_scaling":null,"rope_theta":100000,"tie_word_embeddings":true,"torch_dtype":"bfloat16",
		"transformers.js_config":{"kv_cache_dtype":{"q4f16":"float16","fp16":"float16"}},"transformers_version":"4.42.3","use_cache":true,"vocab_size":49152}`,
	"Mistral 7B v0.1": `{"architectures":["MistralForCausalLM"],"bos_token_id":1,"eos_token_id":2,"hidden_act":"silu","hidden_size":4096,"initializer_range":0.02,
		"intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mistral","num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,
		"rms_norm_eps":1e-05,"rope_theta":10000.0,"sliding_window":4096,"tie_word_embeddings":false,"torch_dtype":"bfloat16",
		"transformers_version":"4.34.0.dev0","use_cache":true,"vocab_size":32000}`,
	"Mistral Nemo": `{"architectures":["MistralForCausalLM"],"attention_dropout":0.0,"bos_token_id":1,"eos_token_id":2,"head_dim":128,"hidden_act":"silu",
		"hidden_size":5120,"initializer_range":0.02,"intermediate_size":14336,"max_position_embeddings":131072,"model_type":"mistral","num_attention_heads":32,
		"num_hidden_layers":40,"num_key_value_heads":8,"rms_norm_eps":1e-05,"rope_theta":1000000.0,"sliding_window":null,"tie_word_embeddings":false,
		"torch_dtype":"bfloat16","transformers_version":"4.43.0.dev0","use_cache":true,"vocab_size":131072}`,
	"Qwen2.5 0.5B": `{"architectures":["Qwen2ForCausalLM"],"attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,"hidden_act":"silu","hidden_size":896,
		"initializer_range":0.02,"intermediate_size":4864,"max_position_embeddings":32768,"max_window_layers":21,"model_type":"qwen2","num_attention_heads":14,
		"num_hidden_layers":24,"num_key_value_heads":2,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,"tie_word_embeddings":true,
		"torch_dtype":"bfloat16","transformers_version":"4.43.1","use_cache":true,"use_sliding_window":false,"vocab_size":151936}`,
	"Qwen2.5 7B, long": `{"architectures":["Qwen2ForCausalLM"],"attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,"hidden_act":"silu",
		"hidden_size":3584,"initializer_range":0.02,"intermediate_size":18944,"max_position_embeddings":32768,"max_window_layers":28,"model_type":"qwen2",
		"num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,"rms_norm_eps":1e-06,
		"rope_scaling":{"factor":4.0,"original_max_position_embeddings":32768,"type":"yarn"},"rope_theta":1000000.0,"sliding_window":131072,
		"tie_word_embeddings":false,"torch_dtype":"bfloat16","transformers_version":"4.43.1","use_cache":true,"use_sliding_window":false,"vocab_size":152064}`,
	"Qwen3 0.6B": `{"architectures":["Qwen3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,"head_dim":128,
		"hidden_act":"silu","hidden_size":1024,"initializer_range":0.02,"intermediate_size":3072,"max_position_embeddings":40960,"max_window_layers":28,
		"model_type":"qwen3","num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,"rms_norm_eps":1e-06,"rope_scaling":null,
		"rope_theta":1000000,"sliding_window":null,"tie_word_embeddings":true,"torch_dtype":"bfloat16","transformers_version":"4.51.0","use_cache":true,
		"use_sliding_window":false,"vocab_size":151936}`,
	"SmolLM3 3B": `{"architectures":["SmolLM3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":null,"eos_token_id":128012,
		"hidden_act":"silu","hidden_size":2048,"initializer_range":0.02,"intermediate_size":11008,"layer_types":[` + layers("full_attention", 36) + `],
		"max_position_embeddings":65536,"max_window_layers":28,"mlp_bias":false,"model_type":"smollm3","no_rope_layer_interval":4,
		"no_rope_layers":[1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0],"num_attention_heads":16,"num_hidden_layers":36,
		"num_key_value_heads":4,"pad_token_id":128004,"pretraining_tp":2,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":5000000.0,"sliding_window":null,
		"torch_dtype":"bfloat16","transformers_version":"4.54.0.dev0","use_cache":false,"use_sliding_window":false,"vocab_size":128256}`,
	"Phi-3 mini 4k": `{"_name_or_path":"Phi-3-mini-4k-instruct","architectures":["Phi3ForCausalLM"],"attention_dropout":0.0,
		"auto_map":{"AutoConfig":"configuration_phi3.Phi3Config","AutoModelForCausalLM":"modeling_phi3.Phi3ForCausalLM"},"bos_token_id":1,"embd_pdrop":0.0,
		"eos_token_id":32000,"hidden_act":"silu","hidden_size":3072,"initializer_range":0.02,"intermediate_size":8192,"max_position_embeddings":4096,
		"model_type":"phi3","num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"original_max_position_embeddings":4096,
		"pad_token_id":32000,"resid_pdrop":0.0,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":10000.0,"sliding_window":2047,"tie_word_embeddings":false,
		"torch_dtype":"bfloat16","transformers_version":"4.40.2","use_cache":true,"attention_bias":false,"vocab_size":32064}`,
	"Phi-4 mini": `{"architectures":["Phi3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,
		"auto_map":{"AutoConfig":"configuration_phi3.Phi3Config","AutoModelForCausalLM":"modeling_phi3.Phi3ForCausalLM"},"bos_token_id":199999,"embd_pdrop":0.0,
		"eos_token_id":199999,"full_attn_mod":1,"hidden_act":"silu","hidden_size":3072,"initializer_range":0.02,"intermediate_size":8192,
		"interpolate_factor":1,"lm_head_bias":false,"max_position_embeddings":131072,"mlp_bias":false,"model_type":"phi3","num_attention_heads":24,
		"num_hidden_layers":32,"num_key_value_heads":8,"original_max_position_embeddings":4096,"pad_token_id":199999,"partial_rotary_factor":0.75,
		"resid_pdrop":0.0,"rms_norm_eps":1e-05,"rope_scaling":{"long_factor":[` + layers("2", 48) + `],"short_factor":[` + layers("1.0", 48) + `],"type":"longrope"},
		"rope_theta":10000.0,"sliding_window":262144,"tie_word_embeddings":true,"torch_dtype":"bfloat16","transformers_version":"4.45.0","use_cache":true,
		"vocab_size":200064}`,
	"Gemma 2B": `{"architectures":["GemmaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":2,"eos_token_id":1,"head_dim":256,
		"hidden_act":"gelu","hidden_activation":"gelu_pytorch_tanh","hidden_size":2048,"initializer_range":0.02,"intermediate_size":16384,
		"max_position_embeddings":8192,"model_type":"gemma","num_attention_heads":8,"num_hidden_layers":18,"num_key_value_heads":1,"pad_token_id":0,
		"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":10000.0,"torch_dtype":"bfloat16","transformers_version":"4.38.1","use_cache":true,
		"vocab_size":256000}`,
	"Gemma 2 2B": `{"architectures":["Gemma2ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"attn_logit_softcapping":50.0,"bos_token_id":2,
		"cache_implementation":"hybrid","eos_token_id":[1,107],"final_logit_softcapping":30.0,"head_dim":256,"hidden_act":"gelu_pytorch_tanh",
		"hidden_activation":"gelu_pytorch_tanh","hidden_size":2304,"initializer_range":0.02,"intermediate_size":9216,"max_position_embeddings":8192,
		"model_type":"gemma2","num_attention_heads":8,"num_hidden_layers":26,"num_key_value_heads":4,"pad_token_id":0,"query_pre_attn_scalar":256,
		"rms_norm_eps":1e-06,"rope_theta":10000.0,"sliding_window":4096,"torch_dtype":"bfloat16","transformers_version":"4.42.4","use_cache":true,
		"vocab_size":256000}`,
	"Gemma 3 1B": `{"architectures":["Gemma3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"attn_logit_softcapping":null,"bos_token_id":2,
		"cache_implementation":"hybrid","eos_token_id":[1,106],"final_logit_softcapping":null,"head_dim":256,"hidden_activation":"gelu_pytorch_tanh",
		"hidden_size":1152,"initializer_range":0.02,"intermediate_size":6912,"max_position_embeddings":32768,"model_type":"gemma3_text",
		"num_attention_heads":4,"num_hidden_layers":26,"num_key_value_heads":1,"pad_token_id":0,"query_pre_attn_scalar":256,"rms_norm_eps":1e-06,
		"rope_local_base_freq":10000,"rope_scaling":null,"rope_theta":1000000,"sliding_window":512,"sliding_window_pattern":6,"torch_dtype":"bfloat16",
		"transformers_version":"4.50.0.dev0","use_cache":true,"vocab_size":262144}`,
	"OLMo 2 1B": `{"architectures":["Olmo2ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"eos_token_id":100257,"hidden_act":"silu",
		"hidden_size":2048,"initializer_range":0.02,"intermediate_size":8192,"max_position_embeddings":4096,"model_type":"olmo2","num_attention_heads":16,
		"num_hidden_layers":16,"num_key_value_heads":16,"pad_token_id":100277,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":500000,
		"tie_word_embeddings":false,"torch_dtype":"float32","transformers_version":"4.47.1","use_cache":true,"vocab_size":100352}`,
	"OLMo 3 7B": `{"architectures":["Olmo3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":null,"eos_token_id":100257,
		"hidden_act":"silu","hidden_size":4096,"initializer_range":0.02,"intermediate_size":11008,"layer_types":[` +
		strings.TrimSuffix(strings.Repeat(`"sliding_attention","sliding_attention","sliding_attention","full_attention",`, 8), ",") + `],
		"max_position_embeddings":65536,"model_type":"olmo3","num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"pad_token_id":100277,
		"rms_norm_eps":1e-06,"rope_scaling":{"attention_factor":1.2079441541679836,"beta_fast":32,"beta_slow":1,"factor":8.0,
		"original_max_position_embeddings":8192,"rope_type":"yarn"},"rope_theta":500000,"sliding_window":4096,"tie_word_embeddings":false,"dtype":"bfloat16",
		"transformers_version":"4.57.0","use_cache":true,"vocab_size":100278}`,
	"Granite 3.3 2B": `{"architectures":["GraniteForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"attention_multiplier":0.015625,"bos_token_id":0,
		"embedding_multiplier":12.0,"eos_token_id":0,"hidden_act":"silu","hidden_size":2048,"initializer_range":0.02,"intermediate_size":8192,
		"logits_scaling":8.0,"max_position_embeddings":131072,"mlp_bias":false,"model_type":"granite","num_attention_heads":32,"num_hidden_layers":40,
		"num_key_value_heads":8,"pad_token_id":0,"residual_multiplier":0.22,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":10000000.0,
		"tie_word_embeddings":true,"torch_dtype":"bfloat16","transformers_version":"4.49.0","use_cache":true,"vocab_size":49159}`,
	"EXAONE 4.0 1.2B": `{"architectures":["Exaone4ForCausalLM"],"attention_dropout":0.0,"bos_token_id":1,"eos_token_id":361,"head_dim":64,"hidden_act":"silu",
		"hidden_size":2048,"initializer_range":0.02,"intermediate_size":4096,"layer_types":[` + layers("full_attention", 30) + `],
		"max_position_embeddings":65536,"model_type":"exaone4","num_attention_heads":32,"num_hidden_layers":30,"num_key_value_heads":8,"pad_token_id":0,
		"rms_norm_eps":1e-05,"rope_scaling":{"factor":16.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,
		"rope_type":"llama3"},"rope_theta":1000000,"sliding_window":null,"sliding_window_pattern":null,"tie_word_embeddings":true,"torch_dtype":"bfloat16",
		"transformers_version":"4.54.0.dev0","use_cache":true,"vocab_size":102400}`,
	"EXAONE 4.0 32B": `{"architectures":["Exaone4ForCausalLM"],"attention_dropout":0.0,"bos_token_id":1,"eos_token_id":361,"head_dim":128,"hidden_act":"silu",
		"hidden_size":5120,"initializer_range":0.02,"intermediate_size":27392,"layer_types":[` +
		strings.TrimSuffix(strings.Repeat(`"sliding_attention","sliding_attention","sliding_attention","full_attention",`, 16), ",") + `],
		"max_position_embeddings":131072,"model_type":"exaone4","num_attention_heads":40,"num_hidden_layers":64,"num_key_value_heads":8,"pad_token_id":0,
		"rms_norm_eps":1e-05,"rope_scaling":{"factor":16.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,
		"rope_type":"llama3"},"rope_theta":1000000,"sliding_window":4096,"sliding_window_pattern":"LLLG","tie_word_embeddings":false,
		"torch_dtype":"bfloat16","transformers_version":"4.54.0.dev0","use_cache":true,"vocab_size":102400}`,
}

// layers repeats a JSON value; a word becomes a string.
func layers(value string, n int) string {
	if strings.Contains(value, "_") {
		value = `"` + value + `"`
	}
	return strings.TrimSuffix(strings.Repeat(value+",", n), ",")
}

func TestPublishedConfigs(t *testing.T) {
	slide := func(c ModelConfig) (sliding int) {
		for _, l := range c.Layers() {
			if l.Window > 0 {
				sliding++
			}
		}
		return sliding
	}
	for name, check := range map[string]func(c ModelConfig) bool{
		"Llama 3.2 1B": func(c ModelConfig) bool {
			s := c.RopeScaling
			return s.Type == "llama3" && s.Factor == 32 && s.LowFreq == 1 && s.HighFreq == 4 && s.Original == 8192 && c.Layers() == nil && len(c.EOS) == 3
		},
		"Llama 2 7B":      func(c ModelConfig) bool { return c.RopeTheta == 10000 && c.HeadDim == 128 && !c.TieWordEmbeddings },
		"SmolLM2 135M":    func(c ModelConfig) bool { return c.HeadDim == 64 && c.TieWordEmbeddings && *c.PAD == 2 },
		"Mistral 7B v0.1": func(c ModelConfig) bool { return slide(c) == 32 && c.SlidingWindow == 4096 },
		"Mistral Nemo":    func(c ModelConfig) bool { return slide(c) == 0 && c.HeadDim == 128 },
		"Qwen2.5 0.5B":    func(c ModelConfig) bool { return slide(c) == 0 && c.Family().QKVBias && !c.AttentionBias },
		"Qwen2.5 7B, long": func(c ModelConfig) bool {
			s := c.RopeScaling
			return s.Type == "yarn" && s.Factor == 4 && s.Original == 32768 && s.BetaFast == 32 && s.BetaSlow == 1 && s.Attention == 0 && !s.Exact
		},
		"Qwen3 0.6B": func(c ModelConfig) bool { return c.Family().QKNorm && c.RopeTheta == 1e6 },
		"SmolLM3 3B": func(c ModelConfig) bool {
			l := c.Layers()
			return c.TieWordEmbeddings && !l[0].NoRope && !l[2].NoRope && l[3].NoRope && l[35].NoRope && slide(c) == 0
		},
		"Phi-3 mini 4k": func(c ModelConfig) bool { return slide(c) == 32 && c.SlidingWindow == 2047 && c.RopeScaling.Type == "" },
		"Phi-4 mini": func(c ModelConfig) bool {
			s := c.RopeScaling
			return c.RotaryDim() == 96 && s.Type == "longrope" && s.Original == 4096 && s.Factor == 32 && s.Long[47] == 2
		},
		"Gemma 2B": func(c ModelConfig) bool {
			return c.TieWordEmbeddings && c.HeadDim == 256 && c.Family().GELU && slide(c) == 0
		},
		"Gemma 2 2B": func(c ModelConfig) bool {
			return slide(c) == 13 && c.Layers()[0].Window == 4096 && c.Layers()[1].Window == 0 && c.AttnLogitSoftcapping == 50 &&
				c.FinalLogitSoftcapping == 30 && c.QueryPreAttnScalar == 256
		},
		"Gemma 3 1B": func(c ModelConfig) bool {
			l := c.Layers()
			return slide(c) == 22 && l[0] == Layer{Window: 512, LocalRope: true} && l[5] == Layer{} && c.RopeTheta == 1e6 && c.RopeLocalBaseFreq == 1e4
		},
		"OLMo 2 1B": func(c ModelConfig) bool { return c.Family().QKNormWide && c.Family().PostNorm },
		"OLMo 3 7B": func(c ModelConfig) bool {
			return slide(c) == 24 && c.RopeScaling.Attention == 1.2079441541679836 && c.RopeLocalBaseFreq == 5e5 && c.Layers()[0].LocalRope
		},
		"Granite 3.3 2B": func(c ModelConfig) bool {
			return c.EmbeddingMultiplier == 12 && c.AttentionMultiplier == 0.015625 && c.ResidualMultiplier == 0.22 && c.LogitsScaling == 8
		},
		"EXAONE 4.0 1.2B": func(c ModelConfig) bool { return c.Layers() == nil && c.RopeScaling.Factor == 16 },
		"EXAONE 4.0 32B": func(c ModelConfig) bool {
			l := c.Layers()
			return slide(c) == 48 && l[0] == Layer{Window: 4096} && l[3] == Layer{NoRope: true}
		},
	} {
		c, err := ParseConfig([]byte(published[name]))
		if err != nil || !check(c) {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
	if len(published) != 19 {
		t.Errorf("%d published configurations; all are to be checked", len(published))
	}
}

// Whole sentences: a user must know from them what stands in the way.
func TestUnsupportedModels(t *testing.T) {
	const text = `{"architectures":["%"],"model_type":"&","hidden_size":64}`
	model := func(architecture, modelType string) string {
		return strings.NewReplacer("%", architecture, "&", modelType).Replace(text)
	}
	for want, config := range map[string]string{
		`model_type: "mixtral" is not supported: it is a mixture of experts`:                                                                model("MixtralForCausalLM", "mixtral"),
		`model_type: "qwen3_moe" is not supported: it is a mixture of experts`:                                                              model("Qwen3MoeForCausalLM", "qwen3_moe"),
		`model_type: "gpt_oss" is not supported: it is a mixture of experts with attention sinks`:                                           model("GptOssForCausalLM", "gpt_oss"),
		`model_type: "deepseek_v3" is not supported: it has multi-head latent attention and a mixture of experts`:                           model("DeepseekV3ForCausalLM", "deepseek_v3"),
		`model_type: "minicpm3" is not supported: it has multi-head latent attention`:                                                       model("MiniCPM3ForCausalLM", "minicpm3"),
		`model_type: "qwen3_next" is not supported: it mixes full attention with linear attention layers`:                                   model("Qwen3NextForCausalLM", "qwen3_next"),
		`model_type: "jamba" is not supported: it has state-space or recurrent layers`:                                                      model("JambaForCausalLM", "jamba"),
		`model_type: "granitemoehybrid" is not supported: it has state-space or recurrent layers`:                                           model("GraniteMoeHybridForCausalLM", "granitemoehybrid"),
		`model_type: "lfm2" is not supported: it has convolution layers`:                                                                    model("Lfm2ForCausalLM", "lfm2"),
		`model_type: "gpt2" is not supported: it has layer norms instead of RMSNorms, and other blocks`:                                     model("GPT2LMHeadModel", "gpt2"),
		`model_type: "stablelm" is not supported: it has layer norms instead of RMSNorms, and other blocks`:                                 model("StableLmForCausalLM", "stablelm"),
		`model_type: "glm4" is not supported: it rotates neighbouring elements of a head, not halves`:                                       model("Glm4ForCausalLM", "glm4"),
		`model_type: "t5" is not supported: it has an encoder and a decoder`:                                                                model("T5ForConditionalGeneration", "t5"),
		`model_type: "bert" is not supported: it is an encoder, not a causal language model`:                                                model("BertForMaskedLM", "bert"),
		`model_type: "gemma3n" is not supported: its blocks are not implemented`:                                                            model("Gemma3nForConditionalGeneration", "gemma3n"),
		`model_type: "gemma3" is not supported: it wraps a language model for images or sound; save its language model alone and load that`: model("Gemma3ForConditionalGeneration", "gemma3"),
		`model_type: "qwen2_5_vl" is not supported: it wraps a language model for images or sound; save its language model alone and load that`: strings.Replace(
			model("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl"), "}", `,"vision_config":{}}`, 1),
		`quantization_config: quantized weights are not supported; use the unquantized model`: strings.Replace(model(Llama, "llama"), "}", `,"quantization_config":{"quant_method":"gptq"}}`, 1),
		`auto_map: code that comes with a model is never run`:                                 strings.Replace(model(Qwen2, "qwen2"), "}", `,"auto_map":{"AutoModelForCausalLM":"modeling_dream.DreamModel"}}`, 1),
		`model_type: "llama" does not belong to Qwen2ForCausalLM`:                             model(Qwen2, "llama"),
		`architectures: ["LlamaForSequenceClassification"] is not supported (Exaone4ForCausalLM, Gemma2ForCausalLM, Gemma3ForCausalLM, GemmaForCausalLM, GraniteForCausalLM, ` +
			`LlamaForCausalLM, MinistralForCausalLM, MistralForCausalLM, Olmo2ForCausalLM, Olmo3ForCausalLM, Phi3ForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, ` +
			`SmolLM3ForCausalLM are)`: model("LlamaForSequenceClassification", "llama"),
		`architectures: ["WarpForCausalLM"] is not supported (Exaone4ForCausalLM, Gemma2ForCausalLM, Gemma3ForCausalLM, GemmaForCausalLM, GraniteForCausalLM, ` +
			`LlamaForCausalLM, MinistralForCausalLM, MistralForCausalLM, Olmo2ForCausalLM, Olmo3ForCausalLM, Phi3ForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, ` +
			`SmolLM3ForCausalLM are)`: model("WarpForCausalLM", "warp"),
	} {
		if _, err := ParseConfig([]byte(config)); err == nil || err.Error() != "weights: config.json: "+want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A field that an architecture does not honour, or a value that it cannot have, in an otherwise good folder.
func TestUnsupportedFields(t *testing.T) {
	for _, c := range []struct{ model, field, value, want string }{
		{"Llama 3.2 1B", "num_local_experts", `8`, "num_local_experts: unknown field; it may change the mathematics (remove it if it does not)"},
		{"Llama 3.2 1B", "kv_lora_rank", `512`, "kv_lora_rank: unknown field; it may change the mathematics (remove it if it does not)"},
		{"Llama 3.2 1B", "final_logit_softcapping", `30.0`, "final_logit_softcapping: 30.0 is not supported for LlamaForCausalLM"},
		{"Llama 3.2 1B", "residual_multiplier", `0.22`, "residual_multiplier: 0.22 is not supported for LlamaForCausalLM"},
		{"Llama 3.2 1B", "no_rope_layers", `[1,0]`, "no_rope_layers: [1,0] is not supported for LlamaForCausalLM"},
		{"Llama 3.2 1B", "hidden_act", `"relu2"`, `hidden_act: "relu2" is not supported (silu is)`},
		{"Mistral Nemo", "attention_bias", `true`, "attention_bias: true is not supported for MistralForCausalLM"},
		{"Mistral Nemo", "sliding_window", `-1`, "sliding_window: -1 is not possible"},
		{"Qwen2.5 0.5B", "use_mrope", `true`, "use_mrope: true is not supported for Qwen2ForCausalLM"},
		{"Qwen2.5 0.5B", "dual_chunk_attention_config", `{"chunk_size":262144}`, "dual_chunk_attention_config: unknown field; it may change the mathematics (remove it if it does not)"},
		{"SmolLM3 3B", "hidden_size", `0`, "hidden_size: 0 must be between 1 and 1048576"},
		{"SmolLM3 3B", "no_rope_layer_interval", `0`, "no_rope_layer_interval: 0 must be positive"},
		{"Phi-4 mini", "lm_head_bias", `true`, "lm_head_bias: true is not supported for Phi3ForCausalLM"},
		{"Phi-4 mini", "partial_rotary_factor", `0.01`, "partial_rotary_factor: 0.01 must rotate an even part of a head of 128"},
		{"Phi-3 mini 4k", "resid_pdrop", `0.1`, "resid_pdrop: 0.1 is not supported for Phi3ForCausalLM"},
		{"Gemma 2 2B", "hidden_activation", `"silu"`, `hidden_activation: "silu" is not supported (gelu_pytorch_tanh is)`},
		{"Gemma 2 2B", "sliding_window_size", `512`, "sliding_window_size: 512 contradicts sliding_window 4096"},
		{"Gemma 2 2B", "query_pre_attn_scalar", `-1`, "query_pre_attn_scalar: -1 must be between 1e-6 and 1e6"},
		{"Gemma 3 1B", "attn_logit_softcapping", `50.0`, "attn_logit_softcapping: 50.0 is not supported for Gemma3ForCausalLM"},
		{"Gemma 3 1B", "use_bidirectional_attention", `true`, "use_bidirectional_attention: true is not supported for Gemma3ForCausalLM"},
		{"Gemma 3 1B", "rope_parameters", `{"full_attention":null,"sliding_attention":{"rope_type":"linear","factor":2.0}}`,
			`rope_parameters.sliding_attention.rope_type: "linear" is not supported (default is)`},
		{"OLMo 3 7B", "rope_theta", `10000`, "rope_theta: 10000 is not supported for Olmo3ForCausalLM (500000 is, for all layers)"},
		{"EXAONE 4.0 1.2B", "sliding_window", `4096`, "sliding_window: 4096 is for none of the layers; transformers would rotate none"},
		{"OLMo 2 1B", "clip_qkv", `8.0`, "clip_qkv: unknown field; it may change the mathematics (remove it if it does not)"},
		{"Granite 3.3 2B", "attention_dropout", `0.1`, "attention_dropout: 0.1 is not supported for GraniteForCausalLM"},
		{"Granite 3.3 2B", "logits_scaling", `0`, "logits_scaling: 0 is not possible"},
	} {
		_, err := ParseConfig([]byte(edit(published[c.model], c.field, c.value)))
		if err == nil || err.Error() != "weights: config.json: "+c.want {
			t.Errorf("%s with %s %s: got %v\nwant %s", c.model, c.field, c.value, err, c.want)
		}
	}
}

// Fields that change nothing at the value they have.
func TestNeutralFields(t *testing.T) {
	for _, c := range []struct{ model, field, value string }{
		{"Llama 3.2 1B", "final_logit_softcapping", `null`},
		{"Llama 3.2 1B", "residual_multiplier", `1.0`},
		{"Llama 3.2 1B", "sliding_window", `null`},
		{"Qwen3 0.6B", "mlp_bias", `false`},
		{"Qwen2.5 0.5B", "use_mrope", `false`},
		{"Qwen2.5 0.5B", "temperature", `0.6`},
		{"Gemma 2 2B", "sliding_window_size", `4096`},
		{"Mistral Nemo", "pretraining_tp", `1`},
		{"Gemma 3 1B", "use_bidirectional_attention", `false`},
	} {
		want, _ := ParseConfig([]byte(published[c.model]))
		got, err := ParseConfig([]byte(edit(published[c.model], c.field, c.value)))
		if err != nil || show(got) != show(want) {
			t.Errorf("%s with %s %s: %v, %s", c.model, c.field, c.value, err, show(got))
		}
	}
}
