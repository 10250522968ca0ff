package tokenizer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/tokenizer"
)

// gpt2Vocab is the 256 bytes of the byte alphabet and two merged pieces.
func gpt2Vocab(t *testing.T) string {
	base, err := tokenizer.Train(func(func(string) bool) {}, 256, nil, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var vocab []string
	for id := range int32(256) {
		vocab = append(vocab, fmt.Sprintf("%s:%d", marshal(t, base.Token(id)), id))
	}
	return "{" + strings.Join(append(vocab, `"ab":256`, `"Ġab":257`), ",") + "}"
}

func TestGPT2Files(t *testing.T) {
	vocab := gpt2Vocab(t)
	tok, err := tokenizer.NewGPT2([]byte(vocab), []byte("#version: 0.2\na b\nĠ ab\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.EncodeSpecial("ab ab<|endoftext|>"), []int32{256, 257, 258}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again := load(t, tok.JSON())
	if again.VocabSize() != 259 || !again.IsSpecial(258) {
		t.Errorf("its tokenizer.json has %d ids", again.VocabSize())
	}
	for _, c := range [][3]string{
		{`[]`, "", "vocab.json: "}, {`{"a":0}`, "a b c\n", "one space between"}, {vocab, "a ÿÿ\n", "model.merges[0]"}, {`{"a":0}`, "", "has no token and there is no unk_token"},
	} {
		if _, err := tokenizer.NewGPT2([]byte(c[0]), []byte(c[1])); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("got %v, want %q", err, c[2])
		}
	}
}

// TestGPT2FilesReal: the two files of GPT-2 give what its tokenizer.json gives.
func TestGPT2FilesReal(t *testing.T) {
	want := realTokenizer(t, "gpt2")
	folder := filepath.Join(realFolder(t), "gpt2")
	vocab, err := os.ReadFile(filepath.Join(folder, "vocab.json"))
	if err != nil {
		t.Skip(err)
	}
	tok, err := tokenizer.NewGPT2(vocab, read(t, filepath.Join(folder, "merges.txt")))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range hostile(t) {
		if got := tok.EncodeSpecial(text); !slices.Equal(got, want.EncodeSpecial(text)) {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
