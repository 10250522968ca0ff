package tokenizer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkReal encodes prose and code with real vocabularies, one core.
func BenchmarkReal(b *testing.B) {
	for _, name := range []string{"qwen3", "gemma3", "llama3", "gptoss", "deepseek3", "llama2", "gpt2"} {
		for kind, text := range map[string]string{"prose": proseText(b), "code": codeText(b)} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				tok := realTokenizer(b, name)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				tokens := 0
				for b.Loop() {
					tokens += len(tok.EncodeSpecial(text))
				}
				b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// proseText is the questions and answers of GSM8K.
func proseText(b *testing.B) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "gsm8k", "test.jsonl"))
	if err != nil {
		b.Skip(err)
	}
	return string(data)
}

// codeText is this repository's own Go.
func codeText(b *testing.B) string {
	files, _ := filepath.Glob("../*/*.go")
	var text strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()
}
