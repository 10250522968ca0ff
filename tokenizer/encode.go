// Encoding. Text reaches a model from two kinds of author: the template, whose control strings are meant, and everybody
// else (users, tools, files), whose text must stay text whatever it spells. Parts keeps the two apart while the pieces
// at their borders are still cut as in the joined text.

package tokenizer

import (
	"sort"
	"strings"
)

// Part is a stretch of text by one author.
type Part struct {
	Text     string
	Ordinary bool // control strings inside it, or reaching into it, are ordinary text
}

// EncodeSpecial encodes text whose control strings are meant: a rendered template. It adds nothing around it (see
// Frame). Ids equal the reference's without added special tokens.
func (t *Tokenizer) EncodeSpecial(text string) []int32 { return t.EncodeParts(Part{Text: text}) }

// EncodeOrdinary encodes text from outside. The ids contain no control token (IsControl) whatever the text spells,
// except the unknown token for characters that the vocabulary cannot write.
func (t *Tokenizer) EncodeOrdinary(text string) []int32 {
	return t.EncodeParts(Part{Text: text, Ordinary: true})
}

// EncodeParts encodes the parts joined to one text. What is not UTF-8 is read as U+FFFD.
func (t *Tokenizer) EncodeParts(parts ...Part) []int32 {
	text, ordinary := joined(parts)
	e := encoder{t: t, ids: make([]int32, 0, len(text)/3+4)}
	for _, s := range t.cut(&t.raw, text, ordinary) {
		if s.token >= 0 {
			e.ids = append(e.ids, t.added[s.token].ID)
			continue
		}
		e.stretch(text[s.from:s.to], clip(ordinary, s.span), s.from == 0)
	}
	return e.ids
}

// Frame returns ids with what the post-processor puts around one sequence, such as a beginning-of-text id.
func (t *Tokenizer) Frame(ids []int32) []int32 {
	out := make([]int32, 0, len(t.prefix)+len(ids)+len(t.suffix))
	return append(append(append(out, t.prefix...), ids...), t.suffix...)
}

// joined returns the text of all parts and the merged ranges of the ordinary ones.
func joined(parts []Part) (string, []span) {
	var text strings.Builder
	var ordinary []span
	for _, p := range parts {
		from := text.Len()
		text.WriteString(toText(p.Text))
		switch n := len(ordinary); {
		case !p.Ordinary || from == text.Len():
		case n > 0 && ordinary[n-1].to == from:
			ordinary[n-1].to = text.Len()
		default:
			ordinary = append(ordinary, span{from, text.Len()})
		}
	}
	return text.String(), ordinary
}

// clip returns the parts of spans inside s, relative to its start.
func clip(spans []span, s span) []span {
	var out []span
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > s.from })
	for ; i < len(spans) && spans[i].from < s.to; i++ {
		from, to := max(spans[i].from, s.from), min(spans[i].to, s.to)
		out = append(out, span{from - s.from, to - s.from})
	}
	return out
}

// encoder holds what one call of EncodeParts needs.
type encoder struct {
	t    *Tokenizer
	ids  []int32
	work workspace
}

// stretch encodes text between added tokens of the raw kind.
func (e *encoder) stretch(text string, ordinary []span, start bool) {
	text, ordinary = e.t.normalized(text, ordinary)
	for _, s := range e.t.cut(&e.t.norm, text, ordinary) {
		if s.token >= 0 {
			e.ids = append(e.ids, e.t.added[s.token].ID)
			continue
		}
		guarded := touches(ordinary, s.span)
		e.split(piece{text[s.from:s.to], start && s.from == 0}, 0, guarded)
	}
}

// split sends p through the pre-tokenizers from the i-th on, and the pieces to BPE.
func (e *encoder) split(p piece, i int, guarded bool) {
	if p.text == "" {
		return
	}
	if i == len(e.t.split) {
		e.ids = e.t.model.encode(e.ids, p.text, guarded, &e.work)
		return
	}
	e.t.split[i](p, func(p piece) { e.split(p, i+1, guarded) })
}
