// Reading the classes of a pattern: [ ], escapes and properties.

package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// set reads [ ].
func (p *patternReader) set() (runeSet, error) {
	if p.depth++; p.depth > maxGroups {
		return nil, fmt.Errorf("classes nested more than %d deep", maxGroups)
	}
	defer func() { p.depth-- }()
	p.at++
	negative := p.take("^")
	set, err := p.items()
	if err != nil {
		return nil, err
	}
	for p.take("&&") {
		more, err := p.items()
		if err != nil {
			return nil, err
		}
		set = set.intersection(more)
	}
	if !p.take("]") {
		return nil, fmt.Errorf("missing ]")
	}
	if negative {
		set = set.complement()
	}
	return set, nil
}

// items reads the members of a class up to && or ].
func (p *patternReader) items() (runeSet, error) {
	var set runeSet
	for first := true; p.at < len(p.in); first = false {
		rest := p.in[p.at:]
		switch {
		case rest[0] == ']' && first:
			return nil, fmt.Errorf("empty class")
		case rest[0] == ']', strings.HasPrefix(rest, "&&"):
			return set, nil
		}
		item, single, err := p.item()
		if err != nil {
			return nil, err
		}
		if single && p.at+1 < len(p.in) && p.in[p.at] == '-' && p.in[p.at+1] != ']' {
			p.at++
			end, ok, err := p.item()
			if err != nil || !ok || end[0][0] < item[0][0] {
				return nil, fmt.Errorf("a range must end with a character that is not before its first")
			}
			item[0][1] = end[0][0]
		}
		if item, err = p.folded(item); err != nil {
			return nil, err
		}
		set = set.union(item)
	}
	return nil, fmt.Errorf("missing ]")
}

// item reads one member; single says that it is a character, which may begin a range.
func (p *patternReader) item() (set runeSet, single bool, err error) {
	switch p.in[p.at] {
	case '[':
		if strings.HasPrefix(p.in[p.at:], "[:") {
			return nil, false, fmt.Errorf("[: is not supported")
		}
		set, err = p.set()
		return set, false, err
	case '\\':
		set, err = p.escape()
		return set, len(set) == 1 && set[0][0] == set[0][1], err
	}
	r := p.rune()
	return runeSet{{r, r}}, true, nil
}

// escape reads \s, \p{…}, \n and the like.
func (p *patternReader) escape() (runeSet, error) {
	rest := p.in[p.at+1:]
	if rest == "" {
		return nil, fmt.Errorf("trailing backslash")
	}
	p.at += 2
	one := func(r rune) (runeSet, error) { return runeSet{{r, r}}, nil }
	switch c := rest[0]; c {
	case 's':
		return p.all.named("White_Space"), nil
	case 'S':
		return p.all.named("White_Space").complement(), nil
	case 'd':
		return p.all.named("Nd"), nil
	case 'D':
		return p.all.named("Nd").complement(), nil
	case 'r':
		return one('\r')
	case 'n':
		return one('\n')
	case 't':
		return one('\t')
	case 'f':
		return one('\f')
	case 'v':
		return one('\v')
	case 'p', 'P':
		return p.property(c == 'P', rest)
	default:
		if c < utf8.RuneSelf && strings.IndexByte(asciiPunctuation, c) >= 0 {
			return one(rune(c))
		}
		p.at -= 2
		return nil, fmt.Errorf(`escape \%c is not supported`, c)
	}
}

const asciiPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// property reads {L} or {Han} behind \p.
func (p *patternReader) property(negative bool, rest string) (runeSet, error) {
	name, _, ok := strings.Cut(strings.TrimPrefix(rest[1:], "{"), "}")
	var set runeSet
	if ok && rest[1] == '{' && (unicode.Categories[name] != nil && name[0] != 'C' || unicode.Scripts[name] != nil) {
		set = p.all.named(name)
	}
	if set == nil {
		return nil, fmt.Errorf(`\%c must be followed by the name of a category (C and its parts excepted) or script in braces`, rest[0])
	}
	p.at += len(name) + 2
	if negative {
		set = set.complement()
	}
	return p.unfoldable(set)
}

// named is a category, a script or White_Space; nil when there is none of that name.
func (all *patterns) named(name string) runeSet {
	if set, ok := all.known[name]; ok {
		return slices.Clone(set)
	}
	var set runeSet
	switch {
	case name == "White_Space":
		set = tableSet(unicode.White_Space)
	case unicode.Categories[name] != nil:
		set = category(name)
	case unicode.Scripts[name] != nil:
		set = tableSet(unicode.Scripts[name]).intersection(newer.complement())
	}
	if all.known == nil {
		all.known = make(map[string]runeSet)
	}
	all.known[name] = set
	return slices.Clone(set)
}

// unfoldable refuses a property under (?i:, which Oniguruma would widen.
func (p *patternReader) unfoldable(set runeSet) (runeSet, error) {
	if p.fold {
		return nil, fmt.Errorf(`\p under (?i: is not supported`)
	}
	return set, nil
}

// folded adds the other cases of short sets under (?i:.
func (p *patternReader) folded(set runeSet) (runeSet, error) {
	if !p.fold {
		return set, nil
	}
	out := set
	for _, r := range set {
		if r[1] >= utf8.RuneSelf {
			continue // \s and complements know no case; other letters are refused below
		}
		for x := r[0]; x <= r[1]; x++ {
			for y := unicode.SimpleFold(x); y != x; y = unicode.SimpleFold(y) {
				out = out.union(runeSet{{y, y}})
			}
		}
	}
	if len(set) == 1 && set[0][0] >= utf8.RuneSelf {
		return nil, fmt.Errorf("%q under (?i: is not supported", string(set[0][0]))
	}
	return out, nil
}
