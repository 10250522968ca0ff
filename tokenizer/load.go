// Reading tokenizer.json. The structs here are the complete list of what is understood: a component, field or value that
// is not in them is refused by name.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	var all patterns
	n := normalizerReader{patterns: &all}
	if err := n.read("normalizer", f.Normalizer); err != nil {
		return nil, err
	}
	t.normalize, t.fold = n.all, n.folding()
	plain, err := t.readStages(f, &all)
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
func (t *Tokenizer) readStages(f file, all *patterns) (plain []preTokenizer, err error) {
	in := splitReader{patterns: all}
	if err := in.read("pre_tokenizer", f.PreTokenizer); err != nil {
		return nil, err
	}
	out := decoderReader{patterns: all}
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
	return readable(json.Unmarshal(value, out, json.RejectUnknownMembers(true)))
}

// readable says where in a file an error is, and nothing of types of Go.
func readable(err error) error {
	var s *json.SemanticError
	if !errors.As(err, &s) {
		return err
	}
	cause := cmp.Or(s.Err, fmt.Errorf("a JSON %s does not belong here", s.JSONKind))
	if s.JSONPointer == "" {
		return cause
	}
	return fmt.Errorf("%.80s: %w", s.JSONPointer, cause)
}

func null(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

const (
	maxNesting    = 8  // Sequences inside Sequences
	maxComponents = 64 // of one kind, in all Sequences together
)

// tooMany refuses one more component than maxComponents.
func tooMany(path string, have int) error {
	if have < maxComponents {
		return nil
	}
	return fmt.Errorf("%s: more than %d components", path, maxComponents)
}

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

func (p pattern) matcher(path string, all *patterns) (matcher, error) {
	switch {
	case p.String != nil && p.Regex == nil:
		return matchString(*p.String), nil
	case p.Regex != nil && p.String == nil:
		find, err := all.compile(*p.Regex)
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
	bytes := 0
	for _, a := range added {
		if err := t.checkAdded(m, a); err != nil {
			return err
		}
		if bytes += len(a.Content); bytes > maxAllAdded {
			return fmt.Errorf("added_tokens: more than %d bytes of content together", maxAllAdded)
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
