// How byte-level tokenizers cut text before merging. GGUF holds a name only; the patterns are those of the tokenizer.json
// files that llama.cpp's names stand for.

package gguf

import (
	"maps"
	"slices"
	"strings"
)

// split is what a name in tokenizer.ggml.pre stands for.
type split struct {
	name    string
	pattern string // "" is GPT-2's, which tokenizer.json writes as use_regex
	digits  bool   // each digit by itself first
	nfc     bool   // text is composed first
	whole   bool   // a piece that is a token is not merged again (ignore_merges)
	bos     bool   // llama.cpp puts the token that begins a text unless the file says otherwise
}

const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	llamaSplit   = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	qwenSplit    = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	upper        = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lower        = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	tekkenSplit  = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces
	gpt4oSplit   = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+` + contractions + `?|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*` + contractions +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces
)

var splits = map[string]split{
	"gpt-2":            {name: "gpt-2"},
	"olmo":             {name: "olmo"},
	"smollm":           {name: "smollm", digits: true},
	"starcoder":        {name: "starcoder", digits: true},
	"refact":           {name: "refact", digits: true},
	"command-r":        {name: "command-r", digits: true},
	"llama3":           {name: "llama3", pattern: llamaSplit, whole: true, bos: true},
	"llama-v3":         {name: "llama-v3", pattern: llamaSplit, whole: true, bos: true},
	"llama-bpe":        {name: "llama-bpe", pattern: llamaSplit, whole: true, bos: true},
	"falcon3":          {name: "falcon3", pattern: llamaSplit, whole: true, bos: true},
	"dbrx":             {name: "dbrx", pattern: llamaSplit},
	"smaug-bpe":        {name: "smaug-bpe", pattern: llamaSplit},
	"qwen2":            {name: "qwen2", pattern: qwenSplit, nfc: true},
	"deepseek-r1-qwen": {name: "deepseek-r1-qwen", pattern: qwenSplit},
	"megrez":           {name: "megrez", pattern: qwenSplit},
	"tekken":           {name: "tekken", pattern: tekkenSplit, whole: true, bos: true},
	"gpt-4o":           {name: "gpt-4o", pattern: gpt4oSplit},
}

func splitNames() string { return strings.Join(slices.Sorted(maps.Keys(splits)), ", ") }

// component is a part of tokenizer.json.
type component map[string]any

// preTokenizer is the pre_tokenizer of tokenizer.json.
func (s split) preTokenizer() component {
	bytes := component{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": s.pattern == ""}
	var first component
	switch {
	case s.pattern != "":
		first = component{"type": "Split", "pattern": component{"Regex": s.pattern}, "behavior": "Isolated", "invert": false}
	case s.digits:
		first = component{"type": "Digits", "individual_digits": true}
	default:
		return bytes
	}
	return component{"type": "Sequence", "pretokenizers": []component{first, bytes}}
}

func (s split) normalizer() any {
	if !s.nfc {
		return nil
	}
	return component{"type": "NFC"}
}
