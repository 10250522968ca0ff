// Sets of characters: sorted ranges to compute with, a bitmap to ask.

package tokenizer

import (
	"slices"
	"unicode"
)

const (
	maxRune   = unicode.MaxRune
	planeSize = 1 << 16
)

// runeSet is sorted, disjoint closed ranges.
type runeSet [][2]rune

func (s runeSet) union(t runeSet) runeSet {
	all := slices.Concat(s, t)
	slices.SortFunc(all, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && out[n-1][1] >= r[0]-1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

func (s runeSet) complement() runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s {
		if next < r[0] {
			out = append(out, [2]rune{next, r[0] - 1})
		}
		next = r[1] + 1
	}
	if next <= maxRune {
		out = append(out, [2]rune{next, maxRune})
	}
	return out
}

func (s runeSet) intersection(t runeSet) runeSet {
	return s.complement().union(t.complement()).complement()
}

// tableSet is the set of a table of package unicode.
func tableSet(tables ...*unicode.RangeTable) runeSet {
	var out runeSet
	add := func(low, high, stride rune) {
		if stride == 1 {
			out = append(out, [2]rune{low, high})
			return
		}
		for r := low; r <= high; r += stride {
			out = append(out, [2]rune{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return out.union(nil)
}

// class is a set that is asked often.
type class struct {
	plane [planeSize / 64]uint64 // U+0000 … U+FFFF
	above runeSet
}

func newClass(s runeSet) *class {
	c := &class{}
	for _, r := range s {
		for x, end := r[0], min(r[1], planeSize-1); x <= end; x = x&^63 + 64 {
			bits := ^uint64(0) << (x & 63)
			if rest := end - x&^63; rest < 63 {
				bits &= 1<<(rest+1) - 1
			}
			c.plane[x>>6] |= bits
		}
		if r[1] >= planeSize {
			c.above = append(c.above, [2]rune{max(r[0], planeSize), r[1]})
		}
	}
	return c
}

func (c *class) has(r rune) bool {
	if uint32(r) < planeSize {
		return c.plane[uint32(r)>>6]>>(uint32(r)&63)&1 != 0
	}
	_, found := slices.BinarySearchFunc(c.above, r, func(at [2]rune, r rune) int {
		switch {
		case r < at[0]:
			return 1
		case r > at[1]:
			return -1
		}
		return 0
	})
	return found
}
