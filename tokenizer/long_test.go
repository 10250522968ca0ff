package tokenizer_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestLongWords: time grows with the length of a single word, not with its square. With MOLT_TOKENIZERS set, words have
// up to ten million bytes.
func TestLongWords(t *testing.T) {
	for _, name := range []string{"qwen3", "llama2"} {
		t.Run(name, func(t *testing.T) {
			tok := realTokenizer(t, name)
			for unit, times := range map[string]int{"ab": 1_000_000, "aB3é": 2_000_000, " ": 10_000_000, "the": 3_333_333} {
				if os.Getenv("MOLT_TOKENIZERS") == "" {
					times /= 40
				}
				began := time.Now()
				ids := tok.EncodeSpecial(strings.Repeat(unit, times))
				took := time.Since(began)
				t.Logf("%8d × %q: %v, %d ids", times, unit, took.Round(time.Millisecond), len(ids))
				if took > 2*time.Minute {
					t.Errorf("%d × %q took %v", times, unit, took)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"gpt2", "qwen3", "gptoss", "gemma3"} {
		b.Run(name, func(b *testing.B) {
			data := realTokenizer(b, name).JSON()
			for b.Loop() {
				load(b, data)
			}
		})
	}
}
