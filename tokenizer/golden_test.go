// Ids and texts of the Rust library, frozen by scripts/goldens/tokenizer/run.sh.

package tokenizer_test

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/tokenizer"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/trained.json")

// trainedControl are the control tokens of testdata/trained.json.
var trainedControl = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>"}
var trainedVisible = []string{"<tool_call>", "</tool_call>", "<think>", "</think>"}

func trainFixture(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	corpus := string(read(t, "testdata/corpus.txt"))
	tok, err := tokenizer.Train(strings.SplitAfterSeq(corpus, "\n"), 512, trainedControl, tokenizer.TrainOptions{Visible: trainedVisible})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestTrainedFixture: the same corpus gives the same bytes, and those are what the Rust library was asked about.
func TestTrainedFixture(t *testing.T) {
	got := trainFixture(t).JSON()
	if *rewrite {
		if err := os.WriteFile("testdata/trained.json", got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != string(read(t, "testdata/trained.json")) {
		t.Error("training the corpus no longer gives testdata/trained.json")
	}
}

// TestGolden compares with the reference on every string and id sequence of the frozen set.
func TestGolden(t *testing.T) {
	texts := hostile(t)
	all := sources(t)
	stories := filepath.Join("..", "..", "shared", "models", "stories260K", "tokenizer.json")
	if data, err := os.ReadFile(stories); err == nil {
		all["stories260K"] = data
	} else {
		t.Run("stories260K", func(t *testing.T) { t.Skipf("%s is absent", stories) })
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(onlyPieces, name) {
			continue
		}
		t.Run(name, func(t *testing.T) { compare(t, name, all[name], texts) })
	}
}

// onlyPieces are variants whose splits a small vocabulary cannot tell apart; only their pieces are frozen.
var onlyPieces = []string{"behaviors", "deepseek", "o200k"}

// TestGoldenPieces compares what BPE gets to see.
func TestGoldenPieces(t *testing.T) {
	texts := hostile(t)
	all := sources(t)
	var g map[string][][]string
	parse(t, read(t, "testdata/pieces.json"), &g)
	for _, name := range slices.Sorted(maps.Keys(g)) {
		t.Run(name, func(t *testing.T) {
			tok := load(t, all[name])
			for i, text := range texts {
				if got := tok.Pieces(text); !slices.Equal(got, g[name][i]) {
					t.Errorf("pieces of %q:\n got %q\nwant %q", text, got, g[name][i])
				}
			}
		})
	}
	if len(g) < 7 {
		t.Errorf("only %d tokenizers in pieces.json", len(g))
	}
}

func load(t testing.TB, source []byte) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.New(source)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func hostile(t testing.TB) []string {
	t.Helper()
	var texts struct {
		Strings []string `json:"strings"`
	}
	parse(t, read(t, "testdata/hostile.json"), &texts)
	return texts.Strings
}

// sources returns the tokenizer.json of the bases and of their variants.
func sources(t testing.TB) map[string][]byte {
	t.Helper()
	bases := map[string][]byte{"trained": read(t, "testdata/trained.json"), "sentence": read(t, "testdata/sentence.json"),
		"continued": read(t, "testdata/continued.json"), "ended": read(t, "testdata/ended.json")}
	all := maps.Clone(bases)
	var variants map[string]jsontext.Value
	parse(t, read(t, "testdata/variants.json"), &variants)
	for name, spec := range variants {
		all[name] = variant(t, bases, spec)
	}
	return all
}

// goldenFile is what scripts/goldens/tokenizer/make.py writes.
type goldenFile struct {
	Encoded []jsontext.Value `json:"encoded"` // [ids, decoded, decoded without special tokens]; null: no change
	Framed  []jsontext.Value `json:"framed"`  // [text, ids with the post-processor's]
	Decoded []jsontext.Value `json:"decoded"` // [ids, decoded]
}

func compare(t *testing.T, name string, source []byte, texts []string) {
	tok := load(t, source)
	var g goldenFile
	parse(t, read(t, filepath.Join("testdata", "golden", name+".json")), &g)
	if len(g.Encoded) != len(texts) || len(g.Decoded) < 100 || len(g.Framed) == 0 {
		t.Fatalf("golden file does not belong to hostile.json: %d rows for %d strings", len(g.Encoded), len(texts))
	}
	for i, text := range texts {
		var ids []int32
		var decoded, visible *string
		row(t, g.Encoded[i], &ids, &decoded, &visible)
		decoded = cmp.Or(decoded, &text)
		visible = cmp.Or(visible, decoded)
		if got := tok.EncodeSpecial(text); !slices.Equal(got, ids) {
			t.Errorf("encode %q:\n got %v\nwant %v", text, got, ids)
		}
		if got := tok.Decode(ids); got != *decoded {
			t.Errorf("decode of %q: got %q, want %q", text, got, *decoded)
		}
		if got := tok.DecodeVisible(ids); got != *visible {
			t.Errorf("visible decode of %q: got %q, want %q", text, got, *visible)
		}
	}
	for _, r := range g.Framed {
		var text string
		var ids []int32
		row(t, r, &text, &ids)
		if got := tok.Frame(tok.EncodeSpecial(text)); !slices.Equal(got, ids) {
			t.Errorf("frame %q: got %v, want %v", text, got, ids)
		}
	}
	for _, r := range g.Decoded {
		var ids []int32
		var want string
		row(t, r, &ids, &want)
		if got := tok.Decode(ids); got != want {
			t.Errorf("decode %v: got %q, want %q", ids, got, want)
		}
		if got := streamed(tok, ids); got != want {
			t.Errorf("stream %v: got %q, want %q", ids, got, want)
		}
	}
}

func streamed(tok *tokenizer.Tokenizer, ids []int32) string {
	var out strings.Builder
	s := tok.NewStream(false)
	for _, id := range ids {
		out.WriteString(s.Push(id))
	}
	out.WriteString(s.Flush())
	return out.String()
}

// variant changes a base tokenizer as make.py's vary does.
func variant(t testing.TB, bases map[string][]byte, spec jsontext.Value) []byte {
	t.Helper()
	var s struct {
		Base         string                    `json:"base"`
		OnlyPieces   bool                      `json:"only_pieces"`
		Normalizer   jsontext.Value            `json:"normalizer"`
		PreTokenizer jsontext.Value            `json:"pre_tokenizer"`
		Decoder      jsontext.Value            `json:"decoder"`
		Model        map[string]jsontext.Value `json:"model"`
		Added        []tokenizer.AddedToken    `json:"added"`
	}
	parse(t, spec, &s)
	var f, model map[string]jsontext.Value
	var vocab map[string]int32
	var added []tokenizer.AddedToken
	parse(t, bases[s.Base], &f)
	parse(t, f["model"], &model)
	parse(t, model["vocab"], &vocab)
	parse(t, f["added_tokens"], &added)
	for key, value := range map[string]jsontext.Value{"normalizer": s.Normalizer, "pre_tokenizer": s.PreTokenizer, "decoder": s.Decoder} {
		if value != nil {
			f[key] = value
		}
	}
	maps.Copy(model, s.Model)
	for _, a := range s.Added {
		outside := 0
		for _, b := range added {
			if _, ok := vocab[b.Content]; !ok {
				outside++
			}
		}
		a.ID = int32(len(vocab) + outside)
		added = append(added, a)
	}
	f["model"], f["added_tokens"] = marshal(t, model), marshal(t, added)
	return marshal(t, f)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, data []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(data, out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// row decodes the elements of a JSON array into outs.
func row(t testing.TB, data jsontext.Value, outs ...any) {
	t.Helper()
	var values []jsontext.Value
	parse(t, data, &values)
	if len(values) != len(outs) {
		t.Fatalf("row of %d, want %d: %s", len(values), len(outs), data)
	}
	for i, v := range values {
		parse(t, v, outs[i])
	}
}
