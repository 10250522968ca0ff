package tokenizer_test

import (
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/tokenizer"
)

// small has a token of its own for each of ten letters and for <x>, which is added with the id 11.
func small(special bool) []byte {
	flag := "false"
	if special {
		flag = "true"
	}
	return []byte(`{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 11, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": ` + flag + `}],
 "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
 "model": {"type": "BPE", "dropout": null, "unk_token": "a", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
 "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7, "i": 8, "j": 9, " ": 10}, "merges": []}}`)
}

// TestConfigured: the cases are those of scripts/goldens/tokenizer/configured.py, which prints what transformers makes of them.
func TestConfigured(t *testing.T) {
	var cases []struct {
		Name    string
		Special bool // <x> in tokenizer.json
		Files   map[string]string
		Named   map[string]string
		Added   []tokenizer.AddedToken
		IDs     []int32 // of "a <x> b<y>b"
	}
	if err := json.Unmarshal(read(t, "testdata/golden/configured.json"), &cases, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"another id":            `added_tokens_decoder: token "<x>" has id 3, but tokenizer.json has it with 11`,
		"a gap":                 `added_tokens_decoder: token "<y>" has id 20, but it is not in tokenizer.json, where the next free id is 12`,
		"a word of the model":   `added_tokens: special token "b" is also how ordinary text is spelled`,
		"a named letter":        `added_tokens: special token "b" is also how ordinary text is spelled`,
		"another id of a piece": `added_tokens_decoder: token "b" has id 5, but tokenizer.json has it with 1`,
		"older gap":             `added_tokens.json: token "<y>" has id 20, but it is not in tokenizer.json, where the next free id is 12`,
		"older, another id":     `added_tokens.json: token "<x>" has id 3, but tokenizer.json has it with 11`,
	}
	for _, c := range cases {
		files := tokenizer.Files{Tokenizer: small(c.Special)}
		for name, to := range map[string]*[]byte{"tokenizer_config": &files.Config, "special_tokens_map": &files.SpecialTokens, "added_tokens": &files.AddedTokens} {
			if text, ok := c.Files[name]; ok {
				*to = []byte(text)
			}
		}
		tok, err := tokenizer.NewConfigured(files)
		if want, ok := refused[c.Name]; ok {
			if delete(refused, c.Name); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", c.Name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if diff := cmp.Diff(c.Added, tok.AddedTokens()); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
		if got := tok.EncodeSpecial("a <x> b<y>b"); !slices.Equal(got, c.IDs) {
			t.Errorf("%s: got %v, want %v", c.Name, got, c.IDs)
		}
		named, err := files.Named()
		got := map[string]string{}
		for _, n := range named {
			got[n.Name] = n.Content
		}
		if diff := cmp.Diff(c.Named, got); err != nil || diff != "" {
			t.Errorf("%s: named %v %s", c.Name, err, diff)
		}
		if again, err := tokenizer.New(tok.JSON()); err != nil || !slices.Equal(again.AddedTokens(), tok.AddedTokens()) {
			t.Errorf("%s: its tokenizer.json says something else: %v", c.Name, err)
		}
	}
	if len(cases) < 40 || len(refused) > 0 {
		t.Errorf("%d cases; not seen: %v", len(cases), refused)
	}
}

func TestConfiguredRefuses(t *testing.T) {
	for config, want := range map[string]string{
		`[]`: "tokenizer_config.json: ", `{"added_tokens_decoder": {"x": {"content": "<y>"}}}`: `"x" is no id`,
		`{"added_tokens_decoder": {"12": {}}}`: "the token with id 12 has no content", `{"bos_token": 3}`: "tokenizer_config.json: ",
		`{"extra_special_tokens": [3]}`: "extra_special_tokens: ", `{"split_special_tokens": true}`: "split_special_tokens: true is not supported",
		`{"fast_tokenizer_files": ["tokenizer.json", "tokenizer.4.9.0.json"]}`: `"tokenizer.4.9.0.json" in place of tokenizer.json`,
		`{` + members(2000) + `}`: "has 2000 members; at most 1024",
	} {
		if _, err := tokenizer.NewConfigured(tokenizer.Files{Tokenizer: small(true), Config: []byte(config)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

// members are n members of an object.
func members(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"name%d_token": "<%d>"`, i, i))
	}
	return strings.Join(all, ",")
}

// FuzzConfigured: whatever lies beside a tokenizer, it is refused with a sentence or gives one whose tokenizer.json is read again.
func FuzzConfigured(f *testing.F) {
	f.Add(`{"added_tokens_decoder": {"11": {"content": "<x>", "special": true}}}`, `{"eos_token": "<y>"}`, `{"<z>": 13}`)
	f.Add(`{"extra_special_tokens": {"z_token": "<z>"}, "image_token": "<i>"}`, `{"extra_special_tokens": ["<y>"], "additional_special_tokens": []}`, `{}`)
	f.Fuzz(func(t *testing.T, config, special, added string) {
		files := tokenizer.Files{Tokenizer: small(true), Config: []byte(config), SpecialTokens: []byte(special), AddedTokens: []byte(added)}
		tok, err := tokenizer.NewConfigured(files)
		if err != nil {
			return
		}
		if _, err := files.Named(); err != nil {
			t.Errorf("the tokenizer is read, and its names are not: %v", err)
		}
		if _, err := tokenizer.New(tok.JSON()); err != nil {
			t.Error(err)
		}
	})
}
