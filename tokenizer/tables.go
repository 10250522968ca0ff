// Properties of characters as the reference sees them. Its parts follow different versions of Unicode; reference.go
// lists where they differ from Go's.

package tokenizer

import (
	"strconv"
	"strings"
	"unicode"
)

var (
	// \w of the pre-tokenizer Whitespace and of single_word.
	wordClass = adjusted(tableSet(unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control), wordLess, wordMore)
	// what Punctuation isolates: every ASCII sign that is no letter or digit, and category P.
	punctuationClass = adjusted(tableSet(unicode.P).union(asciiSigns()), punctuationLess, punctuationMore)
	// what StripAccents takes away.
	markClass = adjusted(tableSet(unicode.M), markLess, markMore)
	// what the normalization forms of the reference neither change, nor move, nor join to anything.
	inert = newClass(parseSet(inertList))
	// what is unassigned for patterns.
	newer = parseSet(newerThanPatterns)
)

func wordRune(r rune) bool    { return wordClass.has(r) }
func punctuation(r rune) bool { return punctuationClass.has(r) }

// category is \p{name} for a category of Unicode.
func category(name string) runeSet {
	set := tableSet(unicode.Categories[name]).intersection(newer.complement())
	lower := runeSet{{'ʕ', 'ʕ'}} // became Lo when Unicode 17 came
	switch name {
	case "Ll", "LC":
		return set.union(lower)
	case "Lo":
		return set.intersection(lower.complement())
	}
	return set
}

func adjusted(s runeSet, less, more string) *class {
	return newClass(s.intersection(parseSet(less).complement()).union(parseSet(more)))
}

func asciiSigns() runeSet {
	var out runeSet
	for _, r := range asciiPunctuation {
		out = append(out, [2]rune{r, r})
	}
	return out.union(nil)
}

// parseSet reads hexadecimal ranges.
func parseSet(s string) runeSet {
	var out runeSet
	for f := range strings.FieldsSeq(s) {
		from, to, ok := strings.Cut(f, "-")
		if !ok {
			to = from
		}
		low, _ := strconv.ParseInt(from, 16, 32)
		high, _ := strconv.ParseInt(to, 16, 32)
		out = append(out, [2]rune{rune(low), rune(high)})
	}
	return out
}
