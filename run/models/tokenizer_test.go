package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molt/run/problem"
	"molt/tokenizer"
)

// TestOlderTokenizer: vocab.json and merges.txt are read for the class that they belong to, other files are refused by name.
func TestOlderTokenizer(t *testing.T) {
	vocab := `{"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3`
	base, err := tokenizer.Train(func(func(string) bool) {}, 256, nil, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 4
	for id := range int32(256) {
		if p := base.Token(id); p != "a" && p != "b" {
			vocab += "," + strconv.Quote(p) + ":" + strconv.Itoa(n)
			n++
		}
	}
	dir := t.TempDir()
	write(t, dir, "vocab.json", vocab+"}")
	write(t, dir, "merges.txt", "#version: 0.2\na b\n")
	write(t, dir, "tokenizer_config.json", `{"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>", "pad_token": "<pad>"}`)
	text, err := (TextFiles{Model: dir}).Open()
	if err != nil {
		t.Fatal(err)
	}
	if got := text.Tok.EncodeSpecial("abb<|endoftext|><pad>"); !slices.Equal(got, []int32{2, 1, 3, int32(n)}) {
		t.Errorf("got %v", got)
	}
	write(t, dir, "tokenizer_config.json", `{"tokenizer_class": "Qwen2Tokenizer"}`)
	if _, err := (TextFiles{Model: dir}).Open(); !isProblem(err, problem.Tokenizer, `names no GPT2Tokenizer (tokenizer_class "Qwen2Tokenizer")`) || !strings.Contains(err.Error(), "save_pretrained") {
		t.Errorf("got %v", err)
	}
	for file, want := range map[string]string{
		"tiktoken.model": "a tiktoken file holds ranks", "cl100k_base.tiktoken": "a tiktoken file holds ranks", "tekken.json": "Mistral's tekken.json",
		"tokenizer.model": "a SentencePiece or tiktoken file", "vocab.txt": "WordPiece", "spiece.model": "Unigram", "README.md": "the model has no tokenizer",
	} {
		dir := t.TempDir()
		write(t, dir, file, "x")
		if _, err := (TextFiles{Model: dir}).Open(); !isProblem(err, problem.Tokenizer, want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
}

// TestConvertWritesOlderTokenizer: a converted model keeps a tokenizer that stands in vocab.json and merges.txt.
func TestConvertWritesOlderTokenizer(t *testing.T) {
	dir := tinyModel(t, nil)
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "tokenizer_config.json", `{"tokenizer_class": "GPT2Tokenizer"}`)
	vocab := map[string]int{}
	base, err := tokenizer.Train(func(func(string) bool) {}, 256, nil, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for id := range int32(256) {
		vocab[base.Token(id)] = int(id)
	}
	text, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "vocab.json", string(text))
	write(t, dir, "merges.txt", "#version: 0.2\n")
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Convert(ConvertConfig{Model: dir, Out: out}); err != nil {
		t.Fatal(err)
	}
	before, err := (TextFiles{Model: dir}).Open()
	if err != nil {
		t.Fatal(err)
	}
	after, err := (TextFiles{Model: out}).Open()
	if err != nil || !slices.Equal(before.Tok.EncodeSpecial("abc"), after.Tok.EncodeSpecial("abc")) {
		t.Errorf("%v", err)
	}
}

// TestAddedByConfiguration: a token that tokenizer_config.json names and tokenizer.json lacks gets an id, for which the
// embedding needs a row.
func TestAddedByConfiguration(t *testing.T) {
	dir := tinyModel(t, nil)
	write(t, dir, "tokenizer_config.json", `{"pad_token": "<pad>"}`)
	text, err := (TextFiles{Model: dir}).Open()
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := text.Tok.ID("<pad>"); !ok || int(id) != text.Tok.VocabSize()-1 {
		t.Errorf("<pad> has id %d, %v", id, ok)
	}
	if _, err := Open(dir); !isProblem(err, problem.Tokenizer, `token "<pad>" would get the id 271, and the embedding has only 271 rows`) {
		t.Errorf("got %v", err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(file), "<|im_end|>") {
		t.Fatal("the tokenizer has no <|im_end|>")
	}
	end, _ := text.Tok.ID("<|im_end|>")
	write(t, dir, "tokenizer_config.json", `{"added_tokens_decoder": {"`+strconv.Itoa(int(end)+1)+`": {"content": "<|im_end|>"}}}`)
	if _, err := Open(dir); !isProblem(err, problem.Tokenizer, `token "<|im_end|>" has id `) {
		t.Errorf("got %v", err)
	}
}
