// Reading the normalizers of a tokenizer.json.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizerReader reads the normalizers, nested Sequences laid out flat, and what they may turn into each other.
type normalizerReader struct {
	all      []normalizer
	forms    []normalizer // that work on characters wherever they stand
	same     [][2]rune    // characters that become others
	drop     string       // characters that may come and go
	marks    bool
	opaque   string // path of a replacement that could make anything of anything
	growth   growth
	patterns *patterns
	prepends bool
}

func (n *normalizerReader) read(path string, v jsontext.Value) error {
	if null(v) {
		return nil
	}
	kind, err := component(path, v)
	if err = cmp.Or(err, tooMany(path, len(n.all))); err != nil {
		return err
	}
	switch kind {
	case "NFC", "NFD", "NFKC", "NFKD":
		return n.readForm(kind, path, v)
	case "Lowercase":
		n.add(eachRune(lowercase), eachRune(lowercase))
		return noFields(path, v)
	case "StripAccents":
		n.marks = true
		n.add(eachRune(dropMarks), nil)
		return noFields(path, v)
	case "Strip":
		var f struct {
			Type  string `json:"type"`
			Left  bool   `json:"strip_left"`
			Right bool   `json:"strip_right"`
		}
		err := fields(path, v, &f)
		n.add(strip(f.Left, f.Right), nil)
		return err
	case "Prepend":
		var f struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		if err := fields(path, v, &f); err != nil {
			return err
		}
		if len(f.Prepend) > maxReplaced {
			return fmt.Errorf("%s.prepend: %d bytes; at most %d", path, len(f.Prepend), maxReplaced)
		}
		n.drop, n.prepends = n.drop+f.Prepend, true
		n.add(prepend(f.Prepend), nil)
		return n.growth.by(path, 1, 1+len(f.Prepend))
	case "Replace":
		return n.readReplace(path, v)
	case "Sequence":
		var f struct {
			Type        string           `json:"type"`
			Normalizers []jsontext.Value `json:"normalizers"`
		}
		if err := fields(path, v, &f); err != nil {
			return err
		}
		return sequence(path+".normalizers", f.Normalizers, n.read)
	}
	return unsupported(path, kind, "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, Sequence")
}

// add appends a normalizer, and its part in the fold if it has one.
func (n *normalizerReader) add(all, form normalizer) {
	n.all = append(n.all, all)
	if form != nil {
		n.forms = append(n.forms, form)
	}
}

func (n *normalizerReader) readForm(kind, path string, v jsontext.Value) error {
	form := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[kind]
	apart, worst := norm.NFD, 3
	if form == norm.NFKC || form == norm.NFKD {
		apart, worst = norm.NFKD, 11 // U+FDFA
	}
	n.marks = true
	n.add(unicodeForm(form), unicodeForm(apart))
	return cmp.Or(n.growth.by(path, 1, worst), noFields(path, v))
}

const (
	maxGrowth   = 256 // bytes that a chain of normalizers or decoders may make of one
	maxReplaced = 64  // bytes of one replacement
)

// growth is the product of what each of a chain may make of one byte.
type growth int

// by multiplies with the factor to/from, rounded up.
func (g *growth) by(path string, from, to int) error {
	*g = max(*g, 1) * growth(max(1, (to+from-1)/max(from, 1)))
	if *g > maxGrowth {
		return fmt.Errorf("%s: together with those before it, it can make text more than %d times as long", path, maxGrowth)
	}
	return nil
}

func (n *normalizerReader) readReplace(path string, v jsontext.Value) error {
	p, m, content, err := readReplace(path, v, &n.growth, n.patterns)
	if err != nil {
		return err
	}
	n.add(replace(m, content), nil)
	switch {
	case p.Regex != nil && whitespacePattern(*p.Regex):
		n.drop += whitespace + content
	case p.Regex != nil:
		n.opaque = path
	case utf8.RuneCountInString(*p.String) == 1 && utf8.RuneCountInString(content) == 1:
		n.same = append(n.same, [2]rune{[]rune(*p.String)[0], []rune(content)[0]})
	default:
		n.drop += *p.String + content
	}
	return nil
}

var whitespace = func() string {
	var out []rune
	for _, r := range tableSet(unicode.White_Space) {
		for x := r[0]; x <= r[1]; x++ {
			out = append(out, x)
		}
	}
	return string(out)
}()

// whitespacePattern recognizes patterns that can match nothing else.
func whitespacePattern(pattern string) bool {
	for _, atom := range []string{`\s`, `[ ]`, " "} {
		rest, ok := strings.CutPrefix(pattern, atom)
		if ok && strings.Trim(rest, "{}+,0123456789") == "" {
			return true
		}
	}
	return false
}

// folding is what all of the normalizers leave alike.
func (n *normalizerReader) folding() folding {
	f := folding{decompose: n.forms, marks: n.marks, same: map[rune]rune{}, drop: map[rune]bool{}}
	simple := func(r rune) []rune { return []rune(f.simple(r)) }
	for _, pair := range n.same {
		from, to := simple(pair[0]), simple(pair[1])
		if len(from) == 1 && len(to) == 1 {
			f.rename(from[0], to[0])
			continue
		}
		n.drop += string(from) + string(to)
	}
	for _, r := range n.drop {
		for _, r := range simple(r) {
			if to, ok := f.same[r]; ok {
				r = to
			}
			f.drop[r] = true
		}
	}
	f.settle()
	return f
}

// rename makes from and to, and all that became one of them, one character.
func (f *folding) rename(from, to rune) {
	find := func(r rune) rune {
		if x, ok := f.same[r]; ok {
			return x
		}
		return r
	}
	from, to = find(from), find(to)
	for r, x := range f.same {
		if x == from {
			f.same[r] = to
		}
	}
	if from != to {
		f.same[from] = to
	}
}

// noFields reads a component that has nothing but its type.
func noFields(path string, v jsontext.Value) error {
	var f struct {
		Type string `json:"type"`
	}
	return fields(path, v, &f)
}

func readReplace(path string, v jsontext.Value, g *growth, all *patterns) (pattern, matcher, string, error) {
	var f struct {
		Type    string  `json:"type"`
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if err := fields(path, v, &f); err != nil {
		return pattern{}, nil, "", err
	}
	if len(f.Content) > maxReplaced {
		return pattern{}, nil, "", fmt.Errorf("%s.content: %d bytes; at most %d", path, len(f.Content), maxReplaced)
	}
	shortest := 1
	if f.Pattern.String != nil {
		shortest = len(*f.Pattern.String)
	}
	m, err := f.Pattern.matcher(path, all)
	return f.Pattern, m, f.Content, cmp.Or(err, g.by(path, shortest, len(f.Content)))
}
