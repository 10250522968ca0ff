// The tokenizer as others see it: a fixed two-way table of pieces and ids, and the stages that text passes on its way in
// (normalizer → pre-tokenizer → BPE) and out (decoder).

package tokenizer

import (
	"fmt"
	"slices"
	"strings"
)

// Tokenizer is immutable after New and safe for concurrent use.
type Tokenizer struct {
	source    []byte // the tokenizer.json it was built from
	pieces    []string
	ids       map[string]int32
	added     []AddedToken   // in order of id
	addedAt   map[int32]int  // id → index in added
	raw       trie           // added tokens matched before normalization
	norm      trie           // added tokens matched after it, spelled as the normalizer leaves them
	normalize []normalizer   // applied in order
	fold      folding        // what a Guard reads alike
	split     []preTokenizer // applied in order
	model     *bpe           // pieces of text → ids
	decode    []stageMaker   // ids' pieces → text
	prefix    []int32        // what the post-processor puts before one sequence
	suffix    []int32        // and after it
	byteLevel bool           // pieces are spelled in the byte alphabet of bytelevel.go
}

// AddedToken is a piece that is matched as a whole string before BPE sees the text.
type AddedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // matches only between non-word characters
	LStrip     bool   `json:"lstrip"`      // swallows whitespace on its left
	RStrip     bool   `json:"rstrip"`      // swallows whitespace on its right
	Normalized bool   `json:"normalized"`  // is searched in the normalized text
	Special    bool   `json:"special"`     // Visible decoding drops it
}

// New builds a tokenizer from the bytes of a tokenizer.json. It keeps data. Whatever it does not implement exactly as
// the reference does is refused with the name of the component or field.
func New(data []byte) (*Tokenizer, error) {
	t, err := load(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: load tokenizer.json: %w", err)
	}
	return t, nil
}

// JSON returns the tokenizer.json that the tokenizer was built from. The caller must not change it.
func (t *Tokenizer) JSON() []byte { return t.source }

// VocabSize is the highest id plus one. An id below it that the file leaves out has no token and decodes to nothing.
func (t *Tokenizer) VocabSize() int { return len(t.pieces) }

// ID returns the id of a token spelled as in tokenizer.json.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// Token returns the spelling in tokenizer.json of an id, "" for an id outside the vocabulary.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// Piece returns the text of one id for people: bytes that are no text by themselves are shown as <0xE2>, and an id
// outside the vocabulary as <id 999>.
func (t *Tokenizer) Piece(id int32) string {
	if id < 0 || int(id) >= len(t.pieces) {
		return fmt.Sprintf("<id %d>", id)
	}
	if t.byteLevel {
		return showBytes(byteLevelBytes(t.pieces[id]))
	}
	return strings.ReplaceAll(t.pieces[id], "▁", " ")
}

// AddedTokens lists the tokens that are matched as whole strings, in order of id. The caller owns the list.
func (t *Tokenizer) AddedTokens() []AddedToken { return append([]AddedToken(nil), t.added...) }

// IsSpecial reports whether Visible decoding drops the id.
func (t *Tokenizer) IsSpecial(id int32) bool {
	i, ok := t.addedAt[id]
	return ok && t.added[i].Special
}

// IsControl reports whether the id belongs to a control string: one that text from users, tools and files must never
// produce. Every added token is one, except runs of whitespace and, unless they are special, single characters and HTML
// tags. A template can rely on it: what it uses as a delimiter or markup is control.
func (t *Tokenizer) IsControl(id int32) bool {
	i, ok := t.addedAt[id]
	return ok && t.added[i].control()
}

// LostBytes are the bytes of UTF-8 that the vocabulary cannot spell: in the reference as here they vanish from texts. None
// is part of ordinary text: New refuses a vocabulary that would lose that.
func (t *Tokenizer) LostBytes() []byte { return slices.Collect(t.lost()) }
