// Files that are made to cost: each is refused, or read in a time that grows with its size.

package tokenizer_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"molt/tokenizer"
)

// costly is the small tokenizer with another vocabulary, other merges, added tokens and components; "" keeps what it has.
func costly(vocab, merges, added, components string) []byte {
	text := string(small(true))
	swap := func(old, new string) {
		if new != "" {
			text = strings.Replace(text, old, new, 1)
		}
	}
	swap(`"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7, "i": 8, "j": 9, " ": 10`, vocab)
	swap(`"merges": []`, `"merges": [`+merges+`]`)
	if i, j := strings.Index(text, `"added_tokens": [`), strings.Index(text, `],`); added != "" {
		text = text[:i] + `"added_tokens": [` + added + text[j:]
	}
	swap(`"normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"}`, components)
	return []byte(strings.ReplaceAll(text, "\n ", " "))
}

// listed is n texts with commas between.
func listed(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(i))
	}
	return b.String()
}

func repeated(n int, text string) string { return listed(n, func(int) string { return text }) }

func addedText(id int, content string) string {
	return fmt.Sprintf(`{"id": %d, "content": %q, "special": true}`, id, content)
}

// components replaces the four of small.
func components(normalizer, split, post, decoder string) string {
	return `"normalizer": ` + normalizer + `, "pre_tokenizer": ` + split + `, "post_processor": ` + post + `, "decoder": ` + decoder
}

func normalizers(list string) string {
	return components(`{"type": "Sequence", "normalizers": [`+list+`]}`, "null", "null", `{"type": "Fuse"}`)
}

func splits(list string) string {
	return components("null", `{"type": "Sequence", "pretokenizers": [`+list+`]}`, "null", `{"type": "Fuse"}`)
}

