// Regular expressions of tokenizer.json. The reference runs them with Oniguruma, we with regexp2. Where the two agree we
// translate, everything else is refused by name: a pattern that means something slightly different would be a silently
// different tokenizer. Only single characters may repeat, two repeats may follow each other, and the other ways to match
// (options times alternatives) are counted: so an attempt to match costs at worst a constant times the square of the
// text it spans, whoever wrote the pattern.

package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

const (
	maxPatternBytes = 4096
	maxRepeats      = 2    // unbounded repeats one after another
	maxWays         = 1000 // choices that backtracking may try besides those of the repeats
	smallRepeat     = 16   // {n,m} up to this m counts as choices, above as a repeat
)

// compile translates and compiles a pattern.
func compile(pattern string) (*regexp2.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("regular expression of %d bytes; at most %d", len(pattern), maxPatternBytes)
	}
	p := translator{in: pattern}
	if _, err := p.alternatives(false, 0); err != nil {
		return nil, fmt.Errorf("regular expression %q: at byte %d: %w", pattern, p.at, err)
	}
	if p.at < len(p.in) {
		return nil, fmt.Errorf("regular expression %q: at byte %d: unmatched )", pattern, p.at)
	}
	re, err := regexp2.Compile(p.out.String(), regexp2.Unicode)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	return re, nil
}

// find calls yield with the byte range of every match in s, in order.
func find(re *regexp2.Regexp, s string, yield func(span)) {
	runes := []rune(s)
	at, runeAt := 0, 0 // the same place, in bytes and in runes
	advance := func(to int) int {
		for ; runeAt < to; runeAt++ {
			at += utf8.RuneLen(runes[runeAt])
		}
		return at
	}
	// A match fails only by time-out, and none is set: the form of the pattern bounds the work.
	m, _ := re.FindRunesMatch(runes)
	for m != nil {
		from := advance(m.Index)
		yield(span{from, advance(m.Index + m.Length)})
		m, _ = re.FindNextMatch(m)
	}
}

// translator walks a pattern once, copying what both engines read alike.
type translator struct {
	in      string
	at      int
	out     strings.Builder
	repeats int // unbounded repeats in the current alternative
	depth   int
}

// alternatives reads a | b | … up to ) or the end, and returns the ways to match it.
func (p *translator) alternatives(fold bool, repeatsBefore int) (ways int, err error) {
	if p.depth++; p.depth > 50 {
		return 0, fmt.Errorf("groups nested more than 50 deep")
	}
	defer func() { p.depth-- }()
	most, here := repeatsBefore, 1
	p.repeats = repeatsBefore
	for p.at < len(p.in) && p.in[p.at] != ')' {
		if p.in[p.at] == '|' {
			p.copy(1)
			ways += here
			most, p.repeats, here = max(most, p.repeats), repeatsBefore, 1
			continue
		}
		w, err := p.term(fold)
		if err != nil {
			return 0, err
		}
		if here *= w; here+ways > maxWays {
			return 0, fmt.Errorf("more than %d ways to match are not supported", maxWays)
		}
	}
	p.repeats = max(most, p.repeats)
	return ways + here, nil
}

// term reads one atom and the quantifier behind it, and returns the ways to match them.
func (p *translator) term(fold bool) (ways int, err error) {
	group := p.in[p.at] == '('
	if ways, err = p.atom(fold); err != nil {
		return 0, err
	}
	low, high, err := p.quantifier()
	switch {
	case err != nil:
		return 0, err
	case group && high > 1:
		return 0, fmt.Errorf("repeating a group is not supported")
	case high <= smallRepeat:
		return ways + high - low, nil
	}
	if p.repeats++; p.repeats > maxRepeats {
		return 0, fmt.Errorf("more than %d repeats one after another are not supported", maxRepeats)
	}
	return ways, nil
}

// atom reads what a quantifier would apply to.
func (p *translator) atom(fold bool) (ways int, err error) {
	switch c := p.in[p.at]; c {
	case '(':
		return p.group(fold)
	case '[':
		return 1, p.class(fold)
	case '\\':
		return 1, p.escape()
	case '.':
		p.copy(1)
	case '^', '$', '*', '+', '?', '{', '}', ']':
		return 0, fmt.Errorf("%q is not supported here", c)
	default:
		p.literal(fold, false)
	}
	return 1, nil
}

