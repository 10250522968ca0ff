// Reading tokenizer.json. The structs here are the complete list of what is understood: a component, field or value that
// is not in them is refused by name.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// file is tokenizer.json.
type file struct {
	Version       string         `json:"version"`
	Truncation    jsontext.Value `json:"truncation"` // not applied: a call must ask for these two, as in transformers
	Padding       jsontext.Value `json:"padding"`
	AddedTokens   []AddedToken   `json:"added_tokens"`
	Normalizer    jsontext.Value `json:"normalizer"`
	PreTokenizer  jsontext.Value `json:"pre_tokenizer"`
	PostProcessor jsontext.Value `json:"post_processor"`
	Decoder       jsontext.Value `json:"decoder"`
	Model         jsontext.Value `json:"model"`
}

func load(data []byte) (*Tokenizer, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{source: data, addedAt: make(map[int32]int)}
	var n normalizerReader
	if err := n.read("normalizer", f.Normalizer); err != nil {
		return nil, err
	}
	t.normalize, t.fold = n.all, n.folding()
	plain, err := t.readStages(f)
	if err != nil {
		return nil, err
	}
	if err := t.readModel(f.Model, f.AddedTokens); err != nil {
		return nil, err
	}
	if err := t.readPostProcessor("post_processor", f.PostProcessor); err != nil {
		return nil, err
	}
	if err := t.checkSpelling(); err != nil {
		return nil, err
	}
	if err := t.checkGuard(n); err != nil {
		return nil, err
	}
	if plain != nil && t.model.takeBytes() {
		t.split = append(t.split[:len(t.split)-1], plain...)
	}
	return t, nil
}

// readStages also returns what the last pre-tokenizer becomes if the model takes bytes, nil if it is not ByteLevel.
func (t *Tokenizer) readStages(f file) (plain []preTokenizer, err error) {
	var in splitReader
	if err := in.read("pre_tokenizer", f.PreTokenizer); err != nil {
		return nil, err
	}
	var out decoderReader
	if err := out.read("decoder", f.Decoder); err != nil {
		return nil, err
	}
	if in.bytes != out.bytes {
		return nil, fmt.Errorf("pre_tokenizer and decoder: one is ByteLevel and the other is not, so text would not come back")
	}
	t.split, t.decode, t.byteLevel = in.all, out.stages, in.bytes
	return in.plain, nil
}

// strict decodes value into out and refuses members that out does not name. Duplicate names and broken UTF-8 are
// refused by the decoder.
func strict(value []byte, out any) error {
	err := json.Unmarshal(value, out, json.RejectUnknownMembers(true))
	var s *json.SemanticError
	if !errors.As(err, &s) {
		return err
	}
	cause := cmp.Or(s.Err, fmt.Errorf("a JSON %s does not belong here", s.JSONKind))
	if s.JSONPointer == "" {
		return cause
	}
	return fmt.Errorf("%s: %w", s.JSONPointer, cause)
}

func null(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

const (
	maxNesting    = 8  // Sequences inside Sequences
	maxComponents = 64 // in one Sequence
)

// component returns the type of the component at path. It reads no further than that.
func component(path string, v jsontext.Value) (string, error) {
	if strings.Count(path, ".") > maxNesting {
		return "", fmt.Errorf("%.40s…: components nested more than %d deep", path, maxNesting)
	}
	if v.Kind() != '{' {
		return "", fmt.Errorf("%s: must be an object with a type", path)
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if name.String() != "type" {
			if err := dec.SkipValue(); err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			continue
		}
		var kind string
		if err := json.UnmarshalDecode(dec, &kind); err != nil {
			return "", fmt.Errorf("%s.type: %w", path, err)
		}
		return kind, nil
	}
	return "", nil
}

// fields decodes the component at path into out, whose struct names every field it may have.
func fields(path string, v jsontext.Value, out any) error {
	if err := strict(v, out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// sequence reads the components of a Sequence in order.
func sequence(path string, values []jsontext.Value, read func(path string, v jsontext.Value) error) error {
	if len(values) > maxComponents {
		return fmt.Errorf("%s: %d components; at most %d", path, len(values), maxComponents)
	}
	for i, v := range values {
		if err := read(fmt.Sprintf("%s[%d]", path, i), v); err != nil {
			return err
		}
	}
	return nil
}

func unsupported(path, kind, known string) error {
	return fmt.Errorf("%s: component %q is not supported (%s are)", path, kind, known)
}

// pattern is {"String": …} or {"Regex": …}.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func (p pattern) matcher(path string) (matcher, error) {
	switch {
	case p.String != nil && p.Regex == nil:
		return matchString(*p.String), nil
	case p.Regex != nil && p.String == nil:
		find, err := compile(*p.Regex)
		if err != nil {
			return nil, fmt.Errorf("%s.pattern: %w", path, err)
		}
		return find, nil
	}
	return nil, fmt.Errorf(`%s.pattern: must hold either "String" or "Regex"`, path)
}

// readModel fills the table of pieces, the added tokens and BPE.
func (t *Tokenizer) readModel(v jsontext.Value, added []AddedToken) error {
	m, vocab, err := readBPE(v)
	if err != nil {
		return err
	}
	for _, a := range added {
		if err := t.checkAdded(m, a); err != nil {
			return err
		}
	}
	t.model, t.added, t.ids = m, slices.Clone(added), make(map[string]int32, len(vocab)+len(added))
	if err := t.number(vocab, added); err != nil {
		return err
	}
	slices.SortFunc(t.added, func(a, b AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	for i, a := range t.added {
		t.addedAt[a.ID] = i
		if int(a.ID) < len(m.control) {
			m.control[a.ID] = a.control()
		}
		if err := t.plant(i, a); err != nil {
			return err
		}
	}
	return nil
}

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
	if key == "" {
		return fmt.Errorf("added_tokens: %q is empty after normalization", a.Content)
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
			_, spelled := t.model.ids[string(r)]
			if t.byteLevel && t.model.unknown < 0 && !t.model.raw && !spelled && !yield(byte(b)) {
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
