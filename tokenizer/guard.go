// What text from outside must not spell. A control token is found in the text as it was written, or in what the
// normalizer makes of it, or is spelled by BPE itself; so a guard reads text as all of these do. Where a normalizer can
// turn several spellings into one, the guard folds them together: a fold may find too much, never too little.

package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Guard finds control strings in text from outside. It is safe for concurrent use.
type Guard struct {
	exact  spellings
	folded spellings // of tokens that normalized text can spell
	fold   folding
}

// Found is a stretch of bytes that must be encoded as ordinary text (Part.Ordinary).
type Found struct {
	From, To int
	Whole    bool // it spells a control token; otherwise it only could together with the text around it
}

// NewGuard makes a guard against all control tokens (IsControl), or against the special ones alone.
func (t *Tokenizer) NewGuard(onlySpecial bool) *Guard {
	g := &Guard{fold: t.fold}
	for _, a := range t.added {
		if !a.control() || onlySpecial && !a.Special {
			continue
		}
		g.exact.add(a.Content)
		if t.foldable(a) {
			g.folded.add(g.fold.text(a.Content))
		}
	}
	return g
}

// foldable: normalized text can become the token, in the trie or by a merge.
func (t *Tokenizer) foldable(a AddedToken) bool {
	return len(t.normalize) > 0 && (a.Normalized || int(a.ID) < len(t.model.control))
}

// Find returns the stretches of text, in order and without overlap.
func (g *Guard) Find(text string) []Found {
	found := g.exact.find(text)
	if len(g.folded.tokens) == 0 {
		return found
	}
	fold, origin := g.fold.aligned(text)
	for _, f := range g.folded.find(fold) {
		found = append(found, Found{origin[f.From].from, origin[f.To-1].to, f.Whole})
	}
	return merged(found)
}

// Within reports whether a piece of text can stand inside a spelling of token.
func (g *Guard) Within(token, piece string) bool {
	return strings.Contains(token, piece) || len(g.folded.tokens) > 0 && strings.Contains(g.fold.text(token), g.fold.text(piece))
}

// merged joins stretches that overlap.
func merged(found []Found) []Found {
	slices.SortStableFunc(found, func(a, b Found) int { return a.From - b.From })
	out := found[:0]
	for _, f := range found {
		if n := len(out); n > 0 && out[n-1].To > f.From {
			out[n-1].To, out[n-1].Whole = max(out[n-1].To, f.To), out[n-1].Whole || f.Whole
			continue
		}
		out = append(out, f)
	}
	return out
}

// spellings is a set of strings, ready to be found whole, and in part at the ends of a text.
type spellings struct {
	tree, back trie // back holds them backwards
	tokens     []string
	longest    int
}

func (s *spellings) add(token string) {
	s.tree.add(token, len(s.tokens))
	s.back.add(reversed(token), len(s.tokens))
	s.tokens = append(s.tokens, token)
	s.longest = max(s.longest, len(token))
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func (s *spellings) find(text string) []Found {
	if len(s.tokens) == 0 || text == "" {
		return nil
	}
	var out []Found
	at := s.tail(text)
	if at > 0 {
		out = append(out, Found{0, at, false})
	}
	for at < len(text) {
		token, length, open := s.tree.walk(text[at:])
		switch {
		case token >= 0:
			out = append(out, Found{at, at + length, true})
			at += length
		case open: // the text ends inside a spelling
			return append(out, Found{at, len(text), false})
		default:
			at++
		}
	}
	return out
}

// tail is the length of what text before it could complete: the end of a token, or all of text if it lies within one. A
// bare word is let through, since templates compare words ("object", "tool_call"): who writes it between brackets finds it by
// Within.
func (s *spellings) tail(text string) int {
	start := reversed(text[:min(len(text), s.longest-1)])
	for from := range start {
		n := len(start) - from
		if _, _, open := s.back.walk(start[from:]); open && !bareWord(text[:n]) {
			return n
		}
	}
	if len(text) > s.longest-2 || bareWord(text) {
		return 0
	}
	for _, t := range s.tokens {
		if strings.Index(t, text) > 0 {
			return len(text)
		}
	}
	return 0
}

func bareWord(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) }) == ""
}

// folding maps characters so that normalizing a text does not change its fold, whatever stands around it.
type folding struct {
	decompose []normalizer // each on one character
	same      map[rune]rune
	drop      map[rune]bool
	marks     bool // combining marks are dropped: they may move and merge
	ascii     [utf8.RuneSelf]string
}

func (f *folding) settle() {
	for r := range f.ascii {
		f.ascii[r] = f.slow(rune(r))
	}
}

func (f *folding) rune(r rune) string {
	if r < utf8.RuneSelf {
		return f.ascii[r]
	}
	return f.slow(r)
}

func (f *folding) slow(r rune) string {
	var out strings.Builder
	for _, r := range f.simple(r) {
		if to, ok := f.same[r]; ok {
			r = to
		}
		if !f.drop[r] {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// simple decomposes until nothing changes: a letter that lowercase gave may decompose further.
func (f *folding) simple(r rune) string {
	s := string(r)
	for range 4 {
		before := s
		for _, n := range f.decompose {
			s = n.text(s)
		}
		if f.marks {
			s = eachRune(anyMark).text(s)
		}
		if s == before {
			break
		}
	}
	return s
}

// anyMark drops marks of every version of Unicode.
func anyMark(r rune) (string, bool) { return "", unicode.Is(unicode.M, r) || markClass.has(r) }

func (f *folding) text(s string) string {
	out, _ := f.aligned(s)
	return out
}

// aligned returns the fold of s, and for each of its bytes the character of s that it comes from.
func (f *folding) aligned(s string) (string, []span) {
	var out strings.Builder
	origin := make([]span, 0, len(s))
	for at, r := range s {
		to := f.rune(r)
		out.WriteString(to)
		for range len(to) {
			origin = append(origin, span{at, at + utf8.RuneLen(r)})
		}
	}
	return out.String(), origin
}
