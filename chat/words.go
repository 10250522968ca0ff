// Words from outside inside control strings. A template compares words (an argument's type, a tool's name), so they are not
// masked when it renders; but one that writes a word between brackets of its own could be made to write a control string. So
// what was rendered is rendered once more, with every word masked that can stand inside a control string that came out. When
// both texts are the same, the second is shown: none of its control strings holds a word from outside. When they differ, the
// template has looked at such words. Those stay as they are, and the control ids must be those of the rendering without
// them; or nothing is shown.

package chat

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrForged marks a conversation in which a word from outside would become a part of a control string.
var ErrForged = errors.New("chat: a word from outside would become part of a control string of the chat template")

// rendering is a text, and the ids that it is shown as.
type rendering struct {
	mask *mask
	text string // masked
	ids  []int32
}

// render masks a conversation, lets write render it, and makes sure that what is from outside is in no control string.
func (r *Renderer) render(c Conversation, write func(Conversation) (string, error)) (rendering, error) {
	first, err := r.renderMasked(c, nil, nil, write)
	if err != nil {
		return first, err
	}
	inside := r.controls.of(first.ids)
	if len(inside) == 0 {
		return first, nil
	}
	second, err := r.renderMasked(c, inside, nil, write)
	switch plain := first.plain(); {
	case len(second.mask.words) == 0:
		return first, nil
	case err != nil:
		return first, errors.Join(ErrForged, err)
	case second.plain() == plain:
		return second, nil
	case len(second.mask.words) <= mostWords:
		third, err := r.renderMasked(c, inside, r.lookedAt(c, second.mask, plain, write), write)
		if err == nil && third.plain() == plain && slices.Equal(r.controlsIn(third.ids), r.controlsIn(second.ids)) {
			return third, nil
		}
	}
	return first, ErrForged
}

// mostWords bounds the renderings for one conversation.
const mostWords = 256

// lookedAt are the words that change the text, all but themselves, when they alone are masked.
func (r *Renderer) lookedAt(c Conversation, all *mask, plain string, write func(Conversation) (string, error)) map[string]bool {
	looked := map[string]bool{}
	for word := range all.words {
		others := maps.Clone(all.words)
		delete(others, word)
		if alone, err := r.renderMasked(c, all.inside, others, write); err != nil || alone.plain() != plain {
			looked[word] = true
		}
	}
	return looked
}

func (r *Renderer) renderMasked(c Conversation, inside []control, shown map[string]bool, write func(Conversation) (string, error)) (rendering, error) {
	out := rendering{mask: &mask{controls: r.controls, inside: inside, shown: shown, words: map[string]bool{}}}
	c, err := out.mask.conversation(c)
	if err != nil {
		return out, err
	}
	if out.text, err = write(c); err != nil {
		return out, err
	}
	parts, _ := out.mask.parts(out.text)
	out.ids = r.tok.EncodeParts(parts...)
	return out, nil
}

// plain is the text with nothing masked.
func (r rendering) plain() string {
	parts, _ := r.mask.parts(r.text)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// controlsIn are the control ids among ids.
func (r *Renderer) controlsIn(ids []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return !r.tok.IsControl(id) })
}

// of lists the control strings among ids, each once.
func (c *controls) of(ids []int32) []control {
	var out []control
	for _, id := range ids {
		if found, ok := c.byID[id]; ok && !slices.Contains(out, found) {
			out = append(out, found)
		}
	}
	return out
}

// within reports whether a word can stand inside one of the control strings; of delimiters alone where markup is meant.
func (m *mask) within(word string, all bool) bool {
	return !m.shown[word] && slices.ContainsFunc(m.inside, func(c control) bool { return (all || c.special) && m.controls.all.Within(c.text, word) })
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// stretch is the length of what s begins with: all up to a private character, or of that a word, or what is between words.
func stretch(s string, words bool) int {
	first, _ := utf8.DecodeRuneInString(s)
	end := strings.IndexFunc(s, func(r rune) bool { return private(r) || words && wordRune(r) != wordRune(first) })
	if end < 0 {
		return len(s)
	}
	return end
}

// spec masks a tool's specification. The words of JSON schema, which templates look up, are no text from outside: names of
// members but those of properties, and types.
func (m *mask) spec(v Value) Value {
	switch v.kind {
	case KindArray:
		v.items = slices.Clone(v.items)
		for i := range v.items {
			v.items[i] = m.spec(v.items[i])
		}
	case KindObject:
		v.members = slices.Clone(v.members)
		for i, member := range v.members {
			v.members[i] = m.schemaMember(member)
		}
	default:
		return m.value(v)
	}
	return v
}

func (m *mask) schemaMember(member Member) Member {
	if !slices.Contains(schemaWords, member.Name) {
		return Member{m.text(member.Name, true), m.spec(member.Value)}
	}
	v := member.Value
	switch {
	case member.Name == "type" && v.kind == KindString && slices.Contains(schemaTypes, v.text):
		return member
	case member.Name == "properties" && v.kind == KindObject:
		v.members = slices.Clone(v.members)
		for i, p := range v.members {
			v.members[i] = Member{m.text(p.Name, true), m.spec(p.Value)}
		}
		return Member{member.Name, v}
	}
	return Member{member.Name, m.spec(v)}
}

var (
	schemaWords = strings.Fields("$ref additionalProperties allOf anyOf arguments const content default description enum examples format function " +
		"id items maximum minimum name nullable oneOf parameters pattern properties required return returns role strict title type value")
	schemaTypes = strings.Fields("array boolean function integer null number object string")
)
