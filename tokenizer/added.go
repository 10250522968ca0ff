// Added tokens: strings that become one id before anything else looks at the text. They are found with a byte trie,
// longest match first, so that a vocabulary with thousands of them costs one step per byte of ordinary text.

package tokenizer

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxAddedBytes = 512 // bounds the work per position of hostile vocabularies; real ones stay below 64

// control: see Tokenizer.IsControl.
func (a AddedToken) control() bool {
	if strings.TrimFunc(a.Content, func(r rune) bool { return unicode.IsSpace(r) || r == '▁' }) == "" {
		return false
	}
	return a.Special || utf8.RuneCountInString(a.Content) > 1 && !htmlTag(a.Content)
}

// htmlTag recognizes <b> and </b>: some vocabularies hold HTML as ordinary text in whole tokens.
func htmlTag(s string) bool {
	name, ok := strings.CutPrefix(s, "<")
	name, closed := strings.CutSuffix(strings.TrimPrefix(name, "/"), ">")
	return ok && closed && slices.Contains(htmlNames, name)
}

var htmlNames = strings.Fields("a b blockquote body br caption code dd div dl dt em h1 h2 h3 h4 h5 h6 head hr html i img kbd li ol p pre " +
	"samp small span strike strong sub sup table tbody td tfoot th thead title tr tt u ul var")

// trie maps byte strings to indices of added tokens. The zero value is empty.
type trie struct {
	root  [256]int32 // first byte → node; 0 for none
	nodes []trieNode // [0] is unused
}

type trieNode struct {
	token          int32 // index of the added token that ends here, -1 for none
	child, sibling int32 // 0 for none
	label          byte
}

func (t *trie) add(key string, token int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, trieNode{})
	}
	at := int32(0)
	for i := range len(key) {
		next := t.step(at, key[i])
		if next == 0 {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{token: -1, label: key[i]})
			if at == 0 {
				t.root[key[i]] = next
			} else {
				t.nodes[next].sibling, t.nodes[at].child = t.nodes[at].child, next
			}
		}
		at = next
	}
	t.nodes[at].token = int32(token)
}

// step is the node behind at along b, 0 for none; at 0 is the start.
func (t *trie) step(at int32, b byte) int32 {
	if at == 0 {
		return t.root[b]
	}
	next := t.nodes[at].child
	for next != 0 && t.nodes[next].label != b {
		next = t.nodes[next].sibling
	}
	return next
}

// walk returns the added token that is the longest prefix of text, and its length. Open says that the text ended where
// more of it could have been a longer one.
func (t *trie) walk(text string) (token, length int, open bool) {
	token = -1
	at := int32(0)
	for i := range len(text) {
		if at = t.step(at, text[i]); at == 0 {
			return token, length, false
		}
		if t.nodes[at].token >= 0 {
			token, length = int(t.nodes[at].token), i+1
		}
	}
	return token, length, at != 0 && t.nodes[at].child != 0
}

// span is a half-open range of bytes.
type span struct{ from, to int }

// stretch is a part of a text: an added token, or (token < 0) text for the next stage.
type stretch struct {
	span
	token int
}

// cut divides text at the added tokens in the trie. Matches that touch a byte of ordinary are no matches.
// ordinary is sorted and disjoint.
func (t *Tokenizer) cut(tr *trie, text string, ordinary []span) []stretch {
	if len(tr.nodes) == 0 || len(text) == 0 {
		return []stretch{{span{0, len(text)}, -1}}
	}
	var out []stretch
	done := 0 // everything before it is in out
	for at := 0; at < len(text); {
		token, length, _ := tr.walk(text[at:])
		if token < 0 || touches(ordinary, span{at, at + length}) {
			at++
			continue
		}
		match := span{at, at + length}
		at = match.to
		a := t.added[token]
		if a.SingleWord && !standsAlone(text, match) {
			continue
		}
		if a.LStrip {
			match.from = max(done, len(strings.TrimRightFunc(text[:match.from], unicode.IsSpace)))
		}
		if a.RStrip {
			rest := strings.TrimLeftFunc(text[match.to:], unicode.IsSpace)
			match.to = len(text) - len(rest)
		}
		if done < match.from {
			out = append(out, stretch{span{done, match.from}, -1})
		}
		out = append(out, stretch{match, token})
		done = match.to
	}
	if done < len(text) {
		out = append(out, stretch{span{done, len(text)}, -1})
	}
	return out
}

// touches reports whether s overlaps any of the sorted spans.
func touches(spans []span, s span) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > s.from })
	return i < len(spans) && spans[i].from < s.to
}

func standsAlone(text string, match span) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:match.from])
	after, _ := utf8.DecodeRuneInString(text[match.to:])
	return (match.from == 0 || !wordRune(before)) && (match.to == len(text) || !wordRune(after))
}
