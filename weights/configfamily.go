// The architectures that can be read, run and written, and why others cannot.

package weights

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Architectures that can be read and written.
const (
	Llama     = "LlamaForCausalLM"
	Mistral   = "MistralForCausalLM"
	Ministral = "MinistralForCausalLM"
	Qwen2     = "Qwen2ForCausalLM"
	Qwen3     = "Qwen3ForCausalLM"
	SmolLM3   = "SmolLM3ForCausalLM"
	Phi3      = "Phi3ForCausalLM"
	Gemma     = "GemmaForCausalLM"
	Gemma2    = "Gemma2ForCausalLM"
	Gemma3    = "Gemma3ForCausalLM"
	Olmo2     = "Olmo2ForCausalLM"
	Olmo3     = "Olmo3ForCausalLM"
	Granite   = "GraniteForCausalLM"
	Exaone4   = "Exaone4ForCausalLM"
)

// Family is what an architecture says beyond the numbers of its config.json. The zero Family is Llama's decoder.
type Family struct {
	ModelType   string
	QKNorm      bool // RMSNorm on each head's queries and keys
	QKNormWide  bool // RMSNorm on all queries together, and on all keys
	QKVBias     bool // biases on queries, keys and values, without a field that says so
	PostNorm    bool // RMSNorms after attention and MLP, and none before
	Sandwich    bool // RMSNorms before and after
	NormPlusOne bool // norms multiply by 1 + weight
	GELU        bool // the tanh form of gelu gates the MLP instead of silu
	ScaledEmbed bool // embeddings are multiplied by sqrt(hidden_size)
	Fused       bool // queries, keys and values are one tensor; gate and up are another
	LocalRope   bool // sliding layers rotate by another base, without scaling

	tied       bool    // tie_word_embeddings when the field is absent
	theta      float64 // rope_theta when the field is absent; 0 is 10000
	ownHeadDim bool    // head_dim must be there
	ownKVHeads bool    // num_key_value_heads must be there
	shipsCode  bool    // published folders name code in auto_map that transformers has by now
	more       func(f *fields, c *ModelConfig)
}

var families = map[string]Family{
	Llama:     {ModelType: "llama", more: readBiases},
	Mistral:   {ModelType: "mistral", ownKVHeads: true, more: readUniformWindow(4096)},
	Ministral: {ModelType: "ministral", ownHeadDim: true, ownKVHeads: true, more: readMinistral},
	Qwen2:     {ModelType: "qwen2", QKVBias: true, ownKVHeads: true, more: readQwenWindows},
	Qwen3:     {ModelType: "qwen3", QKNorm: true, ownHeadDim: true, ownKVHeads: true, more: readQwen3},
	SmolLM3:   {ModelType: "smollm3", tied: true, theta: 2e6, ownKVHeads: true, more: readSmolLM3},
	Phi3:      {ModelType: "phi3", Fused: true, shipsCode: true, more: readUniformWindow(0)},
	Gemma: {ModelType: "gemma", NormPlusOne: true, GELU: true, ScaledEmbed: true, tied: true, ownHeadDim: true, ownKVHeads: true,
		more: readAttentionBias},
	Gemma2: {ModelType: "gemma2", Sandwich: true, NormPlusOne: true, GELU: true, ScaledEmbed: true, tied: true, ownHeadDim: true,
		ownKVHeads: true, more: readGemma2},
	Gemma3: {ModelType: "gemma3_text", Sandwich: true, NormPlusOne: true, GELU: true, ScaledEmbed: true, QKNorm: true, LocalRope: true,
		tied: true, theta: 1e6, ownHeadDim: true, ownKVHeads: true, more: readGemma3},
	Olmo2:   {ModelType: "olmo2", PostNorm: true, QKNormWide: true, more: readAttentionBias},
	Olmo3:   {ModelType: "olmo3", PostNorm: true, QKNormWide: true, LocalRope: true, theta: 5e5, more: readOlmo3},
	Granite: {ModelType: "granite", more: readGranite},
	Exaone4: {ModelType: "exaone4", PostNorm: true, QKNorm: true, ownKVHeads: true, more: readExaone4},
}

// Family is that of c's architecture.
func (c ModelConfig) Family() Family { return families[c.Architecture] }

// unsupportedTypes are model types that people will try, and what keeps each from being run.
var unsupportedTypes = []struct{ reason, types string }{
	{"it is a mixture of experts", `mixtral qwen2_moe qwen3_moe olmoe phimoe granitemoe dbrx glm4_moe minimax ernie4_5_moe flex_olmo
		hunyuan_v1_moe jetmoe exaone_moe bailing_moe dots1 solar_open`},
	{"it has multi-head latent attention and a mixture of experts", `deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 kimi_k2 kimi_k25
		glm_moe_dsa longcat_flash mistral4`},
	{"it has multi-head latent attention", `minicpm3`},
	{"it is a mixture of experts with attention sinks", `gpt_oss mimo_v2_flash`},
	{"it mixes full attention with linear attention layers", `qwen3_next qwen3_5 qwen3_5_moe kimi_linear olmo_hybrid`},
	{"it has state-space or recurrent layers", `mamba mamba2 jamba bamba falcon_h1 falcon_mamba nemotron_h granitemoehybrid zamba zamba2
		recurrent_gemma rwkv xlstm`},
	{"it has convolution layers", `lfm2 lfm2_moe lfm3`},
	{"it has layer norms instead of RMSNorms, and other blocks", `gpt2 gpt_neo gpt_neox gptj opt bloom mpt falcon phi stablelm starcoder2
		codegen persimmon cohere cohere2 nemotron`},
	{"it rotates neighbouring elements of a head, not halves", `glm glm4 chatglm ernie4_5 helium`},
	{"it has an encoder and a decoder", `t5 t5gemma t5gemma2 umt5 mt5 bart mbart pegasus m2m_100 marian whisper`},
	{"it is an encoder, not a causal language model", `bert roberta distilbert deberta deberta_v2 albert electra xlm-roberta modernbert nomic_bert`},
	{"its blocks are not implemented", `gemma3n gemma4 gemma4_text llama4_text olmo internlm2 internlm3 baichuan minicpm minimax_m2 nanochat
		arcee apertus afmoe diffllama vaultgemma seed_oss hunyuan_v1_dense`},
	{"it wraps a language model for images or sound; save its language model alone and load that", `gemma3 llama4 mllama llava llava_next
		qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen2_audio qwen2_5_omni mistral3 pixtral paligemma idefics3 smolvlm internvl phi3_v phi4mm
		phi4_multimodal aya_vision glm4v glm46v voxtral granite_speech ministral3 minicpmv4_6`},
}

// findFamily chooses the family of a config.json, or says what keeps the model from being run.
func findFamily(architectures []string, modelType string) (string, Family, error) {
	for _, u := range unsupportedTypes {
		if slices.Contains(strings.Fields(u.types), modelType) {
			return "", Family{}, fmt.Errorf("model_type: %q is not supported: %s", modelType, u.reason)
		}
	}
	if len(architectures) != 1 || families[architectures[0]].ModelType == "" {
		return "", Family{}, fmt.Errorf("architectures: %q is not supported (%s are)", architectures,
			strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	name := architectures[0]
	family := families[name]
	if family.ModelType != modelType {
		return "", Family{}, fmt.Errorf("model_type: %q does not belong to %s", modelType, name)
	}
	return name, family, nil
}
