package jinja

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"iter"
	"os"
	"testing"
)

// TestLanguageLikePython compares every pair of operator and operand, filter, test, method and whitespace marker with what
// Python makes of it (scripts/goldens/chat/language.py). What Python renders may be refused where the table says so, but
// nothing renders differently, and nothing renders where Python raises.
func TestLanguageLikePython(t *testing.T) {
	cases, same, refused := 0, 0, 0
	for c := range language(t) {
		cases++
		got, err := run(c.source)
		switch {
		case c.text == nil && err == nil:
			t.Errorf("%q renders %q where Python raises", c.source, got)
		case c.text != nil && err != nil:
			refused++
			t.Logf("refused: %q, %.100v", c.source, err)
		case c.text != nil && got != *c.text:
			t.Errorf("%q: got %q, want %q", c.source, got, *c.text)
		default:
			same++
		}
	}
	if cases < 25_000 || refused > 1_100 {
		t.Errorf("%d cases, %d refused", cases, refused)
	}
	t.Logf("%d cases: %d as in Python, %d refused", cases, same, refused)
}

// snippet is a template and what Python made of it; nil where Python raised.
type snippet struct {
	source string
	text   *string
}

func language(t testing.TB) iter.Seq[snippet] {
	f, err := os.Open("testdata/language.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(snippet) bool) {
		defer f.Close()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(unzipped)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c [2]*string
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if !yield(snippet{*c[0], c[1]}) {
				return
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	}
}

func run(source string) (string, error) {
	t, err := Compile(source)
	if err != nil {
		return "", err
	}
	return t.Render(map[string]any{"messages": NewList(nil), "tools": nil, "documents": nil, "add_generation_prompt": false}, 0)
}
