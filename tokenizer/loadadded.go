// Reading the added tokens of a tokenizer.json, numbering all tokens, and checking that no text can be lost or become a
// control token by accident.

package tokenizer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// maxAllAdded bounds the trie of the added tokens, which takes 16 bytes for each of theirs.
const maxAllAdded = 16 << 20

func (t *Tokenizer) checkAdded(m *bpe, a AddedToken) error {
	switch id, inModel := m.ids[a.Content]; {
	case a.Content == "":
		return fmt.Errorf("added_tokens: id %d has empty content", a.ID)
	case len(a.Content) > maxAddedBytes:
		return fmt.Errorf("added_tokens: id %d has %d bytes of content; at most %d", a.ID, len(a.Content), maxAddedBytes)
	case a.ID < 0 || a.ID > maxID:
		return fmt.Errorf("added_tokens: %q has id %d; ids run from 0 to %d", a.Content, a.ID, maxID)
	case inModel && id != a.ID:
		return fmt.Errorf("added_tokens: %q has id %d but model.vocab says %d", a.Content, a.ID, id)
	}
	return nil
}

// number fills pieces and ids. Added tokens outside the model's vocabulary must follow it without a gap: the reference
// numbers them itself, in the order of the file, and does not look at their ids.
func (t *Tokenizer) number(vocab []entry, added []AddedToken) error {
	all := slices.Clone(vocab)
	next, sparse := int32(len(vocab)), false
	for _, e := range vocab {
		sparse = sparse || e.id >= next
	}
	for _, a := range added {
		_, inModel := t.model.ids[a.Content]
		_, twice := t.ids[a.Content]
		switch {
		case twice:
			return fmt.Errorf("added_tokens: %q is listed twice", a.Content)
		case inModel:
		case sparse:
			return fmt.Errorf("added_tokens: model.vocab leaves out ids, so what id the reference gives %q is not certain", a.Content)
		case a.ID != next:
			return fmt.Errorf("added_tokens: %q has id %d where the reference gives it %d", a.Content, a.ID, next)
		default:
			next++
			all = append(all, entry{a.Content, a.ID})
		}
		t.ids[a.Content] = a.ID
	}
	top := slices.MaxFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) }).id
	t.pieces = make([]string, top+1)
	for _, e := range all {
		if other := t.pieces[e.id]; other != "" {
			return fmt.Errorf("id %d belongs to both %q and %q", e.id, other, e.piece)
		}
		t.pieces[e.id], t.ids[e.piece] = e.piece, e.id
	}
	return nil
}

// plant puts an added token into the trie in which it is searched. As in the reference, its normalized spelling is also
// what its id decodes to.
func (t *Tokenizer) plant(i int, a AddedToken) error {
	key, tr := a.Content, &t.raw
	if a.Normalized {
		tr = &t.norm
		key, _ = t.normalized(key, nil)
	}
	if key == "" || len(key) > 2*maxAddedBytes {
		return fmt.Errorf("added_tokens: %q is %d bytes after normalization; 1 to %d are supported", a.Content, len(key), 2*maxAddedBytes)
	}
	t.pieces[a.ID] = key
	tr.add(key, i)
	return nil
}

// checkSpelling makes sure that no ordinary text can be lost and that no ordinary character is a control token.
func (t *Tokenizer) checkSpelling() error {
	m := t.model
	for id, control := range m.control {
		if control && (utf8.RuneCountInString(t.pieces[id]) == 1 || m.byteFallback && slices.Contains(m.bytes[:], int32(id))) {
			return fmt.Errorf("added_tokens: special token %q is also how ordinary text is spelled", t.pieces[id])
		}
	}
	switch {
	case m.unknown >= 0, m.byteFallback && !slices.Contains(m.bytes[:], -1):
		return nil
	case m.byteFallback:
		return fmt.Errorf("model.byte_fallback: model.vocab lacks <0x%02X> and there is no unk_token, so text would vanish", slices.Index(m.bytes[:], -1))
	case !t.byteLevel:
		return fmt.Errorf("model: with neither byte_fallback nor unk_token, characters outside the vocabulary would vanish")
	}
	for b := range t.lost() {
		if slices.Contains(writable, b) {
			return fmt.Errorf("model.vocab: byte 0x%02X (%q) has no token and there is no unk_token, so ordinary text would vanish", b, runeOfByte[b])
		}
	}
	return nil
}

// writable are the bytes of UTF-8 that ordinary text cannot do without: printing ASCII, tab, line ends, and what continues
// or begins characters below U+10000.
var writable = func() (bytes []byte) {
	for b := range 256 {
		if b == '\t' || b == '\n' || b == '\r' || b >= ' ' && b < 0x7f || b >= 0x80 && b < 0xc0 || b >= 0xc3 && b < 0xf0 {
			bytes = append(bytes, byte(b))
		}
	}
	return bytes
}()

// lost are the bytes that no piece spells.
func (t *Tokenizer) lost() iter.Seq[byte] {
	return func(yield func(byte) bool) {
		for b, r := range runeOfByte {
			if t.model.raw {
				r = rune(b)
			}
			if t.byteLevel && t.model.unknown < 0 && t.model.small[r] < 0 && !yield(byte(b)) {
				return
			}
		}
	}
}

// checkGuard makes sure that a Guard sees every spelling of a control token.
func (t *Tokenizer) checkGuard(n normalizerReader) error {
	for _, a := range t.added {
		switch {
		case !a.control() || !t.foldable(a):
		case n.prepends && a.Special && a.Normalized:
			return fmt.Errorf("added_tokens: special token %q has normalized true beside a Prepend normalizer, so it would be found only behind a space; set normalized to false", a.Content)
		case n.opaque != "":
			return fmt.Errorf("%s: a regular expression that replaces more than whitespace is not supported beside control token %q: text from outside could turn into it", n.opaque, a.Content)
		case t.fold.text(a.Content) == "":
			return fmt.Errorf("normalizer: it may replace all of control token %q, so text from outside could turn into it", a.Content)
		}
	}
	return nil
}
