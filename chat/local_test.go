package chat

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/tokenizer"
)

// specials of the templates in testdata: what delimits turns.
var specials = []string{"<|im_start|>", "<|im_end|>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<|user|>", "<|assistant|>", "<|observation|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>",
	"<|message|>", "<|channel|>", "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "]~b]", "[e~[", "[INST]", "[/INST]", "</s>", "<s>", "<seed:bos>", "<seed:eos>", "<|system|>", "[TOOL_CALLS]", "[TOOL_RESULTS]",
	"<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<image>", "<end_of_utterance>", "[IMG]"}

func delimitedTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Train(slices.Values([]string{"some text to learn from"}), 300+len(specials), specials, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestBridgesOfLocalTemplatesAreTheFullOnes: behind every turn of every conversation in testdata, the short rendering gives
// the ids of the full one.
func TestBridgesOfLocalTemplatesAreTheFullOnes(t *testing.T) {
	tok := delimitedTokenizer(t)
	var conversations []conversationCase
	readJSON(t, "testdata/conversations.json", &conversations)
	files, _ := filepath.Glob("testdata/templates/*.jinja")
	var local []string
	compared := 0
	for _, file := range append(files, "chat_template.jinja") {
		r, err := NewRenderer(readTemplate(t, file, JinjaOptions{BOS: "<s>", EOS: "</s>", Now: pinned}), tok)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if !r.Local() {
			continue
		}
		local = append(local, strings.TrimSuffix(filepath.Base(file), ".jinja"))
		full := *r
		full.local = false
		for _, c := range conversations {
			if whole := c.conversation(t); r.sees(whole.Messages) == nil {
				compared += compareBridges(t, file, c.Name, r, &full, whole)
			}
		}
	}
	want := []string{"deepseek-v3.1", "deepseek-v3.2", "glm-4.6", "gpt-oss", "granite-3.3", "granite-4.0", "minimax-m2", "phi-4-mini", "qwen2.5-vl", "qwen2.5", "qwen3-coder", "qwen3-vl", "qwen3.5", "qwen3.6", "qwen3", "qwq", "smollm3", "chat_template"}
	if diff := cmp.Diff(want, local); diff != "" || compared < 200 {
		t.Errorf("%d bridges compared; local templates: %s", compared, diff)
	}
}

func compareBridges(t *testing.T, file, name string, short, full *Renderer, c Conversation) (compared int) {
	for at, m := range c.Messages {
		if m.Role != Assistant {
			continue
		}
		for end := at + 1; end <= len(c.Messages); end++ {
			if end > at+1 && c.Messages[end-1].Role == Assistant {
				break
			}
			before := Conversation{c.Messages[:at], c.Tools}
			want, errFull := full.Bridge(before, m, c.Messages[at+1:end], -1)
			got, err := short.Bridge(before, m, c.Messages[at+1:end], -1)
			if (err == nil) != (errFull == nil) || !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Images, want.Images) || got.Masked != want.Masked {
				t.Errorf("%s, %s, turn %d, %d behind: %q, %v; in full %q, %v", file, name, at, end-at-1, short.tok.Decode(got.IDs), err, full.tok.Decode(want.IDs), errFull)
			}
			compared++
		}
	}
	return compared
}

func BenchmarkBridgeBehindLongHistory(b *testing.B) {
	r := renderer(b, Builtin())
	before := Conversation{Messages: []Message{{Role: User, Content: "x"}}}
	for range 500 {
		before.Messages = append(before.Messages, lookup("pen"), Message{Role: Tool, Content: strings.Repeat("4 ", 100)})
	}
	for b.Loop() {
		if _, err := r.Bridge(before, lookup("pen"), []Message{{Role: Tool, Content: "4"}}, -1); err != nil {
			b.Fatal(err)
		}
	}
}
