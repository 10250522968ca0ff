// Grammars of whole replies, put together from parts: fixed text, choices, repetitions, values of a schema, free text.
//
// A part is made back to front: it is told the node at which what follows begins, and gives the node at which it begins.

package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// Pattern is a part of a reply.
type Pattern func(b *builder, next int32) (int32, error)

// Build makes the grammar of a reply that is one pattern.
func Build(p Pattern) (*Grammar, error) {
	b := newBuilder()
	start, err := p(b, b.add(node{kind: leaves}))
	if err == nil {
		b.Grammar.root = int32(len(b.rules))
		b.rules, b.needs = append(b.rules, rule{start: start}), append(b.needs, need{})
		err = b.settle()
	}
	if err == nil {
		err = b.full()
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	return &b.Grammar, nil
}

// Text is exactly these bytes. Control tokens are spelt by Control.
func Text(s string) Pattern {
	return func(b *builder, next int32) (int32, error) { return b.text(s, next), b.full() }
}

// Sequence is one part behind the other; none of them is nothing.
func Sequence(parts ...Pattern) Pattern {
	return func(b *builder, next int32) (int32, error) {
		for _, p := range slices.Backward(parts) {
			var err error
			if next, err = p(b, next); err != nil {
				return 0, err
			}
		}
		return next, nil
	}
}

// Either is one of the parts.
func Either(parts ...Pattern) Pattern {
	return func(b *builder, next int32) (int32, error) {
		fork := b.fork()
		for _, p := range parts {
			at, err := p(b, next)
			if err != nil {
				return 0, err
			}
			b.nodes[fork].also = append(b.nodes[fork].also, at)
		}
		return fork, nil
	}
}

// Optional is a part or nothing.
func Optional(p Pattern) Pattern { return Either(p, Sequence()) }

// Repeat is a part once or more, with another between two of them.
func Repeat(p, between Pattern) Pattern {
	return func(b *builder, next int32) (int32, error) {
		behind := b.fork()
		first, err := p(b, behind)
		if err != nil {
			return 0, err
		}
		further, err := between(b, first)
		b.link(behind, next, further)
		return first, err
	}
}

// Word is a text and what follows it.
type Word struct {
	Text string
	Then Pattern
}

// Words is one of the words, which differ. However many there are, a state among them is no larger for it.
func Words(words ...Word) Pattern {
	return func(b *builder, next int32) (int32, error) {
		sorted := slices.SortedFunc(slices.Values(words), func(a, b Word) int { return strings.Compare(a.Text, b.Text) })
		return b.words(sorted, 0, next)
	}
}

// words reads one of some sorted words that are the same up to byte at.
func (b *builder) words(words []Word, at int, next int32) (int32, error) {
	ends := int32(-1)
	if len(words) > 0 && len(words[0].Text) == at {
		var err error
		if ends, err = words[0].Then(b, next); err != nil {
			return 0, err
		}
		words = words[1:]
	}
	var edges []edge
	for len(words) > 0 {
		c, n := words[0].Text[at], 1
		for n < len(words) && words[n].Text[at] == c {
			n++
		}
		to, err := b.words(words[:n], at+1, next)
		if err != nil {
			return 0, err
		}
		edges = append(edges, edge{c, c, to})
		words = words[n:]
	}
	switch {
	case ends < 0:
		return b.read(edges...), b.full()
	case edges == nil:
		return ends, nil
	}
	return b.fork(ends, b.read(edges...)), b.full()
}

// Value is a JSON value of a schema; nil is any object. loose is for a schema that nobody relies on: what of it is not
// understood restricts nothing, and any object stands in place of one that cannot be kept at all.
func Value(schema []byte, loose bool) Pattern { return valued(schema, loose, false, objectRule) }

// Tame is a Value that stands between tags: it holds no <.
func Tame(schema []byte, loose bool) Pattern { return valued(schema, loose, true, tameObject) }

func valued(schema []byte, loose, tame bool, object int32) Pattern {
	return func(b *builder, next int32) (int32, error) {
		if schema == nil {
			return b.call(object, next), nil
		}
		r, err := b.value(schema, loose, tame)
		if loose && (err != nil || r == anyRule || r == tameAny) {
			r, err = object, nil
		}
		return b.call(r, next), err
	}
}
