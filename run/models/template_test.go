package models

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/chat"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
)

func TestTemplateOptions(t *testing.T) {
	o := templateOptions([]tokenizer.NamedToken{{Name: "eos_token", Content: "<|im_end|>"}, {Name: "image_token", Content: "<i>"}})
	if o.BOS != "" || o.EOS != "<|im_end|>" || len(o.Kwargs) != 1 || o.Kwargs[0].Name != "image_token" || !o.Now.Equal(PromptDate) {
		t.Errorf("%+v", o)
	}
}

func TestReadSources(t *testing.T) {
	texts := weights.Texts{TokenizerConfig: []byte(`{"chat_template": [{"name": "default", "template": "c"}, {"name": "tool_use", "template": "t"}]}`)}
	check := func(when string, want ...chat.Source) {
		t.Helper()
		got, err := readSources(texts)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", when, err, diff)
		}
	}
	check("a list", chat.Source{Name: "default", Text: "c"}, chat.Source{Name: "tool_use", Text: "t"})
	texts.ChatTemplate = []byte("f")
	check("a file", chat.Source{Name: "default", Text: "f"})
	texts.Templates = []weights.Text{{Name: "rag.jinja", Data: []byte("r")}}
	check("files", chat.Source{Name: "default", Text: "f"}, chat.Source{Name: "rag", Text: "r"})
	texts.TokenizerConfig = []byte("{")
	check("files beside a broken list", chat.Source{Name: "default", Text: "f"}, chat.Source{Name: "rag", Text: "r"})
	texts.Templates = []weights.Text{{Name: "default.jinja", Data: []byte("r")}}
	check("two default ones", chat.Source{Name: "default", Text: "r"})
}

// TestTextFiles: the texts alone are read as those of a model are, and any template can be named.
func TestTextFiles(t *testing.T) {
	dir := tinyModel(t, nil)
	put(t, dir, "additional_chat_templates/tool_use.jinja", "<|im_start|>tools{{ pad_token }}<|im_end|>")
	put(t, dir, "special_tokens_map.json", `{"pad_token": "<|im_end|>"}`)
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := TextFiles{Model: dir, Named: "tool_use"}.Open()
	if err != nil || text.Template != "tool_use" {
		t.Fatalf("%+v, %v", text, err)
	}
	if diff := cmp.Diff(m.sources, text.Sources); diff != "" || len(text.Sources) != 2 {
		t.Error(diff)
	}
	if len(text.Options.Kwargs) != 1 || text.Options.Kwargs[0].Name != "pad_token" || len(m.Options.Kwargs) != 1 {
		t.Errorf("%+v %+v", text.Options, m.Options)
	}
	_, err = TextFiles{Model: dir, Named: "rag"}.Open()
	if !isProblem(err, problem.Template, `no chat template is called "rag"`) || !strings.Contains(err.Error(), "it has default, tool_use") {
		t.Errorf("got %v", err)
	}
	if _, err := (TextFiles{Model: dir + "x"}).Open(); !isProblem(err, problem.Model, "there is no such model") {
		t.Errorf("got %v", err)
	}
	put(t, dir, "special_tokens_map.json", `{"pad_token": 1}`)
	if _, err := (TextFiles{Model: dir}).Open(); !isProblem(err, problem.Tokenizer, "special_tokens_map.json: pad_token: a JSON number does not belong here") {
		t.Errorf("got %v", err)
	}
}