// group reads ( ), (?: ), (?i: ), (?! ) and (?= ).
func (p *translator) group(fold bool) (ways int, err error) {
	open := "("
	for _, form := range []string{"(?:", "(?i:", "(?!", "(?="} {
		if strings.HasPrefix(p.in[p.at:], form) {
			open = form
		}
	}
	if open == "(" && strings.HasPrefix(p.in[p.at:], "(?") {
		return 0, fmt.Errorf("group %q… is not supported ((?: (?i: (?! (?= are)", p.in[p.at:min(len(p.in), p.at+4)])
	}
	p.copy(len(open))
	if ways, err = p.alternatives(fold || open == "(?i:", p.repeats); err != nil {
		return 0, err
	}
	if p.at == len(p.in) {
		return 0, fmt.Errorf("missing )")
	}
	p.copy(1)
	return ways, nil
}

// class reads [ ]. Oniguruma nests classes and intersects them with &&; regexp2 does neither.
func (p *translator) class(fold bool) error {
	p.copy(1)
	if strings.HasPrefix(p.in[p.at:], "^") {
		p.copy(1)
	}
	for first := true; p.at < len(p.in); first = false {
		switch c := p.in[p.at]; {
		case c == ']' && first:
			return fmt.Errorf("empty class")
		case c == ']':
			p.copy(1)
			return nil
		case c == '[', strings.HasPrefix(p.in[p.at:], "&&"):
			return fmt.Errorf("nested classes and && are not supported")
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		default:
			p.literal(fold, true)
		}
	}
	return fmt.Errorf("missing ]")
}

// escape copies an escape that both engines read alike.
func (p *translator) escape() error {
	rest := p.in[p.at+1:]
	if rest == "" {
		return fmt.Errorf("trailing backslash")
	}
	switch c := rest[0]; {
	case strings.IndexByte("sSdDrntfv", c) >= 0, c < utf8.RuneSelf && strings.IndexByte(asciiPunctuation, c) >= 0:
		p.copy(2)
	case c == 'p' || c == 'P':
		end := strings.IndexByte(rest, '}')
		if len(rest) < 3 || rest[1] != '{' || end < 3 || strings.Trim(rest[2:end], asciiLetters) != "" {
			return fmt.Errorf(`\%c must be followed by the name of a category or script in braces`, c)
		}
		p.copy(end + 2)
	default:
		return fmt.Errorf(`escape \%c is not supported`, c)
	}
	return nil
}

const (
	asciiPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	asciiLetters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
)

// literal copies one character. Under (?i: the letters s and k also match ſ and the Kelvin sign, which regexp2 would
// not do by itself.
func (p *translator) literal(fold, inClass bool) {
	_, size := utf8.DecodeRuneInString(p.in[p.at:])
	c := p.in[p.at : p.at+size]
	others := map[string]string{"s": "ſ", "S": "ſ", "k": "\u212a", "K": "\u212a"}[c]
	switch {
	case !fold || others == "":
		p.copy(size)
		return
	case inClass:
		p.out.WriteString(c + others)
	default:
		p.out.WriteString("[" + c + others + "]")
	}
	p.at += size
}

const unbounded = 1 << 20

// quantifier reads * + ? {n} {n,} {n,m}, each also lazy; 1, 1 stands for none.
func (p *translator) quantifier() (low, high int, err error) {
	if p.at == len(p.in) {
		return 1, 1, nil
	}
	switch p.in[p.at] {
	case '*':
		low, high = 0, unbounded
	case '+':
		low, high = 1, unbounded
	case '?':
		low, high = 0, 1
	case '{':
		if low, high, err = p.braces(); err != nil {
			return 0, 0, err
		}
	default:
		return 1, 1, nil
	}
	p.copy(1)
	if p.at < len(p.in) && p.in[p.at] == '?' {
		p.copy(1)
	}
	if p.at < len(p.in) && strings.IndexByte("*+?{", p.in[p.at]) >= 0 {
		return 0, 0, fmt.Errorf("possessive and doubled quantifiers are not supported")
	}
	return low, high, nil
}

// braces reads {n}, {n,} or {n,m} up to the closing brace.
func (p *translator) braces() (low, high int, err error) {
	body, _, closed := strings.Cut(p.in[p.at+1:], "}")
	from, to, ranged := strings.Cut(body, ",")
	if !ranged {
		to = from
	}
	low, errLow := strconv.Atoi(from)
	high, errHigh := strconv.Atoi(to)
	if ranged && to == "" {
		high, errHigh = unbounded, nil
	}
	if !closed || errLow != nil || errHigh != nil || low < 0 || low > high || low > 1000 || high > 1000 && high != unbounded {
		return 0, 0, fmt.Errorf("quantifier {%.20s} must be {n}, {n,} or {n,m} with n ≤ m ≤ 1000", body)
	}
	p.copy(len(body) + 1)
	return low, high, nil
}

func (p *translator) copy(n int) {
	p.out.WriteString(p.in[p.at : p.at+n])
	p.at += n
}
