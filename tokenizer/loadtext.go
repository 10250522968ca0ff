// Reading what happens to text on its way in: normalizer and pre-tokenizer.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"unicode/utf8"
)

func readNormalizer(path string, v jsontext.Value) (normalizer, error) {
	if null(v) {
		return nil, nil
	}
	kind, err := component(path, v)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "NFC":
		var f struct {
			Type string `json:"type"`
		}
		return nfc, fields(path, v, &f)
	case "Prepend":
		var f struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		err := fields(path, v, &f)
		return prepend(f.Prepend), err
	case "Replace":
		m, content, err := readReplace(path, v)
		return replace(m, content), err
	case "Sequence":
		var f struct {
			Type        string           `json:"type"`
			Normalizers []jsontext.Value `json:"normalizers"`
		}
		if err := fields(path, v, &f); err != nil {
			return nil, err
		}
		return readNormalizers(path, f.Normalizers)
	}
	return nil, unsupported(path, kind, "NFC, Prepend, Replace, Sequence")
}

func readNormalizers(path string, values []jsontext.Value) (normalizer, error) {
	var all []normalizer
	err := sequence(path+".normalizers", values, func(path string, v jsontext.Value) error {
		n, err := readNormalizer(path, v)
		all = append(all, n)
		return err
	})
	return chain(all), err
}

func readReplace(path string, v jsontext.Value) (matcher, string, error) {
	var f struct {
		Type    string  `json:"type"`
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if err := fields(path, v, &f); err != nil {
		return nil, "", err
	}
	m, err := f.Pattern.matcher(path)
	return m, f.Content, err
}

// splitReader reads the pre-tokenizers, nested Sequences laid out flat.
type splitReader struct {
	all   []preTokenizer
	bytes bool // ByteLevel was read
}

func (r *splitReader) read(path string, v jsontext.Value) error {
	if null(v) {
		return nil
	}
	kind, err := component(path, v)
	if err != nil {
		return err
	}
	var p preTokenizer
	switch kind {
	case "Split":
		p, err = readSplit(path, v)
	case "ByteLevel":
		r.bytes = true
		p, err = readByteLevel(path, v)
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
	case "Sequence":
		return r.readSequence(path, v)
	default:
		return unsupported(path, kind, "Split, ByteLevel, Digits, Metaspace, Sequence")
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

func readSplit(path string, v jsontext.Value) (preTokenizer, error) {
	var f struct {
		Type     string   `json:"type"`
		Pattern  pattern  `json:"pattern"`
		Behavior behavior `json:"behavior"`
		Invert   bool     `json:"invert"`
	}
	if err := fields(path, v, &f); err != nil {
		return nil, err
	}
	switch f.Behavior {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
	default:
		return nil, fmt.Errorf("%s.behavior: unknown value %q", path, f.Behavior)
	}
	m, err := f.Pattern.matcher(path)
	return splitter(m, f.Behavior, f.Invert), err
}

// byteLevelFields serve the pre-tokenizer, the decoder and the post-processor. trim_offsets moves offsets only.
type byteLevelFields struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets    bool   `json:"trim_offsets"`
	UseRegex       *bool  `json:"use_regex"` // absent means true
}

func readByteLevel(path string, v jsontext.Value) (preTokenizer, error) {
	var f byteLevelFields
	if err := fields(path, v, &f); err != nil {
		return nil, err
	}
	if f.UseRegex != nil && !*f.UseRegex {
		return byteLevel(f.AddPrefixSpace, nil), nil
	}
	re, err := compile(gpt2Pattern)
	return byteLevel(f.AddPrefixSpace, splitter(matchRegexp(re), isolated, false)), err
}

type metaspaceFields struct {
	Type        string `json:"type"`
	Replacement string `json:"replacement"`
	Scheme      string `json:"prepend_scheme"`
	AddPrefix   *bool  `json:"add_prefix_space"` // the older spelling of always and never
	Split       bool   `json:"split"`
}

func readMetaspace(path string, v jsontext.Value) (metaspaceFields, error) {
	f := metaspaceFields{Split: true}
	if err := fields(path, v, &f); err != nil {
		return f, err
	}
	if f.AddPrefix != nil && !*f.AddPrefix {
		if f.Scheme != "" && f.Scheme != "never" {
			return f, fmt.Errorf("%s: add_prefix_space false contradicts prepend_scheme %q", path, f.Scheme)
		}
		f.Scheme = "never"
	}
	f.Scheme = cmp.Or(f.Scheme, "always")
	if f.Scheme != "always" && f.Scheme != "first" && f.Scheme != "never" {
		return f, fmt.Errorf("%s.prepend_scheme: unknown value %q", path, f.Scheme)
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return f, fmt.Errorf("%s.replacement: %q must be one character", path, f.Replacement)
	}
	return f, nil
}
