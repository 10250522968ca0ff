// Reading a pattern. The grammar is what split patterns use: characters, classes (nested, intersected with &&), \p{…},
// groups, look-aheads, alternatives and quantifiers. A group repeats at most once ((…)?); a repeat of a character is
// unbounded or short; the ways to match are counted.

package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPatternBytes = 4096
	maxGroups       = 50   // inside each other
	maxWays         = 1000 // choices that backtracking may try besides those of unbounded repeats
	maxCount        = 64   // {n,m} counts up to here
	maxClasses      = 256  // characters and classes, each of which takes 8 kB
	unbounded       = 1 << 30
)

// term is a node of the syntax tree: alternatives of sequences of terms, or a repeated class, or a look-ahead.
type term struct {
	branches   [][]term
	class      *class
	low, high  int
	lazy       bool
	possessive bool
	look       [][]term
	negative   bool
}

type patternReader struct {
	in    string
	at    int
	all   *patterns
	depth int
	fold  bool // inside (?i: )
	look  bool // inside a look-ahead
}

// alternatives reads a | b | … up to ) or the end.
func (p *patternReader) alternatives() (branches [][]term, ways int, err error) {
	if p.depth++; p.depth > maxGroups {
		return nil, 0, fmt.Errorf("groups nested more than %d deep", maxGroups)
	}
	defer func() { p.depth-- }()
	branches = [][]term{{}}
	here := 1
	for p.at < len(p.in) && p.in[p.at] != ')' {
		last := len(branches) - 1
		if p.take("|") {
			branches, ways, here = append(branches, []term{}), ways+here, 1
			continue
		}
		t, w, err := p.term()
		if err != nil {
			return nil, 0, err
		}
		branches[last] = append(branches[last], t)
		if here *= w; here+ways > maxWays {
			return nil, 0, fmt.Errorf("more than %d ways to match are not supported", maxWays)
		}
	}
	return branches, ways + here, nil
}

// term reads one atom and the quantifier behind it, and counts the ways to match them.
func (p *patternReader) term() (t term, ways int, err error) {
	if p.all.classes++; p.all.classes > maxClasses {
		return t, 0, fmt.Errorf("more than %d characters and classes, in all patterns together", maxClasses)
	}
	if t, ways, err = p.atom(); err != nil {
		return t, 0, err
	}
	low, high, err := p.quantifier(&t)
	switch {
	case err != nil:
		return t, 0, err
	case low == 1 && high == 1:
		if t.class != nil {
			t.low, t.high = 1, 1
		}
		return t, ways, nil
	case t.look != nil:
		return t, 0, fmt.Errorf("repeating a look-ahead is not supported")
	case t.branches != nil && (low != 0 || high != 1 || t.lazy || t.possessive):
		return t, 0, fmt.Errorf("repeating a group is not supported (making it optional with ? is)")
	case t.branches != nil:
		t.branches = append(t.branches, []term{})
		return t, ways + 1, nil
	case high == unbounded && p.look:
		return t, 0, fmt.Errorf("a repeat without bound inside a look-ahead is not supported")
	}
	t.low, t.high = low, high
	if high == unbounded {
		return t, ways, nil
	}
	return t, ways * (high - low + 1), nil
}

// atom reads what a quantifier would apply to.
func (p *patternReader) atom() (term, int, error) {
	switch c := p.in[p.at]; c {
	case '(':
		return p.group()
	case '[':
		set, err := p.set()
		return term{class: newClass(set)}, 1, err
	case '\\':
		set, err := p.escape()
		return term{class: newClass(set)}, 1, err
	case '.':
		p.at++
		return term{class: newClass(runeSet{{'\n', '\n'}}.complement())}, 1, nil
	case '^', '$', '*', '+', '?', '{', '}', ']':
		return term{}, 0, fmt.Errorf("%q is not supported here", c)
	}
	r := p.rune()
	set, err := p.folded(runeSet{{r, r}})
	if err == nil && p.fold && p.at < len(p.in) && slices.Contains(foldPairs, strings.ToLower(string(r)+p.in[p.at:p.at+1])) {
		err = fmt.Errorf("%q under (?i: also matches a single character, which is not supported", string(r)+p.in[p.at:p.at+1])
	}
	return term{class: newClass(set)}, 1, err
}

// foldPairs are letters that also fold to one character, as ss does to ß.
var foldPairs = []string{"ff", "fi", "fl", "ss", "st"}

// group reads ( ), (?: ), (?i: ), (?! ) and (?= ).
func (p *patternReader) group() (t term, ways int, err error) {
	fold, outer, look := p.fold, p.look, false
	defer func() { p.fold, p.look = fold, outer }()
	switch {
	case p.take("(?:"):
	case p.take("(?i:"):
		p.fold = true
	case p.take("(?!"):
		look, t.negative = true, true
	case p.take("(?="):
		look = true
	case strings.HasPrefix(p.in[p.at:], "(?"):
		return t, 0, fmt.Errorf("group %q… is not supported ((?: (?i: (?! (?= are)", p.in[p.at:min(len(p.in), p.at+4)])
	default:
		p.at++
	}
	p.look = outer || look
	branches, ways, err := p.alternatives()
	if err != nil {
		return t, 0, err
	}
	if !p.take(")") {
		return t, 0, fmt.Errorf("missing )")
	}
	if look {
		t.look = branches
	} else {
		t.branches = branches
	}
	return t, ways, nil
}

// quantifier reads * + ? {n} {n,} {n,m}, each also lazy; * + ? also possessive; 1, 1 stands for none.
func (p *patternReader) quantifier(t *term) (low, high int, err error) {
	braces := false
	switch {
	case p.take("*"):
		low, high = 0, unbounded
	case p.take("+"):
		low, high = 1, unbounded
	case p.take("?"):
		low, high = 0, 1
	case strings.HasPrefix(p.in[p.at:], "{"):
		braces = true
		if low, high, err = p.braces(); err != nil {
			return 0, 0, err
		}
	default:
		return 1, 1, nil
	}
	exact := braces && low == high // {n}? is no lazy quantifier in Oniguruma
	switch {
	case !exact && p.take("?"):
		t.lazy = true
	case !braces && p.take("+"):
		t.possessive = true
	}
	if p.at < len(p.in) && strings.IndexByte("*+?{", p.in[p.at]) >= 0 {
		return 0, 0, fmt.Errorf("doubled quantifiers are not supported")
	}
	return low, high, nil
}

// braces reads {n}, {n,} or {n,m}.
func (p *patternReader) braces() (low, high int, err error) {
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
	if !closed || errLow != nil || errHigh != nil || low < 0 || low > high || low > maxCount || high > maxCount && high != unbounded {
		return 0, 0, fmt.Errorf("quantifier {%.20s} must be {n}, {n,} or {n,m} with n ≤ m ≤ %d", body, maxCount)
	}
	p.at += len(body) + 2
	return low, high, nil
}

// take skips what comes next if it is s.
func (p *patternReader) take(s string) bool {
	if !strings.HasPrefix(p.in[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *patternReader) rune() rune {
	r, size := utf8.DecodeRuneInString(p.in[p.at:])
	p.at += size
	return r
}