func splitOn(regex string) string {
	return fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %q}, "behavior": "Isolated", "invert": false}`, regex)
}

func TestCostlyFiles(t *testing.T) {
	const replaceA = `{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}`
	const prepend = `{"type": "Prepend", "prepend": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`
	frame := func(post string) string { return components("null", "null", post, `{"type": "Fuse"}`) }
	base := `"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7, "i": 8, "j": 9, "": 10`
	for _, c := range []struct {
		name string
		file []byte
		want string // "" where it is read
	}{
		{"as it is", costly("", "", "", ""), ""},
		{"one merge, many times", costly(base+`, "ab": 11`, repeated(500_000, `"a b"`), addedText(12, "<x>"), ""), `model.merges[1]: "a" + "b" is listed twice`},
		{"too many merges", costly("", repeated(1<<22+1, `"a b"`), "", ""), "more than 4194304 merges"},
		{"merges in a circle", costly(base+`, "ab": 11, "ba": 12, "aba": 13, "bab": 14`, `"a b", "b a", "ab a", "a ba", "ba b", "b ab"`, addedText(15, "<x>"), ""), ""},
		{"merges with nothing", costly(base, `["a", ""], ["", "a"], ["", ""]`, addedText(11, "<x>"), ""), ""},
		{"a piece of 1 MB", costly(base+`, "`+strings.Repeat("a", 1<<20)+`": 11`, "", "", ""), `model: /vocab/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"… has 1048576 bytes; at most 16384`},
		{"an id twice", costly(base+`, "ab": 3`, "", addedText(12, "<x>"), ""), `id 3 belongs to both "d" and "ab"`},
		{"a negative id", costly(base+`, "ab": -3`, "", "", ""), "ids run from 0 to 2097151"},
		{"an id far beyond", costly(base+`, "ab": 1e15`, "", "", ""), "its id must be an integer from 0 to 2097151"},
		{"an id beyond", costly(base+`, "ab": 2097152`, "", "", ""), "ids run from 0 to 2097151"},
		{"an id that leaves a gap", costly(base+`, "ab": 2000000`, "", "", ""), "leaves ids without a token"},
		{"an added token of 1 MB", costly("", "", addedText(11, strings.Repeat("x", 1<<20)), ""), "id 11 has 1048576 bytes of content; at most 512"},
		{"added tokens of 20 MB", costly("", "", listed(40_000, func(i int) string { return addedText(11+i, fmt.Sprintf("%0512d", i)) }), ""), "added_tokens: more than 16777216 bytes of content together"},
		{"many added tokens", costly("", "", listed(100_000, func(i int) string { return addedText(11+i, fmt.Sprintf("<%d>", i)) }), ""), ""},
		{"added tokens that begin alike", costly("", "", listed(30_000, func(i int) string { return addedText(11+i, "<"+strings.Repeat("a", i%400)+fmt.Sprint(i)) }), ""), ""},
		{"replacements that double", costly("", "", "", normalizers(repeated(10, replaceA))), "it can make text more than 256 times as long"},
		{"text in front of text in front", costly("", "", "", normalizers(repeated(3, prepend))), "it can make text more than 256 times as long"},
		{"too many normalizers", costly("", "", "", normalizers(repeated(100_000, `{"type": "NFC"}`))), ""},
		{"a long pattern", costly("", "", "", splits(splitOn(strings.Repeat("a", 100_000)))), "regular expression of 100000 bytes; at most 4096"},
		{"classes in classes", costly("", "", "", splits(splitOn(strings.Repeat("[", 1000)+"a"+strings.Repeat("]", 1000)))), "classes nested more than 50 deep"},
		{"many classes", costly("", "", "", splits(splitOn(strings.Repeat(`[^\p{L}\p{N}]`, 257)))), "more than 256 characters and classes, in all patterns together"},
		{"many classes in many patterns", costly("", "", "", splits(repeated(60, splitOn(strings.Repeat(`[^\p{L}\p{N}]|`, 100)+"a")))), "more than 256 characters and classes, in all patterns together"},
		{"many ways in many patterns", costly("", "", "", splits(repeated(30, splitOn(`a{0,60}b`)))), "more than 1000 ways to match are not supported, in all patterns together"},
		{"many ways", costly("", "", "", splits(splitOn(strings.Repeat("a?", 40)))), "more than 1000 ways to match"},
		{"a decoder that doubles", costly("", "", "", components("null", "null", "null", `{"type": "Sequence", "decoders": [`+repeated(12, replaceA)+`]}`)), "it can make text more than 256 times as long"},
		{"ids around every text", costly("", "", "", frame(`{"type": "TemplateProcessing", "single": [`+repeated(1000, `{"SpecialToken": {"id": "<x>", "type_id": 0}}`)+`, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {"<x>": {"id": "<x>", "ids": [11], "tokens": ["<x>"]}}}`)), "more than 256 ids around a sequence"},
		{"frames in frames", costly("", "", "", frame(`{"type": "Sequence", "processors": [`+repeated(50_000, `{"type": "BertProcessing", "sep": ["<x>", 11], "cls": ["<x>", 11]}`)+`]}`)), "more than 256 ids around a sequence"},
	} {
		begin := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tok, err := tokenizer.NewConfigured(tokenizer.Files{Tokenizer: c.file})
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil && c.name != "too many normalizers" || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %.300v, want %q", c.name, err, c.want)
		}
		if err == nil {
			for _, text := range []string{strings.Repeat("ab", 50_000), strings.Repeat("<aaaa", 20_000), strings.Repeat("a<x>", 20_000)} {
				if got := tok.Decode(tok.EncodeSpecial(text)); len(got) > 256*len(text) {
					t.Errorf("%s: a text of %d bytes became one of %d", c.name, len(text), len(got))
				}
			}
		}
		allocated := after.TotalAlloc - before.TotalAlloc
		if took := time.Since(begin); took > time.Minute || allocated > 64<<20+40*uint64(len(c.file)) {
			t.Errorf("%s: %v and %d MiB for a file of %d kB", c.name, took, allocated>>20, len(c.file)>>10)
		}
	}
}

// TestCostlyConfigurations does so for the files beside.
func TestCostlyConfigurations(t *testing.T) {
	many := listed(100_000, func(i int) string { return fmt.Sprintf(`"<%d>"`, i) })
	for name, files := range map[string]tokenizer.Files{
		"extra tokens":         {Config: []byte(`{"extra_special_tokens": [` + many + `]}`)},
		"tokens in two":        {Config: []byte(`{"extra_special_tokens": [` + many + `]}`), SpecialTokens: []byte(`{"extra_special_tokens": [` + many + `]}`)},
		"added_tokens.json":    {AddedTokens: []byte("{" + listed(100_000, func(i int) string { return fmt.Sprintf(`"<%d>": %d`, i, 12+i) }) + "}")},
		"added_tokens_decoder": {Config: []byte(`{"added_tokens_decoder": {` + listed(100_000, func(i int) string { return fmt.Sprintf(`"%d": {"content": "<%d>", "special": true}`, 12+i, i) }) + `}}`)},
	} {
		begin := time.Now()
		files.Tokenizer = small(true)
		tok, err := tokenizer.NewConfigured(files)
		if err != nil || tok.VocabSize() < 100_000 {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
	}
}
