// Added tokens: strings that become one id before anything else looks at the text. They are found with a byte trie,
// longest match first, so that a vocabulary with thousands of them costs one step per byte of ordinary text.

package tokenizer

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxAddedBytes = 512 // bounds the work per position of hostile vocabularies; real ones stay below 64

// control: see Tokenizer.IsControl.
func (a AddedToken) control() bool {
	if strings.TrimFunc(a.Content, unicode.IsSpace) == "" {
		return false
	}
	return a.Special || utf8.RuneCountInString(a.Content) > 1
}

// trie maps byte strings to indices of added tokens. The zero value is empty.
type trie struct {
	root  [256]int32 // first byte → node; 0 for none, as node 0 is the root itself
	nodes []trieNode
}

type trieNode struct {
	next  map[byte]int32
	token int32 // index of the added token that ends here, -1 for none
}

func (t *trie) add(key string, token int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, trieNode{token: -1})
	}
	at := int32(0)
	for i := range len(key) {
		child, ok := t.step(at, key[i])
		if !ok {
			child = int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{token: -1})
			t.link(at, key[i], child)
		}
		at = child
	}
	t.nodes[at].token = int32(token)
}

func (t *trie) step(at int32, b byte) (child int32, ok bool) {
	if at == 0 {
		return t.root[b], t.root[b] != 0
	}
	child, ok = t.nodes[at].next[b]
	return child, ok
}

func (t *trie) link(at int32, b byte, child int32) {
	if at == 0 {
		t.root[b] = child
		return
	}
	if t.nodes[at].next == nil {
		t.nodes[at].next = make(map[byte]int32)
	}
	t.nodes[at].next[b] = child
}

// longest returns the added token that is the longest prefix of text, and its length.
func (t *trie) longest(text string) (token, length int) {
	token = -1
	at := int32(0)
	for i := range len(text) {
		child, ok := t.step(at, text[i])
		if !ok {
			break
		}
		at = child
		if t.nodes[at].token >= 0 {
			token, length = int(t.nodes[at].token), i+1
		}
	}
	return token, length
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
		token, length := tr.longest(text[at:])
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

// wordRune is \w of the reference's regular expressions (Unicode TR18, Annex C).
func wordRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
