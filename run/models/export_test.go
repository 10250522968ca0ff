package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/run/problem"
	"molt/weights"
)

// put writes a file into a model that was made, whose manifest no longer fits then.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "molt-manifest.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestConvertKeepsTemplates: a written model shows tools with the template that the model that was read has for them.
func TestConvertKeepsTemplates(t *testing.T) {
	files, list := tinyModel(t, nil), tinyModel(t, nil)
	put(t, files, "additional_chat_templates/tool_use.jinja", "tools")
	put(t, list, "tokenizer_config.json", `{"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]}`)
	if err := os.Remove(filepath.Join(list, "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{files, list} {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Convert(ConvertConfig{Model: dir, Out: out}); err != nil {
			t.Fatal(err)
		}
		want, err := TextFiles{Model: dir}.Open()
		if err != nil || len(want.Sources) != 2 {
			t.Fatalf("%+v, %v", want, err)
		}
		got, err := TextFiles{Model: out}.Open()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Sources, got.Sources); diff != "" {
			t.Error(diff)
		}
	}
}

// TestConvertRefusesOverflow: a weight that float16 has no room for is no infinity.
func TestConvertRefusesOverflow(t *testing.T) {
	m, err := Open(tinyModel(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	m.Weights.Tensors[0].Data[0] = 1e6
	dir := filepath.Join(t.TempDir(), "out")
	if err := m.Export(dir, m.Weights, Form{DType: "f16"}); !isProblem(err, problem.Setting, "too large for F16") || exists(dir) {
		t.Errorf("got %v", err)
	}
	if err := m.Export(dir, m.Weights, Form{DType: "bf16"}); err != nil {
		t.Error(err)
	}
}

func isProblem(err error, code problem.Code, text string) bool {
	p, ok := errors.AsType[*problem.Problem](err)
	return ok && p.Code == code && strings.Contains(err.Error(), text)
}

func TestFitsInto(t *testing.T) {
	for _, c := range []struct {
		from, to weights.DType
		want     bool
	}{
		{weights.F32, weights.F32, true}, {weights.F32, weights.BF16, false}, {weights.BF16, weights.F32, true}, {weights.BF16, weights.F16, false},
		{weights.F16, weights.BF16, false}, {weights.E4M3, weights.BF16, true}, {weights.F64, weights.F64, false}, {"I8", weights.F32, false},
	} {
		if got := c.from.FitsInto(c.to); got != c.want {
			t.Errorf("%s into %s: %v", c.from, c.to, got)
		}
	}
}
