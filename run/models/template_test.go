package models

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/chat"
)

func TestTemplateOptions(t *testing.T) {
	o, err := templateOptions(nil, "<s>", "</s>")
	if err != nil || o.BOS != "<s>" || o.EOS != "</s>" || !o.Now.Equal(PromptDate) {
		t.Errorf("without tokenizer_config.json: %+v, %v", o, err)
	}
	o, err = templateOptions([]byte(`{"bos_token": null, "eos_token": {"content": "<|im_end|>"}, "pad_token": "<pad>"}`), "<s>", "</s>")
	if err != nil || o.BOS != "" || o.EOS != "<|im_end|>" || len(o.Kwargs) != 1 || o.Kwargs[0].Name != "pad_token" {
		t.Errorf("with it: %+v, %v", o, err)
	}
	if _, err := templateOptions([]byte("{"), "", ""); err == nil {
		t.Error("a broken tokenizer_config.json is taken")
	}
}

func TestReadTemplates(t *testing.T) {
	dir := t.TempDir()
	config := []byte(`{"chat_template": [{"name": "default", "template": "c"}, {"name": "tool_use", "template": "t"}]}`)
	check := func(when string, want ...chat.Source) {
		t.Helper()
		got, err := readTemplates(dir, config)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", when, err, diff)
		}
	}
	check("a list", chat.Source{Name: "default", Text: "c"}, chat.Source{Name: "tool_use", Text: "t"})
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("chat_template.jinja", "f")
	check("a file", chat.Source{Name: "default", Text: "f"})
	write("additional_chat_templates/rag.jinja", "r")
	write("additional_chat_templates/README.md", "")
	check("files", chat.Source{Name: "default", Text: "f"}, chat.Source{Name: "rag", Text: "r"})
	config = []byte("{")
	check("files beside a broken list", chat.Source{Name: "default", Text: "f"}, chat.Source{Name: "rag", Text: "r"})
}
