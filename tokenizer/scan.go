// Scanners for the split patterns of the common model families, written out by hand. Each does what the engine in
// pattern.go does with the pattern beside it (TestScanners); they are only faster.

package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// The patterns; TrainPattern and gpt2Pattern are two more.
const (
	cl100kPattern   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200kPattern    = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekPattern = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// scannerOf returns the scanner of a pattern, nil for none.
func scannerOf(pattern string) matcher {
	next := map[string]func(scan, int) int{
		gpt2Pattern:     scan.gpt2,
		TrainPattern:    func(s scan, at int) int { return s.cl100k(at, 1) },
		cl100kPattern:   func(s scan, at int) int { return s.cl100k(at, 3) },
		o200kPattern:    scan.o200k,
		deepseekPattern: scan.deepseek,
	}[pattern]
	if next == nil {
		return nil
	}
	return func(s string, yield func(span)) {
		for at := 0; at < len(s); {
			end := next(scan(s), at)
			if end < 0 {
				_, end = scan(s).kind(at)
				at = end
				continue
			}
			yield(span{at, end})
			at = end
		}
	}
}

// scan is a text; its methods return where the match at a place ends, -1 for none.
type scan string

// Kinds of characters; a character has at most one.
const (
	upper  = 1 << iota // Lu, Lt
	lower              // Ll
	letter             // Lm, Lo
	mark
	number
	space
	sign // P, S

	letters = upper | lower | letter
)

var kindsLow, kindsHigh = characterKinds()

// kindRange is for characters beyond U+FFFF.
type kindRange struct {
	from, to rune
	kind     uint8
}

func characterKinds() (low *[planeSize]uint8, high []kindRange) {
	low = new([planeSize]uint8)
	for name, kind := range map[string]uint8{"Lu": upper, "Lt": upper, "Ll": lower, "Lm": letter, "Lo": letter, "M": mark, "N": number, "Z": space, "P": sign, "S": sign} {
		for _, r := range category(name) {
			for x := r[0]; x <= min(r[1], planeSize-1); x++ {
				low[x] = kind
			}
			if r[1] >= planeSize {
				high = append(high, kindRange{r[0], r[1], kind})
			}
		}
	}
	for _, r := range "\t\n\v\f\r\u0085" {
		low[r] = space
	}
	slices.SortFunc(high, func(a, b kindRange) int { return int(a.from - b.from) })
	return low, high
}

// kind is the kind of the character at at, and where it ends; 0 at the end of the text.
func (s scan) kind(at int) (kind uint8, end int) {
	if at >= len(s) {
		return 0, at
	}
	if c := s[at]; c < utf8.RuneSelf {
		return kindsLow[c], at + 1
	}
	r, size := utf8.DecodeRuneInString(string(s[at:]))
	if r < planeSize {
		return kindsLow[r], at + size
	}
	i, found := slices.BinarySearchFunc(kindsHigh, r, func(k kindRange, r rune) int {
		switch {
		case k.to < r:
			return -1
		case k.from > r:
			return 1
		}
		return 0
	})
	if !found {
		return 0, at + size
	}
	return kindsHigh[i].kind, at + size
}

// run is the end of a run of characters of some kinds.
func (s scan) run(at int, kinds uint8) int {
	for at < len(s) {
		kind, end := s.kind(at)
		if kind&kinds == 0 {
			break
		}
		at = end
	}
	return at
}

// others is the end of a run of [^\s\p{L}\p{N}].
func (s scan) others(at int) int {
	for at < len(s) {
		kind, end := s.kind(at)
		if kind&(letters|number|space) != 0 {
			break
		}
		at = end
	}
	return at
}

func (s scan) is(at int, c byte) bool { return at < len(s) && s[at] == c }

func (s scan) newline(at int) bool { return s.is(at, '\n') || s.is(at, '\r') }

// newlines is the end of a run of [\r\n], and of / too if slashes.
func (s scan) newlines(at int, slashes bool) int {
	for s.newline(at) || slashes && s.is(at, '/') {
		at++
	}
	return at
}

// contraction is 's 't 're 've 'm 'll 'd, with fold in any case and with ſ for s; -1 for none.
func (s scan) contraction(at int, fold bool) int {
	if !s.is(at, '\'') || at+1 >= len(s) {
		return -1
	}
	lowered := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if fold && s[i] >= 'A' && s[i] <= 'Z' {
			return s[i] + 'a' - 'A'
		}
		return s[i]
	}
	switch a, b := lowered(at+1), lowered(at+2); {
	case a == 's', a == 't', a == 'm', a == 'd':
		return at + 2
	case a == 'r' && b == 'e', a == 'v' && b == 'e', a == 'l' && b == 'l':
		return at + 3
	case fold && len(s) >= at+3 && s[at+1:at+3] == "ſ":
		return at + 3
	}
	return -1
}

