package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/run/models"
)

// broken is a way to break a small valid model, and what the program says of it.
type broken struct {
	name string
	file string                   // that is changed, of a model folder, or "gguf"
	edit func(data []byte) []byte // nil deletes it
	code string
	want string
}

func with(old, new string) func([]byte) []byte {
	return func(data []byte) []byte {
		if !bytes.Contains(data, []byte(old)) {
			panic("the file lacks " + old)
		}
		return bytes.Replace(data, []byte(old), []byte(new), 1)
	}
}

func text(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

func cut(n int) func([]byte) []byte { return func(data []byte) []byte { return data[:len(data)-n] } }

func member(s string) func([]byte) []byte { return with("{", "{"+s+",") }

// length writes the length of a safetensors header.
func length(n uint64) func([]byte) []byte {
	return func(data []byte) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), data[8:]...) }
}

// at writes a byte of a file.
func at(i int, b byte) func([]byte) []byte {
	return func(data []byte) []byte { data[i] = b; return data }
}

var brokenModels = []broken{
	{"no configuration", "config.json", nil, "D001", "config.json is missing"},
	{"configuration cut off", "config.json", cut(20), "D001", "config.json: "},
	{"empty configuration", "config.json", text(""), "D001", "config.json: "},
	{"another architecture", "config.json", with("Qwen3ForCausalLM", "MambaForCausalLM"), "D001", `config.json: architectures`},
	{"mixture of experts", "config.json", with(`"model_type": "qwen3"`, `"model_type": "qwen3_moe"`), "D001", `config.json: model_type: "qwen3_moe" is not supported: it is a mixture of experts`},
	{"unknown field", "config.json", member(`"kv_lora_rank": 4`), "D001", "config.json: kv_lora_rank: unknown field; it may change the mathematics"},
	{"quantized", "config.json", member(`"quantization_config": {"quant_method": "gptq"}`), "D001", "quantization_config: quantized weights are not supported"},
	{"own code", "config.json", member(`"auto_map": {"AutoModel": "m.M"}`), "D001", "auto_map"},
	{"dropout", "config.json", member(`"attention_dropout": 0.1`), "D001", "attention_dropout"},
	{"another activation", "config.json", with(`"silu"`, `"relu"`), "D001", "hidden_act"},
	{"odd heads", "config.json", with(`"num_key_value_heads": 1`, `"num_key_value_heads": 3`), "D001", "num_key_value_heads"},
	{"negative width", "config.json", with(`"hidden_size": 32`, `"hidden_size": -32`), "D001", "hidden_size"},
	{"unknown rotation", "config.json", member(`"rope_scaling": {"rope_type": "spiral"}`), "D001", "spiral"},
	{"other shapes", "config.json", with(`"intermediate_size": 64`, `"intermediate_size": 80`), "D001", "but config.json calls for [80 32]"},
	{"more layers", "config.json", with(`"num_hidden_layers": 1`, `"num_hidden_layers": 2`), "D001", "layer_types: has 1 entries for 2 layers"},
	{"ids beyond", "config.json", with(`"eos_token_id": `, `"eos_token_id": 99`), "D001", "eos_token_id"},
	{"no weights", "model.safetensors", nil, "D001", "model.safetensors is missing"},
	{"weights cut off", "model.safetensors", cut(5), "D001", "exceed file of"},
	{"weights of no length", "model.safetensors", text(""), "D001", "too short for a header"},
	{"header longer than the file", "model.safetensors", length(1 << 26), "D001", "the file is cut off"},
	{"header of a terabyte", "model.safetensors", length(1 << 40), "D001", "at most 100000000 are allowed"},
	{"header that is no JSON", "model.safetensors", at(8, 'x'), "D001", "header does not begin with {"},
	{"bytes left over", "model.safetensors", func(d []byte) []byte { return append(d, 0, 0) }, "D001", "2 bytes after the last tensor belong to none"},
	{"unknown type", "model.safetensors", with(`"dtype":"F32"`, `"dtype":"F3X"`), "D001", `dtype "F3X" is unknown`},
	{"offsets that disagree", "model.safetensors", with(`"data_offsets":[0,`, `"data_offsets":[1,`), "D001", "data offsets"},
	{"a weight that is no number", "model.safetensors", func(d []byte) []byte { copy(d[len(d)-4:], "\x00\x00\xc0\x7f"); return d }, "D001", "NaN"},
	{"index beside a file", "model.safetensors.index.json", text(`{"weight_map": {"a": "model.safetensors"}}`), "D001", "both exist; delete the one that is not meant"},
	{"generation settings", "generation_config.json", text("{"), "D001", "generation_config.json: "},
	{"a manifest that was changed", "molt-manifest.json", text(`{"manifest": {}, "sha256": ""}`), "D001", "does not match its own checksum"},

	{"no tokenizer", "tokenizer.json", nil, "D002", "the model has no tokenizer"},
	{"tokenizer cut off", "tokenizer.json", cut(9), "D001", "tokenizer.json: "},
	{"Unigram", "tokenizer.json", with(`"BPE"`, `"Unigram"`), "D002", "Unigram"},
	{"WordPiece", "tokenizer.json", with(`"BPE"`, `"WordPiece"`), "D002", "WordPiece"},
	{"unknown normalizer", "tokenizer.json", with(`"normalizer":null`, `"normalizer":{"type":"Nmt"}`), "D002", "Nmt"},
	{"unknown member", "tokenizer.json", member(`"surprise":1`), "D002", "surprise"},
	{"no decoder", "tokenizer.json", func(d []byte) []byte {
		return bytes.Replace(d, []byte(`"decoder":{`), []byte(`"decoder":null,"x":{`), 1)
	}, "D002", "tokenizer.json"},
	{"an added token elsewhere", "tokenizer_config.json", text(`{"added_tokens_decoder": {"0": {"content": "<|im_end|>"}}}`), "D002", `token "<|im_end|>" has id 0, but tokenizer.json has it with`},
	{"a token without a row", "tokenizer_config.json", text(`{"pad_token": "<|padding|>"}`), "D002", "the embedding has only"},
	{"a named token that is no text", "special_tokens_map.json", text(`{"eos_token": 1}`), "D002", "special_tokens_map.json: eos_token: a JSON number does not belong here"},
	{"an older token elsewhere", "added_tokens.json", text(`{"<|im_end|>": 0}`), "D002", `added_tokens.json: token "<|im_end|>" has id 0, but tokenizer.json has it with`},
	{"special tokens that are split", "tokenizer_config.json", text(`{"split_special_tokens": true}`), "D002", "split_special_tokens: true is not supported"},
	{"a tokenizer that makes text grow", "tokenizer.json", with(`"normalizer":null`, `"normalizer":{"type":"Sequence","normalizers":[`+strings.TrimSuffix(strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aaaa"},`, 5), ",")+`]}`), "D002", "it can make text more than 256 times as long"},
	{"a piece without end", "tokenizer.json", with(`"vocab":{`, `"vocab":{"`+strings.Repeat("x", 20_000)+`":0,`), "D002", "has 20000 bytes; at most 16384"},
	{"settings of a tokenizer", "tokenizer_config.json", text("["), "D002", "tokenizer_config.json: "},

	{"template that does not end", "chat_template.jinja", text("{% for m in messages %}"), "D003", "chat template"},
	{"template with an unknown filter", "chat_template.jinja", text("{{ messages | groupby('role') }}"), "D003", "groupby"},
	{"template that drops what is said", "chat_template.jinja", text("hello"), "D003", "changes or drops what is said"},
	{"template that raises", "chat_template.jinja", text("{{ raise_exception('never') }}"), "D003", "never"},
	{"template that goes on for ever", "chat_template.jinja", text("{% for a in range(100000) %}{% for b in range(100000) %}{{ a }}{% endfor %}{% endfor %}"), "D003", "chat template"},
	{"template that escapes", "chat_template.jinja", text("{% for m in messages %}{{ m.content | upper | tojson(ensure_ascii=true) }}{% endfor %}"), "D003", "chat template"},

	{"GGUF of no length", "gguf", text(""), "D001", "GGUF"},
	{"no GGUF", "gguf", text("not a model"), "D001", "does not begin with GGUF"},
	{"GGUF cut off", "gguf", cut(100), "D001", "gguf: "},
	{"GGUF of another version", "gguf", at(4, 99), "D001", "version"},
	{"GGUF with too many tensors", "gguf", at(15, 0x7f), "D001", "tensors"},
	{"GGUF of another architecture", "gguf", with("qwen2", "qwenX"), "D001", "qwenX"},
	{"GGUF with another split", "gguf", with("tokenizer.ggml.pre\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00qwen2", "tokenizer.ggml.pre\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00qwenY"), "D001", `tokenizer.ggml.pre: "qwenY" is not supported`},
	{"GGUF without a tokenizer", "gguf", with("tokenizer.ggml.tokens", "tokenizer.ggml.tokenz"), "D001", "tokenizer.ggml.tokens"},
}

// TestBrokenModels: each is refused with exit code 3, its code, and one sentence that says what is wrong.
func TestBrokenModels(t *testing.T) {
	if len(brokenModels) < 40 {
		t.Fatalf("%d models", len(brokenModels))
	}
	whole := filepath.Join(t.TempDir(), "whole")
	shape := models.TinyShape()
	shape.HiddenSize, shape.IntermediateSize, shape.NumHiddenLayers, shape.NumAttentionHeads, shape.NumKeyValueHeads, shape.HeadDim = 32, 64, 1, 2, 1, 16
	if err := models.Init(models.InitConfig{Out: whole, Shape: shape, VocabSize: 300, Texts: slices.Values([]string{"the cat and the dog"})}); err != nil {
		t.Fatal(err)
	}
	for _, b := range brokenModels {
		t.Run(b.name, func(t *testing.T) { b.check(t, whole) })
	}
}

func (b broken) check(t *testing.T, whole string) {
	dir := filepath.Join(t.TempDir(), "model")
	line := []string{"molt", "model", "info", dir}
	file, from := filepath.Join(dir, b.file), ""
	if b.file == "gguf" {
		file, from = dir+".gguf", "../weights/gguf/testdata/golden/qwen2.gguf"
		line = []string{"molt", "model", "import", file, dir}
	} else {
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		from = file
		if b.file != "molt-manifest.json" {
			if err := os.Remove(filepath.Join(dir, "molt-manifest.json")); err != nil {
				t.Fatal(err)
			}
		}
	}
	data, err := os.ReadFile(from)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if b.edit == nil {
		err = os.Remove(file)
	} else {
		err = os.WriteFile(file, b.edit(data), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if code := Run(line, strings.NewReader(""), &out, &said); code != exitRefused {
		t.Fatalf("exit code %d, %s%s", code, out.String(), said.String())
	}
	sentence, _, _ := strings.Cut(said.String(), "\n")
	if !strings.HasPrefix(sentence, "error[MOLT-"+b.code+"]: ") || !strings.Contains(sentence, b.want) || strings.Contains(said.String(), "goroutine") {
		t.Errorf("said %q, want %s with %q", sentence, b.code, b.want)
	}
	if _, err := os.Stat(dir); b.file == "gguf" && err == nil {
		t.Error("a folder is left")
	}
}
