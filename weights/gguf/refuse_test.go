// Files that are refused, and with which words.

package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// put appends values as GGUF writes them: strings behind their length, numbers little-endian in their own width.
func put(b []byte, values ...any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(v))), v...)
		case []byte:
			b = append(b, v...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

const u32, u64 = uint32(0), uint64(0)

// head is a preamble of version 3.
func head(tensors, keys uint64) []byte { return put([]byte("GGUF"), u32+3, tensors, keys) }

// kv is one key of any type.
func kv(key string, kind uint32, value ...any) []byte { return put(put(nil, key, kind), value...) }

// desc describes a tensor; dims are in the order of the file, the fastest first.
func desc(name string, kind uint32, offset uint64, dims ...uint64) []byte {
	b := put(nil, name, uint32(len(dims)))
	for _, d := range dims {
		b = put(b, d)
	}
	return put(b, kind, offset)
}

// file joins parts and pads to the alignment before n bytes of data.
func file(n int, parts ...[]byte) []byte {
	b := slices.Concat(parts...)
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return append(b, make([]byte, n)...)
}

func TestMalformedFiles(t *testing.T) {
	one := desc("x", 0, 0, 4)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "does not begin with GGUF"},
		{"another format", []byte("PK\x03\x04 a zip file"), "does not begin with GGUF"},
		{"cut after the magic", []byte("GGUF\x03"), "the file is cut off"},
		{"version 1", put([]byte("GGUF"), u32+1, u64, u64), "version 1 is not supported (2 and 3 are)"},
		{"version 9", put([]byte("GGUF"), u32+9, u64, u64), "version 9 is not supported"},
		{"big-endian", put([]byte("GGUF"), []byte{0, 0, 0, 3}, u64, u64), "is big-endian"},
		{"2^63 tensors", head(1<<63, 0), "9223372036854775808 tensors; at most 262144"},
		{"2^40 keys", head(0, 1<<40), "1099511627776 metadata keys; at most 65536"},
		{"keys that are not there", head(0, 3), "metadata: 8 bytes are called for where 0 are left"},
		{"key of 2^60 bytes", file(0, head(0, 1), put(nil, uint64(1<<60))), "a name of 1152921504606846976 bytes; at most 65536"},
		{"key that is no text", file(0, head(0, 1), kv("\xff", kindU8, uint8(1))), "is not UTF-8"},
		{"key twice", file(0, head(0, 2), kv("a", kindU8, uint8(1)), kv("a", kindU8, uint8(2))), `metadata: key "a" comes twice`},
		{"unknown type", file(0, head(0, 1), kv("a", 13, u64)), "metadata: a: value type 13 is unknown"},
		{"string of 2^50 bytes", file(0, head(0, 1), kv("a", kindText, uint64(1<<50))), "metadata: a: 1125899906842624 bytes are called for where"},
		{"array of 2^61 numbers", file(0, head(0, 1), kv("a", kindArray, uint32(kindU32), uint64(1<<61))), "metadata: a: an array of 2305843009213693952 values where"},
		{"array of 2^20 strings", file(64, head(0, 1), kv("a", kindArray, uint32(kindText), uint64(1<<20))), "an array of 1048576 values where"},
		{"string of 2^63 bytes", file(0, head(0, 1), kv("a", kindText, uint64(1<<63))), "metadata: a: 9223372036854775808 bytes are called for where"},
		{"array of 2^60 strings", file(64, head(0, 1), kv("a", kindArray, uint32(kindText), uint64(1<<60))), "an array of 1152921504606846976 values where"},
		{"strings of 2^63 bytes in an array", file(64, head(0, 1), kv("a", kindArray, uint32(kindText), uint64(2), uint64(1<<63))), "metadata: a: 9223372036854775808 bytes are called for where"},
		{"arrays of many values", file(0, head(0, 2), kv("a", kindArray, uint32(kindU8), uint64(1<<23), make([]byte, 1<<23)), kv("b", kindArray, uint32(kindU8), uint64(1<<23+1), make([]byte, 1<<23+1))), "metadata: b: the arrays have more than 16777216 values together"},
		{"array of arrays", file(64, head(0, 1), kv("a", kindArray, uint32(kindArray), uint64(1))), "arrays of arrays are not supported"},
		{"array of unknown", file(64, head(0, 1), kv("a", kindArray, uint32(99), uint64(1))), "value type 99 is unknown"},
		{"boolean 2", file(0, head(0, 1), kv("a", kindBool, uint8(2))), "metadata: a: 2 is no boolean"},
		{"number too large", file(0, head(0, 1), kv("a", kindU64, uint64(math.MaxUint64))), "18446744073709551615 is too large"},
		{"alignment 0", file(0, head(0, 1), kv("general.alignment", kindU32, u32)), "general.alignment: 0 must be a power of two"},
		{"alignment 48", file(0, head(0, 1), kv("general.alignment", kindU32, u32+48)), "general.alignment: 48 must be a power of two"},
		{"alignment is text", file(0, head(0, 1), kv("general.alignment", kindText, "32")), "general.alignment: is of type string where int64 belongs"},
		{"tensors that are not there", file(0, head(1, 0)), "tensor descriptions: "},
		{"tensor twice", file(64, head(2, 0), one, desc("x", 0, 32, 4)), `tensor "x" comes twice`},
		{"five dimensions", file(64, head(1, 0), desc("x", 0, 0, 1, 1, 1, 1, 1)), `tensor "x": 5 dimensions; at most 4`},
		{"dimension 0", file(64, head(1, 0), desc("x", 0, 0, 4, 0)), `tensor "x": a dimension of 0 is not possible`},
		{"dimensions overflow", file(64, head(1, 0), desc("x", 0, 0, 1<<32, 1<<32)), `tensor "x": a dimension of 4294967296 is not possible`},
		{"unsupported type", file(64, head(1, 0), desc("x", 16, 0, 256)), `tensor "x": type IQ2_XXS is not supported (F32, F16, BF16, Q8_0`},
		{"unknown type", file(64, head(1, 0), desc("x", 77, 0, 256)), `tensor "x": type number 77 is not supported`},
		{"row that is no block", file(64, head(1, 0), desc("x", 2, 0, 33)), `tensor "x": rows of 33 values do not fill blocks of 32 (Q4_0)`},
		{"offset 2^63", file(64, head(1, 0), desc("x", 0, 1<<63, 4)), "is past the end of the file"},
		{"not aligned", file(64, head(1, 0), desc("x", 0, 8, 4)), `tensor "x": offset 8 is not a multiple of the alignment 32`},
		{"cut off", file(15, head(1, 0), one), `tensor "x": 16 bytes at 64 exceed the file of 79 bytes; the file is cut off`},
		{"far away", file(64, head(1, 0), desc("x", 0, 1<<40, 4)), "the file is cut off"},
		{"overlap", file(128, head(2, 0), desc("x", 0, 0, 16), desc("y", 0, 32, 4)), `tensor "y": begins at 32, inside tensor "x", which ends at 64`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			if err := os.WriteFile(path, c.file, 0o666); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "gguf: open "+path+": ") {
				t.Errorf("got %v\nwant a sentence with %q", err, c.want)
			}
		})
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestMetadata reads a value of each type.
func TestMetadata(t *testing.T) {
	data := file(0, head(0, 13),
		kv("u8", kindU8, uint8(200)), kv("i8", kindI8, int8(-3)), kv("u16", kindU16, uint16(60000)), kv("i16", kindI16, int16(-300)),
		kv("u32", kindU32, uint32(4e9)), kv("i32", kindI32, int32(-70000)), kv("f32", kindF32, float32(0.5)), kv("bool", kindBool, uint8(1)),
		kv("text", kindText, "ünï"), kv("u64", kindU64, uint64(1<<40)), kv("i64", kindI64, int64(-1<<40)), kv("f64", kindF64, 1e300),
		kv("list", kindArray, uint32(kindText), uint64(2), "a", "b"))
	f, err := parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"u8": int64(200), "i8": int64(-3), "u16": int64(60000), "i16": int64(-300), "u32": int64(4e9), "i32": int64(-70000), "f32": 0.5,
		"bool": true, "text": "ünï", "u64": int64(1 << 40), "i64": int64(-1 << 40), "f64": 1e300}
	list := f.meta.texts("list")
	delete(f.meta.values, "list")
	if !maps.Equal(f.meta.values, want) || !slices.Equal(list, []string{"a", "b"}) {
		t.Errorf("got %v %v", f.meta.values, list)
	}
}

