package tokenizer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/tokenizer"
)

// BenchmarkReal encodes prose and code with real vocabularies, one call for each line or file.
func BenchmarkReal(b *testing.B) {
	prose, code := proseTexts(b), codeTexts(b)
	for _, name := range []string{"gpt2", "qwen3", "llama3", "gptoss", "deepseek3", "gemma3", "llama2"} {
		b.Run(name, func(b *testing.B) {
			tok := realTokenizer(b, name)
			b.Run("prose", func(b *testing.B) { encodeAll(b, tok, prose) })
			b.Run("code", func(b *testing.B) { encodeAll(b, tok, code) })
		})
	}
}

func encodeAll(b *testing.B, tok *tokenizer.Tokenizer, texts []string) {
	b.SetBytes(int64(len(strings.Join(texts, ""))))
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		for _, text := range texts {
			tokens += len(tok.EncodeSpecial(text))
		}
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

// proseTexts are the questions and answers of GSM8K.
func proseTexts(b *testing.B) []string {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "gsm8k", "test.jsonl"))
	if err != nil {
		b.Skip(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// codeTexts are this repository's own Go files.
func codeTexts(b *testing.B) []string {
	files, _ := filepath.Glob("../*/*.go")
	var texts []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	return texts
}
