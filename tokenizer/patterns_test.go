package tokenizer

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"slices"
	"testing"
)

// TestPatternsOfFamilies cuts as the Rust library does with patterns of models whose vocabularies are not at hand.
func TestPatternsOfFamilies(t *testing.T) {
	data, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Strings  []string           `json:"strings"`
		Patterns [][]jsontext.Value `json:"patterns"`
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	for _, row := range g.Patterns {
		var name, pattern string
		var want [][]string
		for i, out := range []any{&name, &pattern, &want} {
			if err := json.Unmarshal(row[i], out); err != nil {
				t.Fatal(err)
			}
		}
		find, err := new(patterns).compile(pattern)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		cut := splitter(find, isolated, false)
		for i, s := range g.Strings {
			got := []string{}
			cut(piece{s, true}, func(p piece) { got = append(got, p.text) })
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s of %q:\n got %q\nwant %q", name, s, got, want[i])
			}
		}
	}
}
