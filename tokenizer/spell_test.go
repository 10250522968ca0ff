package tokenizer

import (
	"slices"
	"testing"
	"unicode/utf8"
)

// TestSpells: behind other text, an id adds what it is said to spell.
func TestSpells(t *testing.T) {
	tok, err := Train(slices.Values([]string{"the cat, the hat", "the é and 日本"}), 300, []string{"<|end|>"}, TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spell, ok := tok.Spells()
	if !ok {
		t.Fatal("a byte-level vocabulary spells nothing")
	}
	before := tok.EncodeOrdinary("x")
	for id := range int32(tok.VocabSize()) {
		b := spell(id)
		if want := tok.Decode(append(slices.Clone(before), id)); utf8.Valid(b) && "x"+string(b) != want {
			t.Errorf("id %d spells %q; it decodes to %q", id, b, want)
		}
	}
	if b := spell(int32(tok.VocabSize())); len(b) != 0 {
		t.Errorf("an id outside the vocabulary spells %q", b)
	}
}