// TestImportRefuses changes one thing of a golden model at a time.
func TestImportRefuses(t *testing.T) {
	set := func(pairs ...any) func(*File) {
		return func(f *File) {
			for i := 0; i < len(pairs); i += 2 {
				f.meta.values[pairs[i].(string)] = pairs[i+1]
			}
		}
	}
	drop := func(key string) func(*File) { return func(f *File) { delete(f.meta.values, key) } }
	rename := func(from, to string) func(*File) {
		return func(f *File) {
			i := f.index[from]
			delete(f.index, from)
			f.index[to], f.tensors[i].name = i, to
		}
	}
	tokens := func(change func([]string) []string) func(*File) {
		return func(f *File) {
			f.meta.values["tokenizer.ggml.tokens"] = change(slices.Clone(f.meta.texts("tokenizer.ggml.tokens")))
		}
	}
	for _, c := range []struct {
		name, kind string
		spoil      func(*File)
		want       string
	}{
		{"no architecture", "llama", drop("general.architecture"), `general.architecture: "" is not supported`},
		{"another architecture", "llama", set("general.architecture", "mamba"), `general.architecture: "mamba" is not supported (gemma, gemma2, gemma3, granite, llama`},
		{"split", "llama", set("split.count", int64(3)), "split.count: the model is split over 3 files; join them with llama-gguf-split --merge"},
		{"experts", "llama", set("llama.expert_count", int64(8)), "llama.expert_count: is not supported for llama; it may change the mathematics"},
		{"unknown key", "llama", set("llama.secret_sauce", 1.5), "llama.secret_sauce: is not supported for llama"},
		{"no layers", "llama", drop("llama.block_count"), "llama.block_count: missing"},
		{"a million layers", "llama", set("llama.block_count", int64(1<<20)), "llama.block_count: 1048576 must be between 1 and 4096"},
		{"negative width", "llama", set("llama.embedding_length", int64(-1)), "llama.embedding_length: -1 is not possible"},
		{"no heads", "llama", set("llama.attention.head_count", int64(0)), "llama.attention.head_count: 0 must be positive"},
		{"heads differ", "llama", set("llama.attention.head_count_kv", []int64{1, 2}), "llama.attention.head_count_kv: layers of different shapes are not supported"},
		{"text for a number", "llama", set("llama.rope.freq_base", "10000"), "llama.rope.freq_base: is of type string where float64 belongs"},
		{"values of another width", "llama", set("llama.attention.value_length", int64(99)), "llama.attention.value_length: 99 differs from the width of a key"},
		{"a part of a head rotates", "llama", set("llama.rope.dimension_count", int64(4)), "llama.rope.dimension_count: 4 of the 8 elements of a head rotate"},
		{"not causal", "qwen3", set("qwen3.attention.causal", false), "qwen3.attention.causal: false is not supported"},
		{"another window pattern", "gemma2", set("gemma2.attention.sliding_window_pattern", int64(4)), "gemma2.attention.sliding_window_pattern: 4 is not supported for gemma2 (2 is)"},
		{"rope scaling", "llama", set("llama.rope.scaling.type", "su"), `llama.rope.scaling.type: "su" is not supported`},
		{"rope factors", "llama3", set("llama.rope.freq_base", 1234.0), `tensor "rope_freqs.weight": value`},
		{"wrong shape", "llama", set("llama.embedding_length", int64(64)), `tensor "token_embd.weight": has shape [300 32] where the metadata call for [300 64]`},
		{"missing tensor", "llama", rename("blk.1.ffn_up.weight", "blk.1.other"), `tensor "blk.1.ffn_up.weight" is missing, which a LlamaForCausalLM of this configuration has`},
		{"tensor of another model", "llama", func(f *File) {
			f.index["blk.0.attn_sinks.weight"] = len(f.tensors)
			f.tensors = append(f.tensors, info{name: "blk.0.attn_sinks.weight", shape: []int{4}, values: 4})
		}, `tensor "blk.0.attn_sinks.weight" is not part of a LlamaForCausalLM`},
		{"no tokenizer", "llama", drop("tokenizer.ggml.tokens"), "tokenizer.ggml.tokens: missing"},
		{"another tokenizer", "llama", set("tokenizer.ggml.model", "bert"), `tokenizer.ggml.model: "bert" is not supported (gpt2 and llama are)`},
		{"no split", "llama", drop("tokenizer.ggml.pre"), "tokenizer.ggml.pre: missing, so how text is split is unknown"},
		{"unknown split", "llama", set("tokenizer.ggml.pre", "kimi-k2"), `tokenizer.ggml.pre: "kimi-k2" is not supported`},
		{"more tokens than rows", "llama", tokens(func(s []string) []string { return append(s, "more") }), "tokenizer.ggml.tokens: 301 tokens but the embedding has only 300 rows"},
		{"fewer types", "llama", set("tokenizer.ggml.token_type", []int64{1}), "tokenizer.ggml.token_type: 1 types for 300 tokens"},
		{"token twice", "llama", tokens(func(s []string) []string { s[7] = s[8]; return s }), "has ids 7 and 8"},
		{"empty token", "llama", tokens(func(s []string) []string { s[7] = ""; return s }), "token 7 is empty"},
		{"token that is no text", "llama", tokens(func(s []string) []string { s[7] = "\xff"; return s }), "token 7, \"\\xff\", is not UTF-8"},
		{"token of 1 MB", "gemma2", tokens(func(s []string) []string { s[290] = strings.Repeat("a", 1<<20); return s }), "tokenizer.ggml.tokens: up to token 290, of 1048576 bytes, they are too long to find their merges"},
		{"bad merge", "llama", set("tokenizer.ggml.merges", []string{"ab"}), `tokenizer.ggml.merges: entry 0, "ab", is not two tokens`},
		{"empty merge", "llama", set("tokenizer.ggml.merges", []string{""}), `tokenizer.ggml.merges: entry 0, "", is not two tokens`},
		{"no merges", "llama", drop("tokenizer.ggml.merges"), "tokenizer.ggml.merges: missing"},
		{"no scores", "gemma2", drop("tokenizer.ggml.scores"), "tokenizer.ggml.scores: missing"},
		{"a byte is missing", "gemma2", tokens(func(s []string) []string { s[3] = "zero"; return s }), "<0x00> is missing, so not every text could be encoded"},
		{"eos outside", "llama", set("tokenizer.ggml.eos_token_id", int64(5000)), "eos_token_id: 5000 is outside the vocabulary of 300"},
		{"no bos although it is added", "llama", drop("tokenizer.ggml.bos_token_id"), "tokenizer.ggml.bos_token_id: missing although the tokenizer adds it"},
		{"separator", "llama", set("tokenizer.ggml.add_sep_token", true), "tokenizer.ggml.add_sep_token: true is not supported"},
		{"named templates without one", "llama", func(f *File) {
			set("tokenizer.chat_templates", []string{"tool_use"})(f)
			drop("tokenizer.chat_template")(f)
		}, "tokenizer.chat_template: missing although"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openGolden(t, c.kind)
			c.spoil(f)
			dir := filepath.Join(t.TempDir(), "out")
			_, err := f.importTo(dir, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant a sentence with %q", err, c.want)
			}
			if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) > 0 {
				t.Errorf("%s is left", entries[0].Name())
			}
		})
	}
}

// TestTruncation: a file that is cut anywhere is refused.
func TestTruncation(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(golden, "qwen2.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + n/200 {
		if _, err := parse(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Fatalf("cut to %d of %d bytes was accepted", n, len(whole))
		}
	}
}

// FuzzParse: whatever the bytes, nothing panics, and what is accepted lies inside the file and can be read.
func FuzzParse(f *testing.F) {
	f.Add(file(64, head(1, 1), kv("general.alignment", kindU32, u32+32), desc("x", 0, 0, 4)))
	f.Add(file(300, head(2, 1), kv("a", kindArray, uint32(kindText), uint64(1), "b"), desc("x", 2, 0, 32, 2), desc("y", 14, 64, 256)))
	f.Add(file(0, head(0, 1), kv("a", kindArray, uint32(kindF32), uint64(2), float32(1), float32(2))))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parse(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if strings.TrimSpace(fmt.Sprint(err)) == "" {
				t.Error("an error without a word")
			}
			return
		}
		for _, name := range g.Names() {
			if _, err := g.Tensor(name); err != nil {
				t.Errorf("tensor %q was accepted but cannot be read: %v", name, err)
			}
		}
	})
}
