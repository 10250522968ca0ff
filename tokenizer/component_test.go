// Single components, as the Rust library runs them.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"slices"
	"testing"
)

func TestComponents(t *testing.T) {
	data, err := os.ReadFile("testdata/components.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Strings       []string            `json:"strings"`
		Normalizers   [][2]jsontext.Value `json:"normalizers"`
		PreTokenizers [][2]jsontext.Value `json:"pre_tokenizers"`
	}
	if err := json.Unmarshal(data, &g, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if len(g.Strings) < 50 || len(g.Normalizers) < 15 || len(g.PreTokenizers) < 35 {
		t.Fatalf("%d strings, %d normalizers, %d pre-tokenizers", len(g.Strings), len(g.Normalizers), len(g.PreTokenizers))
	}
	for _, c := range g.Normalizers {
		n := normalizerReader{patterns: new(patterns)}
		var want []string
		if err := cmp.Or(n.read("normalizer", c[0]), json.Unmarshal(c[1], &want)); err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		tok := &Tokenizer{normalize: n.all}
		for i, s := range g.Strings {
			if got, _ := tok.normalized(s, nil); got != want[i] {
				t.Errorf("%s of %q: got %q, want %q", c[0], s, got, want[i])
			}
		}
	}
	for _, c := range g.PreTokenizers {
		r := splitReader{patterns: new(patterns)}
		var want [][]string
		if err := cmp.Or(r.read("pre_tokenizer", c[0]), json.Unmarshal(c[1], &want)); err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		tok := &Tokenizer{split: r.all}
		for i, s := range g.Strings {
			if got := tok.Pieces(s); !slices.Equal(got, want[i]) {
				t.Errorf("%s of %q:\n got %q\nwant %q", c[0], s, got, want[i])
			}
		}
	}
}
