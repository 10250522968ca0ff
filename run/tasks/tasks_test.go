package tasks

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSetNamesDoNotDependOnTheFolder(t *testing.T) {
	cases := []struct{ files, want []string }{
		{[]string{"/a/b/train.jsonl"}, []string{"train"}},
		{[]string{"train.jsonl"}, []string{"train"}},
		{[]string{"x/train.jsonl", "y/train.jsonl", "y/math.jsonl"}, []string{"x/train", "y/train", "math"}},
		{[]string{"train.jsonl", "x/train.jsonl"}, []string{"train", "x/train"}},
	}
	for _, c := range cases {
		if got := setNames(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.files, got, c.want)
		}
	}
}

func TestLabelKey(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	with, without := file(`{"input": "x", "label": "y"}`+"\n\n"+`{"input": "x", "label": 3}`+"\n"), file(`{"input": "x"}`+"\n")
	half, inside := file(`{"input": "x", "label": 1}`+"\n"+`{"input": "x"}`+"\n"), file(`{"input": "the \"label\"", "meta": {"label": 1}}`+"\n")
	cases := []struct {
		configured string
		files      []string
		want       string
	}{
		{"", []string{with}, "label"}, {"answer", []string{with}, "answer"}, {"", []string{with, without}, ""}, {"", []string{half}, ""},
		{"", []string{inside}, ""}, {"", nil, ""}, {"", []string{"nowhere"}, ""}, {"", []string{file("")}, ""}, {"", []string{file("{")}, ""},
	}
	for _, c := range cases {
		if got := LabelKey(c.configured, c.files...); got != c.want {
			t.Errorf("%q, %q: got %q, want %q", c.configured, c.files, got, c.want)
		}
	}
}
