// Real vocabularies against the Rust library. scripts/goldens/tokenizer/real.sh fetches them and writes what the library
// does with some six thousand strings each; nothing of them is committed, so the test runs where they are cached.

package tokenizer_test

import (
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/tokenizer"
)

// oracle is what real.py writes beside a tokenizer.json.
type oracle struct {
	Strings []string  `json:"strings"`
	Encoded [][]int32 `json:"encoded"` // of the strings
	Plain   []string  `json:"plain"`   // decoded
	Visible []string  `json:"visible"` // decoded without special tokens
	Framed  [][]int32 `json:"framed"`  // of the first strings, with the post-processor's ids
	Lists   [][]int32 `json:"lists"`   // ids that no encoder would give
	Texts   []string  `json:"texts"`   // decoded
}

// realFolder is the cache of real.sh.
func realFolder(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv("MOLT_TOKENIZERS"); folder != "" {
		return folder
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	return filepath.Join(cache, "molt", "tokenizers")
}

// realTokenizer loads a cached tokenizer, or skips.
func realTokenizer(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(realFolder(t), name, "tokenizer.json"))
	if err != nil {
		t.Skipf("%s is not cached; scripts/goldens/tokenizer/real.sh fetches it", name)
	}
	return load(t, data)
}

// TestReal compares ids, decoded text and streams. Without MOLT_TOKENIZERS or -v it keeps to two vocabularies.
func TestReal(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(realFolder(t), "*", "oracle.json"))
	if len(files) == 0 {
		t.Skip("no real tokenizers are cached; scripts/goldens/tokenizer/real.sh fetches them")
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tok := realTokenizer(t, name)
			var o oracle
			if err := json.Unmarshal(read(t, file), &o); err != nil {
				t.Fatal(err)
			}
			if len(o.Strings) < 5000 || len(o.Encoded) != len(o.Strings) || len(o.Lists) < 1000 {
				t.Fatalf("%s holds %d strings and %d lists", file, len(o.Strings), len(o.Lists))
			}
			c := counter{t: t}
			c.compare(tok, &o)
			t.Logf("%-10s %6d ids, %4d added  %d strings: %d ids wrong, %d texts wrong  %d lists: %d wrong", name, tok.VocabSize(), len(tok.AddedTokens()),
				len(o.Strings), c.wrong["ids"], c.wrong["text"], len(o.Lists), c.wrong["list"])
		})
	}
}

func wanted(name string) bool {
	return testing.Verbose() || os.Getenv("MOLT_TOKENIZERS") != "" || name == "gpt2" || name == "qwen3"
}

// TestRealGuard: masked as the chat room does, no disguise of a control token becomes one, and nothing else changes.
func TestRealGuard(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(realFolder(t), "*", "tokenizer.json"))
	if len(files) == 0 {
		t.Skip("no real tokenizers are cached; scripts/goldens/tokenizer/real.sh fetches them")
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tok := realTokenizer(t, name)
			guard := tok.NewGuard(false)
			unknown := unknownOf(tok)
			for i, a := range tok.AddedTokens() {
				if i > 60 && i%40 != 0 {
					continue
				}
				for _, text := range disguises(a.Content) {
					ids := tok.EncodeParts(masked(guard, text)...)
					for _, id := range ids {
						if tok.IsControl(id) && id != unknown {
							t.Fatalf("%q: %q came through", text, tok.Token(id))
						}
					}
				}
			}
		})
	}
}

// unknownOf is the id that the vocabulary has for what it cannot write, -1 for none.
func unknownOf(tok *tokenizer.Tokenizer) int32 {
	if id, ok := tok.ID("<unk>"); ok {
		return id
	}
	return -1
}

func disguises(token string) []string {
	var wide, marked strings.Builder
	for _, r := range token {
		if r > ' ' && r < 0x7f {
			wide.WriteRune(r + 0xFEE0)
		} else {
			wide.WriteRune(r)
		}
		marked.WriteString(string(r) + "\u200b")
	}
	return []string{token, token + token, "x" + token + "y", wide.String(), " " + wide.String() + " ", marked.String(), strings.ToUpper(token), strings.ReplaceAll(token, "▁", " "), strings.ReplaceAll(token, " ", "▁"), token + "\u0301"}
}

// masked divides text at what the guard finds.
func masked(guard *tokenizer.Guard, text string) []tokenizer.Part {
	var parts []tokenizer.Part
	done := 0
	for _, f := range guard.Find(text) {
		parts = append(parts, tokenizer.Part{Text: text[done:f.From]}, tokenizer.Part{Text: text[f.From:f.To], Ordinary: true})
		done = f.To
	}
	return append(parts, tokenizer.Part{Text: text[done:]})
}

// counter counts mismatches and shows the first few.
type counter struct {
	t     *testing.T
	wrong map[string]int
}

func (c *counter) compare(tok *tokenizer.Tokenizer, o *oracle) {
	for i, s := range o.Strings {
		check(c, "ids", s, tok.EncodeSpecial(s), o.Encoded[i])
		check(c, "text", s, tok.Decode(o.Encoded[i]), o.Plain[i])
		check(c, "text", s, tok.DecodeVisible(o.Encoded[i]), o.Visible[i])
		if i%7 == 0 {
			check(c, "text", s, streamed(tok, o.Encoded[i]), o.Plain[i])
		}
		if i < len(o.Framed) {
			check(c, "ids", s, tok.Frame(tok.EncodeSpecial(s)), o.Framed[i])
		}
	}
	for i, ids := range o.Lists {
		check(c, "list", fmt.Sprint(ids), tok.Decode(ids), o.Texts[i])
		check(c, "list", fmt.Sprint(ids), streamed(tok, ids), o.Texts[i])
	}
}

func check[T any](c *counter, kind, of string, got, want T) {
	if fmt.Sprint(got) == fmt.Sprint(want) {
		return
	}
	if c.wrong == nil {
		c.wrong = make(map[string]int)
	}
	if c.wrong[kind]++; c.wrong[kind] <= 5 {
		c.t.Errorf("%s of %.300q:\n got %.300q\nwant %.300q", kind, of, fmt.Sprint(got), fmt.Sprint(want))
	}
}