// spaces is \s*[\r\n]+|\s+(?!\S)|\s+, the first part only with lines.
func (s scan) spaces(at int, lines bool) int {
	end, last, line := at, at, -1 // last: where the last space begins; line: behind the last line end
	for end < len(s) {
		kind, next := s.kind(end)
		if kind != space {
			break
		}
		if s.newline(end) {
			line = next
		}
		end, last = next, end
	}
	switch {
	case lines && line > 0:
		return line
	case end < len(s) && last > at:
		return last
	case end > at:
		return end
	}
	return -1
}

// gpt2 is gpt2Pattern.
func (s scan) gpt2(at int) int {
	if end := s.contraction(at, false); end > 0 {
		return end
	}
	from := at
	if s[at] == ' ' {
		from++
	}
	switch kind, end := s.kind(from); {
	case from == len(s):
	case kind&letters != 0:
		return s.run(end, letters)
	case kind == number:
		return s.run(end, number)
	case kind != space:
		return s.others(end)
	}
	return s.spaces(at, false)
}

// cl100k is cl100kPattern with \p{N}{1,digits}.
func (s scan) cl100k(at, digits int) int {
	if end := s.contraction(at, true); end > 0 {
		return end
	}
	kind, end := s.kind(at)
	switch {
	case kind&letters != 0:
		return s.run(end, letters)
	case kind == number:
		return s.digits(at, digits)
	}
	if !s.newline(at) {
		if next, after := s.kind(end); next&letters != 0 {
			return s.run(after, letters)
		}
	}
	if end := s.signs(at, false); end > 0 {
		return end
	}
	return s.spaces(at, true)
}

func (s scan) digits(at, most int) int {
	for range most {
		kind, end := s.kind(at)
		if kind != number {
			break
		}
		at = end
	}
	return at
}

// signs is ' ?[^\s\p{L}\p{N}]+[\r\n]*', the last part with / if slashes.
func (s scan) signs(at int, slashes bool) int {
	from := at
	if s[at] == ' ' {
		from++
	}
	end := s.others(from)
	if end == from {
		return -1
	}
	return s.newlines(end, slashes)
}

// o200k is o200kPattern.
func (s scan) o200k(at int) int {
	kind, end := s.kind(at)
	before := kind&(letters|number) == 0 && !s.newline(at) // it may stand before a word
	for _, word := range []func(scan, int) int{scan.mixed, scan.capitals} {
		if before {
			if to := word(s, end); to > 0 {
				return s.withContraction(to)
			}
		}
		if to := word(s, at); to > 0 {
			return s.withContraction(to)
		}
	}
	if kind == number {
		return s.digits(at, 3)
	}
	if end := s.signs(at, true); end > 0 {
		return end
	}
	return s.spaces(at, true)
}

func (s scan) withContraction(at int) int {
	if end := s.contraction(at, true); end > 0 {
		return end
	}
	return at
}

// mixed is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+. The first part gives back what the second needs:
// the last of its characters that can be in both.
func (s scan) mixed(at int) int {
	both := -1 // behind the last character of the first part that can be in the second
	for at < len(s) {
		kind, end := s.kind(at)
		if kind&(upper|letter|mark) == 0 {
			break
		}
		if kind != upper {
			both = end
		}
		at = end
	}
	if end := s.run(at, lower|letter|mark); end > at {
		return end
	}
	return both
}

// capitals is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+, where mixed has found nothing.
func (s scan) capitals(at int) int {
	if end := s.run(at, upper|letter|mark); end > at {
		return end
	}
	return -1
}

// deepseek is deepseekPattern.
func (s scan) deepseek(at int) int {
	kind, end := s.kind(at)
	if c := s[at]; c < utf8.RuneSelf && kind == sign {
		if to := s.ascii(end); to > end {
			return to
		}
	}
	if kind&(letters|sign) == 0 && !s.newline(at) {
		if to := s.run(end, letters|mark); to > end {
			return to
		}
	}
	if kind&(letters|mark) != 0 {
		return s.run(end, letters|mark)
	}
	from := at
	if s[at] == ' ' {
		from++
	}
	if to := s.run(from, sign); to > from {
		return s.newlines(to, false)
	}
	if kind == space {
		return s.spaces(at, true)
	}
	return -1
}

// ascii is the end of a run of [A-Za-z].
func (s scan) ascii(at int) int {
	for at < len(s) && (s[at]|0x20) >= 'a' && (s[at]|0x20) <= 'z' {
		at++
	}
	return at
}
