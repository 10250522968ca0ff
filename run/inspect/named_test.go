package inspect

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"molt/run/models"
)

// letters is a tokenizer that knows three letters.
const letters = `{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
 "decoder": {"type": "Fuse"}, "model": {"type": "BPE", "dropout": null, "unk_token": "a", "continuing_subword_prefix": null, "end_of_word_suffix": null,
 "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, " ": 3}, "merges": []}}`

// TestNamedTemplates: the cases are those of scripts/goldens/chat/named.py, which writes what transformers renders; "" where it
// refuses.
func TestNamedTemplates(t *testing.T) {
	data, err := os.ReadFile("testdata/named.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string
		Files map[string]string
		Tools bool
		Named string
		Want  string
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 80 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	stricter := 0
	for _, c := range cases {
		dir := t.TempDir()
		c.Files["tokenizer.json"] = letters
		for name, text := range c.Files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		line := `{"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": false`
		if c.Tools {
			line += `, "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}]`
		}
		got := ""
		if text, err := (models.TextFiles{Model: dir, Named: c.Named}).Open(); err == nil {
			var answer Prompt
			if json.Unmarshal([]byte(ask(t, Render(text, time.Time{}), line+"}")), &answer) == nil {
				got = answer.Prompt
			}
		}
		if got == "" && c.Want == "t" && c.Tools && c.Named == "" {
			stricter++ // without a default template a run could not show a conversation without tools
			continue
		}
		if got != c.Want {
			t.Errorf("%s, tools %v, named %q: got %q, want %q", c.Name, c.Tools, c.Named, got, c.Want)
		}
	}
	if stricter != 2 {
		t.Errorf("refused where transformers renders: %d", stricter)
	}
}
