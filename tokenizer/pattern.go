// Regular expressions of tokenizer.json, as the reference's Oniguruma reads them. What means something else there, or is
// not understood, is refused by name: a silently different pattern would be a silently different tokenizer.
//
// Matching is linear in the text, whoever wrote the pattern: only single characters repeat without bound, each such
// repeat remembers from where it is known to fail (pattern.go has no captures, so a failure there is a failure for every
// way to arrive), and the other choices are counted when the pattern is read (patternparse.go).

package tokenizer

import (
	"unicode/utf8"
)

// regex is a compiled pattern, safe for concurrent use.
type regex struct {
	start   *node
	repeats int // unbounded ones; each has its own memory in a search
}

// node is one step of a pattern; next is nil where the pattern, or a look-ahead, is complete.
type node struct {
	next *node

	class      *class // a character, repeated low to high times
	low, high  int
	lazy       bool
	possessive bool
	memory     int // index of an unbounded repeat

	branches []*node // or: the first of these that matches; each leads on to what follows
	look     *node   // or: a look-ahead
	negative bool
}

// search is one pass over one text.
type search struct {
	text   string
	failed []span // [memory] closed range of places from where the repeat cannot go on to a match
}

// find calls yield with every match in s, leftmost first.
func (re *regex) find(s string, yield func(span)) {
	q := search{text: s}
	if re.repeats > 0 {
		q.failed = make([]span, re.repeats)
		for i := range q.failed {
			q.failed[i] = span{0, -1}
		}
	}
	for at := 0; at < len(s); {
		end := q.match(re.start, at)
		if end > at {
			yield(span{at, end})
			at = end
			continue
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
}

// match returns where the match of n and all that follows it ends, -1 for none.
func (q *search) match(n *node, at int) int {
	for ; n != nil; n = n.next {
		switch {
		case n.branches != nil:
			for _, b := range n.branches {
				if end := q.match(b, at); end >= 0 {
					return end
				}
			}
			return -1
		case n.look != nil:
			if q.match(n.look, at) >= 0 == n.negative {
				return -1
			}
		case n.low == 1 && n.high == 1:
			if at = q.step(n.class, at); at < 0 {
				return -1
			}
		default:
			return q.repeat(n, at)
		}
	}
	return at
}

// step returns the end of the character at at if it is in the class, -1 otherwise.
func (q *search) step(c *class, at int) int {
	if at >= len(q.text) {
		return -1
	}
	if b := q.text[at]; b < utf8.RuneSelf {
		if c.has(rune(b)) {
			return at + 1
		}
		return -1
	}
	if r, size := utf8.DecodeRuneInString(q.text[at:]); c.has(r) {
		return at + size
	}
	return -1
}

func (q *search) repeat(n *node, at int) int {
	for range n.low {
		if at = q.step(n.class, at); at < 0 {
			return -1
		}
	}
	if n.lazy {
		return q.repeatLazily(n, at)
	}
	from, end := at, at
	for count := n.low; count < n.high; count++ {
		if q.knows(n, end) {
			break
		}
		next := q.step(n.class, end)
		if next < 0 {
			break
		}
		end = next
	}
	for at = end; ; at = q.back(at) {
		if !q.knows(n, at) {
			if to := q.match(n.next, at); to >= 0 {
				if at < end {
					q.learn(n, span{at + 1, end})
				}
				return to
			}
		}
		if at == from || n.possessive {
			q.learn(n, span{from, end})
			return -1
		}
	}
}

func (q *search) repeatLazily(n *node, at int) int {
	from := at
	for count := n.low; ; count++ {
		if q.knows(n, at) {
			break
		}
		if to := q.match(n.next, at); to >= 0 {
			return to
		}
		next := -1
		if count < n.high {
			next = q.step(n.class, at)
		}
		if next < 0 {
			break
		}
		at = next
	}
	q.learn(n, span{from, at})
	return -1
}

// back is the start of the character that ends at at.
func (q *search) back(at int) int {
	for at--; !utf8.RuneStart(q.text[at]); at-- {
	}
	return at
}

// knows reports whether the repeat is known to fail from at on.
func (q *search) knows(n *node, at int) bool {
	return n.high == unbounded && q.failed[n.memory].from <= at && at <= q.failed[n.memory].to
}

// learn remembers failed places, joined with those known when they touch.
func (q *search) learn(n *node, s span) {
	if n.high != unbounded {
		return
	}
	if known := q.failed[n.memory]; known.from <= s.to+1 && s.from <= known.to+1 {
		s = span{min(s.from, known.from), max(s.to, known.to)}
	}
	q.failed[n.memory] = s
}
