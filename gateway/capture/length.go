// Requests that cannot fit are refused before anything is rendered: that costs many times what they weigh.

package capture

import (
	"strings"
	"unicode/utf8"

	"molt/chat"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// longestPiece is the most bytes of text that one id stands for; 0 for tokenizers that may drop text.
func longestPiece(tok *tokenizer.Tokenizer) int {
	spell, ok := tok.Spells()
	if !ok || len(tok.LostBytes()) > 0 {
		return 0
	}
	longest := 0
	for id := range int32(tok.VocabSize()) {
		longest = max(longest, len(spell(id)))
	}
	for _, added := range tok.AddedTokens() {
		if added.LStrip || added.RStrip {
			return 0
		}
		longest = max(longest, len(added.Content))
	}
	return longest
}

// tooLong refuses a conversation whose text from outside needs more ids than there is room for, whatever the ids are.
func (g *Gateway) tooLong(items []*chat.Item) *wire.Problem {
	bytes := 0
	for _, item := range items {
		bytes += len(item.Message.Content)
	}
	if bytes < g.Context() {
		return nil
	}
	longest := g.piece()
	if longest == 0 || bytes/longest < g.Context() {
		return nil
	}
	bytes = 0
	for _, item := range items {
		if item.Message.Role != chat.Assistant && item.Message.Role != chat.System {
			bytes += leastBytes(item.Message.Content)
		}
	}
	if least := bytes / longest; least >= g.Context() {
		return &wire.Problem{Class: wire.Overflow, Tokens: least, Limit: g.Context()}
	}
	return nil
}

// leastBytes bounds from below what is left of a text when a template trims it and a tokenizer composes its characters:
// Unicode's NFC leaves at least a byte of four that are not ASCII.
func leastBytes(text string) int {
	ascii, other := 0, 0
	text = strings.TrimSpace(text)
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return ascii + other/4
}
