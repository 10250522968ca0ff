// Reading the pre-tokenizers of a tokenizer.json.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// splitReader reads the pre-tokenizers, nested Sequences laid out flat.
type splitReader struct {
	all      []preTokenizer
	patterns *patterns
	bytes    bool           // ByteLevel was read
	plain    []preTokenizer // the last one if it is ByteLevel, without spelling bytes in characters; empty if nothing is left
}

func (r *splitReader) read(path string, v jsontext.Value) error {
	if null(v) {
		return nil
	}
	kind, err := component(path, v)
	if err = cmp.Or(err, tooMany(path, len(r.all))); err != nil {
		return err
	}
	var p preTokenizer
	r.plain = nil
	switch kind {
	case "Split":
		p, err = r.readSplit(path, v)
	case "ByteLevel":
		r.bytes = true
		p, r.plain, err = readByteLevel(path, v)
	case "Digits":
		var f struct {
			Type       string `json:"type"`
			Individual bool   `json:"individual_digits"`
		}
		err = fields(path, v, &f)
		p = digits(f.Individual)
	case "Metaspace":
		var f metaspaceFields
		f, err = readMetaspace(path, v)
		p = metaspace(f.Replacement, f.Scheme == "always", f.Scheme == "first", f.Split)
	case "Punctuation":
		p, err = readPunctuation(path, v)
	case "Whitespace":
		p, err = words, noFields(path, v)
	case "WhitespaceSplit":
		p, err = splitter(matchRunes(unicode.IsSpace), removed, false), noFields(path, v)
	case "BertPreTokenizer":
		r.all = append(r.all, splitter(matchRunes(unicode.IsSpace), removed, false))
		p, err = splitter(matchRunes(punctuation), isolated, false), noFields(path, v)
	case "Sequence":
		return r.readSequence(path, v)
	default:
		return unsupported(path, kind, "Split, ByteLevel, Digits, Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, Metaspace, Sequence")
	}
	r.all = append(r.all, p)
	return err
}

func (r *splitReader) readSequence(path string, v jsontext.Value) error {
	var f struct {
		Type          string           `json:"type"`
		PreTokenizers []jsontext.Value `json:"pretokenizers"`
	}
	if err := fields(path, v, &f); err != nil {
		return err
	}
	return sequence(path+".pretokenizers", f.PreTokenizers, r.read)
}

func (r *splitReader) readSplit(path string, v jsontext.Value) (preTokenizer, error) {
	var f struct {
		Type     string   `json:"type"`
		Pattern  pattern  `json:"pattern"`
		Behavior behavior `json:"behavior"`
		Invert   bool     `json:"invert"`
	}
	if err := fields(path, v, &f); err != nil {
		return nil, err
	}
	if err := f.Behavior.check(path); err != nil {
		return nil, err
	}
	m, err := f.Pattern.matcher(path, r.patterns)
	return splitter(m, f.Behavior, f.Invert), err
}

func (b behavior) check(path string) error {
	switch b {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return nil
	}
	return fmt.Errorf("%s.behavior: unknown value %q", path, b)
}

func readPunctuation(path string, v jsontext.Value) (preTokenizer, error) {
	f := struct {
		Type     string   `json:"type"`
		Behavior behavior `json:"behavior"`
	}{Behavior: isolated}
	if err := fields(path, v, &f); err != nil {
		return nil, err
	}
	return splitter(matchRunes(punctuation), f.Behavior, false), f.Behavior.check(path)
}

// byteLevelFields serve the pre-tokenizer, the decoder and the post-processor. trim_offsets moves offsets only.
type byteLevelFields struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets    bool   `json:"trim_offsets"`
	UseRegex       *bool  `json:"use_regex"` // absent means true
}

// readByteLevel returns it, and what is left of it without the spelling of bytes.
func readByteLevel(path string, v jsontext.Value) (spelled preTokenizer, plain []preTokenizer, err error) {
	var f byteLevelFields
	if err := fields(path, v, &f); err != nil {
		return nil, nil, err
	}
	var split preTokenizer
	if f.UseRegex == nil || *f.UseRegex {
		split = splitter(scannerOf(gpt2Pattern), isolated, false)
	}
	plain = []preTokenizer{}
	if split != nil || f.AddPrefixSpace {
		plain = append(plain, byteLevel(f.AddPrefixSpace, split, false))
	}
	return byteLevel(f.AddPrefixSpace, split, true), plain, nil
}

type metaspaceFields struct {
	Type        string `json:"type"`
	Replacement string `json:"replacement"`
	Scheme      string `json:"prepend_scheme"`
	AddPrefix   *bool  `json:"add_prefix_space"` // the older spelling of always and never
	Split       bool   `json:"split"`
	Older       string `json:"str_rep"` // older files repeat the replacement here
}

func readMetaspace(path string, v jsontext.Value) (metaspaceFields, error) {
	f := metaspaceFields{Split: true}
	if err := fields(path, v, &f); err != nil {
		return f, err
	}
	f.Scheme = cmp.Or(f.Scheme, "always")
	if f.AddPrefix != nil && !*f.AddPrefix && f.Scheme != "never" {
		return f, fmt.Errorf("%s: add_prefix_space false contradicts prepend_scheme %q", path, f.Scheme)
	}
	if f.Scheme != "always" && f.Scheme != "first" && f.Scheme != "never" {
		return f, fmt.Errorf("%s.prepend_scheme: unknown value %q", path, f.Scheme)
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return f, fmt.Errorf("%s.replacement: %q must be one character", path, f.Replacement)
	}
	return f, nil
}
