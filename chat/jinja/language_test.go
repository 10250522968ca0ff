package jinja

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
)

// TestLanguageLikePython compares every pair of operator and operand, filter, test, method and whitespace marker with what
// Python makes of it (scripts/goldens/chat/language.py). What Python renders may be refused where the table says so, but
// nothing renders differently, and nothing renders where Python raises.
func TestLanguageLikePython(t *testing.T) {
	f, err := os.Open("testdata/language.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	cases, same, refused := 0, 0, 0
	for lines.Scan() {
		var c [2]*string
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases++
		got, err := run(*c[0])
		switch {
		case c[1] == nil && err == nil:
			t.Errorf("%q renders %q where Python raises", *c[0], got)
		case c[1] != nil && err != nil:
			refused++
			t.Logf("refused: %q, %.100v", *c[0], err)
		case c[1] != nil && got != *c[1]:
			t.Errorf("%q: got %q, want %q", *c[0], got, *c[1])
		default:
			same++
		}
	}
	t.Logf("%d cases: %d as in Python, %d refused", cases, same, refused)
}

func run(source string) (string, error) {
	t, err := Compile(source)
	if err != nil {
		return "", err
	}
	return t.Render(map[string]any{"messages": NewList(nil), "tools": nil, "documents": nil, "add_generation_prompt": false}, 0)
}
