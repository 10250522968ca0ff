// What is refused, and with which words.

package tokenizer_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"

	"molt/tokenizer"
)

func TestRefusals(t *testing.T) {
	cases := []struct {
		name, path, value string // path: key of the file, "model.…" for a key of the model; "" replaces everything
		want              string
	}{
		{"not JSON", "", `{`, "unexpected EOF"},
		{"trailing JSON", "", `{} {}`, "invalid character"},
		{"duplicate key", "", `{"version":"1","version":"2"}`, "duplicate"},
		{"broken UTF-8", "", "{\"version\":\"\xff\"}", "invalid UTF-8"},
		{"unknown field", "shape", `1`, `/shape: unknown object member name`},
		{"normalizer", "normalizer", `{"type":"Precompiled"}`, `normalizer: component "Precompiled" is not supported`},
		{"nested normalizer", "normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Nmt"}]}`, `normalizer.normalizers[1]: component "Nmt"`},
		{"replacement that explodes", "normalizer", `{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaa"},`, 9) + `{"type":"NFC"}]}`, "more than 256 times as long"},
		{"long replacement", "normalizer", `{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 65) + `"}`, "65 bytes; at most 64"},
		{"long prepend", "normalizer", `{"type":"Prepend","prepend":"` + strings.Repeat("a", 65) + `"}`, "65 bytes; at most 64"},
		{"replacement of punctuation", "pre_tokenizer", `{"type":"Punctuation","behavior":"Sideways"}`, `pre_tokenizer.behavior: unknown value "Sideways"`},
		{"normalizer option", "normalizer", `{"type":"NFC","strip":true}`, `normalizer: /strip: unknown object member name`},
		{"pre-tokenizer", "pre_tokenizer", `{"type":"Sequence","pretokenizers":[{"type":"UnicodeScripts"}]}`, `pre_tokenizer.pretokenizers[0]: component "UnicodeScripts"`},
		{"split behavior", "pre_tokenizer", `{"type":"Split","pattern":{"String":"x"},"behavior":"Sideways"}`, `pre_tokenizer.behavior: unknown value "Sideways"`},
		{"split without pattern", "pre_tokenizer", `{"type":"Split","pattern":{},"behavior":"Removed"}`, `pre_tokenizer.pattern`},
		{"metaspace scheme", "pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"maybe"}`, `prepend_scheme: unknown value "maybe"`},
		{"metaspace contradiction", "pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"first","add_prefix_space":false}`, `contradicts`},
		{"nested repeats", "pre_tokenizer", `{"type":"Split","pattern":{"Regex":"(a+)+b"},"behavior":"Isolated"}`, "repeating a group"},
		{"post-processor", "post_processor", `{"type":"Strange"}`, `post_processor: component "Strange"`},
		{"template id", "post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"a":{"id":"a","ids":[99999],"tokens":["a"]}}}`, "outside the vocabulary"},
		{"template without sequence", "post_processor", `{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}}`, "the sequence A is missing"},
		{"no decoder", "decoder", `null`, "decoder: missing"},
		{"decoder", "decoder", `{"type":"CTC"}`, `decoder: component "CTC"`},
		{"decoder after joining", "decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"ByteFallback"}]}`, `decoder.decoders[1]: "ByteFallback" after the pieces were joined`},
		{"strip at the end", "decoder", `{"type":"Strip","content":" ","start":0,"stop":1}`, "decoder.stop"},
		{"one side byte-level", "decoder", `{"type":"Fuse"}`, "pre_tokenizer and decoder"},
		{"model", "model.type", `"Unigram"`, `model: type "Unigram" is not supported`},
		{"dropout", "model.dropout", `0.1`, "model.dropout"},
		{"prefix", "model.continuing_subword_prefix", `"##"`, "model.merges[0]"},
		{"Bert id", "post_processor", `{"type":"BertProcessing","sep":["a",99999],"cls":["b",1]}`, `"a" has id 99999, outside the vocabulary`},
		{"Bert token", "post_processor", `{"type":"RobertaProcessing","sep":["a"],"cls":["b",1]}`, "must be a token and its id"},
		{"model option", "model.speed", `1`, `model: /speed: unknown object member name`},
		{"byte fallback", "model.byte_fallback", `true`, "model.vocab lacks <0x00>"},
		{"unknown token", "model.unk_token", `"<unk>"`, `model.unk_token: "<unk>" is not in model.vocab`},
		{"negative id", "model.vocab", `{"a":-1}`, `"a" has id -1`},
		{"huge id", "model.vocab", `{"a":2147483648}`, `"a" has id 2147483648`},
		{"fractional id", "model.vocab", `{"a":1.5}`, "model"},
		{"piece twice", "model.vocab", `{"a":0,"a":1}`, "duplicate"},
		{"empty vocabulary", "model.vocab", `{}`, "model.vocab: empty"},
		{"vocabulary as list", "model.vocab", `["a"]`, "must be an object"},
		{"merge of unknown", "model.merges", `[["zz","yy"]]`, `model.merges[0]: "zz" + "yy"`},
		{"merge into unknown", "model.merges", `["! !"]`, `model.merges[0]: "!" + "!"`},
		{"merge of three", "model.merges", `["a b c"]`, "one space between"},
		{"merge list of three", "model.merges", `[["a","b","c"]]`, "merge 0: must be two tokens"},
		{"merge twice", "model.merges", `["i t","i t"]`, `model.merges[1]: "i" + "t" is listed twice`},
		{"added id taken", "added_tokens", `[{"id":5,"content":"<x>"}]`, `"<x>" has id 5 where the reference gives it 505`},
		{"added id differs", "added_tokens", `[{"id":999,"content":"!"}]`, `"!" has id 999 but model.vocab says`},
		{"added hole", "added_tokens", `[{"id":99999,"content":"<x>"}]`, `"<x>" has id 99999 where the reference gives it 505`},
		{"sparse", "model.vocab", `{"a":0,"b":7}`, "model.vocab leaves out ids"},
		{"added negative", "added_tokens", `[{"id":-1,"content":"<x>"}]`, `"<x>" has id -1`},
		{"added empty", "added_tokens", `[{"id":505,"content":""}]`, "empty content"},
		{"added long", "added_tokens", `[{"id":505,"content":"` + strings.Repeat("x", 600) + `"}]`, "600 bytes of content"},
		{"added twice", "added_tokens", `[{"id":505,"content":"<x>"},{"id":506,"content":"<x>"}]`, `"<x>" is listed twice`},
		{"special letter", "added_tokens", `[{"id":65,"content":"A","special":true}]`, `special token "A" is also how ordinary text is spelled`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data := []byte(c.value)
			if c.path != "" {
				data = with(t, read(t, "testdata/trained.json"), c.path, c.value)
			}
			_, err := tokenizer.New(data)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "tokenizer: load tokenizer.json: ") {
				t.Errorf("got %v\nwant a sentence with %q", err, c.want)
			}
		})
	}
}

// with replaces one key.
func with(t testing.TB, data []byte, path, value string) []byte {
	t.Helper()
	var f map[string]jsontext.Value
	parse(t, data, &f)
	if key, ok := strings.CutPrefix(path, "model."); ok {
		var model map[string]jsontext.Value
		parse(t, f["model"], &model)
		model[key] = jsontext.Value(value)
		if key == "vocab" {
			model["merges"] = jsontext.Value("[]")
			return []byte(strings.Replace(string(marshalRaw(t, f, "model", model)), `"VOCAB"`, value, 1))
		}
		f["model"] = marshal(t, model)
	} else {
		f[path] = jsontext.Value(value)
	}
	return marshal(t, f)
}

// marshalRaw lets a vocabulary with duplicate names through, which marshal would refuse.
func marshalRaw(t testing.TB, f map[string]jsontext.Value, key string, model map[string]jsontext.Value) []byte {
	t.Helper()
	model["vocab"] = jsontext.Value(`"VOCAB"`)
	f[key] = marshal(t, model)
	return marshal(t, f)
}

// TestByteWithoutToken: text must never vanish.
func TestByteWithoutToken(t *testing.T) {
	data := strings.Replace(string(read(t, "testdata/trained.json")), `"~":`, `"~~":`, 1)
	if _, err := tokenizer.New([]byte(data)); err == nil || !strings.Contains(err.Error(), "byte 0x7E") {
		t.Errorf("got %v, want a sentence about byte 0x7E", err)
	}
	data = strings.Replace(string(read(t, "testdata/sentence.json")), `"byte_fallback":true`, `"byte_fallback":false`, 1)
	data = strings.Replace(data, `"unk_token":"<unk>"`, `"unk_token":null`, 1)
	if _, err := tokenizer.New([]byte(data)); err == nil || !strings.Contains(err.Error(), "would vanish") {
		t.Errorf("got %v, want a sentence about vanishing characters", err)
	}
}

// TestDeepNesting: a chain of ten thousand Sequences must cost nothing.
func TestDeepNesting(t *testing.T) {
	const n = 4000
	deep := strings.Repeat(`{"type":"Sequence","normalizers":[`, n) + `{"type":"NFC"}` + strings.Repeat(`]}`, n)
	_, err := tokenizer.New(with(t, read(t, "testdata/trained.json"), "normalizer", deep))
	if err == nil || !strings.Contains(err.Error(), "nested more than") || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
	many := `{"type":"Sequence","normalizers":[` + strings.TrimSuffix(strings.Repeat(`{"type":"Lowercase"},`, 100), ",") + `]}`
	if _, err = tokenizer.New(with(t, read(t, "testdata/trained.json"), "normalizer", many)); err == nil || !strings.Contains(err.Error(), "more than 64 components") {
		t.Errorf("got %v", err)
	}
}

// TestControlBesideNormalizer: what text from outside could turn into a control token is refused.
func TestControlBesideNormalizer(t *testing.T) {
	data := strings.ReplaceAll(string(read(t, "testdata/trained.json")), `"normalized":false`, `"normalized":true`)
	for normalizer, want := range map[string]string{
		`{"type":"Prepend","prepend":"▁"}`:                                            "would be found only behind a space",
		`{"type":"Replace","pattern":{"Regex":"[a-z]+"},"content":"x"}`:               "replaces more than whitespace",
		`{"type":"Replace","pattern":{"String":"im_start"},"content":"<|im_start|>"}`: "may replace all of control token",
		`{"type":"Replace","pattern":{"Regex":"\\s{2,}"},"content":" "}`:              "",
		`{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}`:    "",
	} {
		_, err := tokenizer.New(with(t, []byte(data), "normalizer", normalizer))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", normalizer, err, want)
		}
	}
}

// TestPatterns: what the regular expressions may contain.
func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		tokenizer.TrainPattern:               "",
		`\p{N}{1,3}|[^\s\p{L}]?\p{L}+?(?=x)`: "",
		`[a-z&&[^aeiou]]++x`:                 "",
		`[\p{Han}[0-9]]+`:                    "",
		`(?:a|a|b)?(c|d)`:                    "",
		`(a*b*|c)d*e`:                        "",
		`(?:a|a|b)?(c|d)?`:                   "matches nothing at all",
		`a**`:                                "doubled",
		`a{2}{3}`:                            "doubled",
		`a{2}?`:                              "doubled",
		`(a|b+)*`:                            "repeating a group",
		strings.Repeat("a", 300):             "more than 256 characters",
		`(a|a){2}`:                           "repeating a group",
		`\p{N}{65}`:                          "n ≤ m ≤ 64",
		`a?b?c?d?e?f?g?h?i?j?k`:              "more than 1000 ways",
		`(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)`: "more than 1000 ways",
		`a(?=b+)`:      "inside a look-ahead",
		`a(?=b)+`:      "repeating a look-ahead",
		`[]a]`:         "empty class",
		`[a`:           "missing ]",
		`[z-a]`:        "a range must end",
		`[[:alpha:]]`:  "[: is not supported",
		`(a`:           "missing )",
		`a)`:           "unmatched )",
		`(?<n>a)`:      "group",
		`(?<=a)b`:      "group",
		`(?i)a`:        "group",
		`(?i:ss)`:      "also matches a single character",
		`(?i:\p{Lu})`:  "under (?i:",
		`(?i:é)`:       "under (?i:",
		`^a`:           "not supported here",
		`a$`:           "not supported here",
		`\w`:           `escape \w`,
		`(a)\1`:        `escape \1`,
		`\p{^L}`:       "name of a category",
		`\p{Cn}`:       "name of a category",
		`\pL`:          "name of a category",
		`\p{Nonsense}`: "name of a category",
		`a{,3}`:        "must be {n}",
		`a{3,2}`:       "must be {n}",
		`{`:            "not supported here",
		`\`:            "trailing backslash",
		strings.Repeat("(", 60) + strings.Repeat(")", 60): "nested more than 50",
	} {
		value := fmt.Sprintf(`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":%s},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]}`, marshal(t, pattern))
		_, err := tokenizer.New(with(t, read(t, "testdata/trained.json"), "pre_tokenizer", value))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}
