package tokenizer

import (
	"slices"
	"strings"
)

// Spells returns a function from an id to the bytes that it adds in the middle of a text, none for an id without a token.
// It reports false for decoders by which that depends on the ids around.
func (t *Tokenizer) Spells() (func(id int32) []byte, bool) {
	fallback := slices.ContainsFunc(t.decode, func(make stageMaker) bool {
		_, ok := make().(*byteFallbackStage)
		return ok
	})
	switch {
	case t.byteLevel:
		return func(id int32) []byte { return byteLevelBytes(t.Token(id)) }, true
	case fallback: // as SentencePiece spells
		return func(id int32) []byte {
			if b, ok := bytePiece(t.Token(id)); ok {
				return []byte{b}
			}
			return []byte(strings.ReplaceAll(t.Token(id), "▁", " "))
		}, true
	}
	return nil, false
}
