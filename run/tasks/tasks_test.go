package tasks

import (
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
