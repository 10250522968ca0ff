// From a pattern to what matches it: read (patternparse.go), then linked to the nodes of pattern.go.

package tokenizer

import (
	"fmt"
	"slices"
)

// patterns reads all patterns of a tokenizer, which share what one of them may cost.
type patterns struct {
	ways    int // of those that were read
	classes int
	known   map[string]runeSet // properties by name
}

// compile reads a pattern. The common ones have a scanner of their own (scan.go).
func (all *patterns) compile(pattern string) (matcher, error) {
	if scan := scannerOf(pattern); scan != nil {
		return scan, nil
	}
	re, err := all.parse(pattern)
	if err != nil {
		return nil, err
	}
	return re.find, nil
}

func (all *patterns) parse(pattern string) (*regex, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("regular expression of %d bytes; at most %d", len(pattern), maxPatternBytes)
	}
	p := patternReader{in: pattern, all: all}
	branches, ways, err := p.alternatives()
	all.ways += ways
	switch {
	case err == nil && p.at < len(p.in):
		err = fmt.Errorf("unmatched )")
	case err == nil && all.ways > maxWays:
		err = fmt.Errorf("more than %d ways to match are not supported, in all patterns together", maxWays)
	case err == nil && canBeEmpty(branches):
		err = fmt.Errorf("a pattern that matches nothing at all is not supported")
	}
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: at byte %d: %w", pattern, p.at, err)
	}
	re := &regex{}
	re.start = re.link([]term{{branches: branches}}, nil)
	return re, nil
}

// link makes nodes of a sequence, ending in next.
func (re *regex) link(terms []term, next *node) *node {
	for _, t := range slices.Backward(terms) {
		n := &node{next: next, class: t.class, low: t.low, high: t.high, lazy: t.lazy, possessive: t.possessive, negative: t.negative}
		switch {
		case t.look != nil:
			n.look = re.link([]term{{branches: t.look}}, nil)
		case t.branches != nil:
			for _, b := range t.branches {
				first := re.link(b, next)
				if first == nil { // an empty way at the very end of the pattern
					first = &node{class: anything, low: 0, high: 0}
				}
				n.branches = append(n.branches, first)
			}
		case t.high == unbounded:
			n.memory = re.repeats
			re.repeats++
		}
		next = n
	}
	return next
}

var anything = newClass(runeSet{{0, maxRune}})

func canBeEmpty(branches [][]term) bool {
	return slices.ContainsFunc(branches, func(terms []term) bool {
		return !slices.ContainsFunc(terms, func(t term) bool {
			return t.class != nil && t.low > 0 || t.branches != nil && !canBeEmpty(t.branches)
		})
	})
}
