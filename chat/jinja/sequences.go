// Filters of sequences.

package jinja

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

func list(r *render, v any) (any, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	return NewList(items), r.spendItems(len(items))
}

func join(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("d", "attribute")
	if err != nil {
		return nil, err
	}
	separator := ""
	if given(p[0]) {
		if separator, err = r.str(p[0]); err != nil {
			return nil, err
		}
	}
	items, err := r.attributes(v, p[1])
	if err != nil {
		return nil, err
	}
	for _, item := range append(items[:len(items):len(items)], p[0]) {
		if _, ok := item.(markup); ok {
			return nil, errors.New("joining text that is marked safe is not supported")
		}
	}
	return r.join(items, separator)
}

// attributes are the items of v, or an attribute of each.
func (r *render) attributes(v, attribute any) ([]any, error) {
	items, err := r.iterate(v)
	if err != nil || !given(attribute) || attribute == nil {
		return items, err
	}
	out := make([]any, len(items))
	for i, item := range items {
		if out[i], err = r.path(item, attribute, absent{}); err != nil {
			return nil, err
		}
	}
	return out, r.spendItems(len(out))
}

// path follows a.b.0 from an item. A part that is not there becomes otherwise, if that is given.
func (r *render) path(v, attribute, otherwise any) (any, error) {
	name, ok := text(attribute)
	if !ok {
		return r.item(v, attribute)
	}
	for part := range strings.SplitSeq(name, ".") {
		key := any(part)
		if part != "" && span(part, isDigit) == len(part) {
			i, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, err
			}
			key = i
		}
		next, err := r.item(v, key)
		if err != nil {
			return nil, err
		}
		if _, ok := next.(Undefined); ok && given(otherwise) && otherwise != nil {
			next = otherwise
		}
		v = next
	}
	return v, r.spend(unitsPerItem)
}

func items(r *render, v any) (any, error) {
	switch v := v.(type) {
	case Undefined:
		return &generator{}, nil
	case *Dict:
		return &generator{v.items()}, r.spendItems(len(v.keys))
	}
	return nil, errors.New("can only get item pairs from a mapping")
}

func first(r *render, v any) (any, error) {
	return r.end(v, func(int) int { return 0 })
}

func last(r *render, v any) (any, error) {
	if _, ok := v.(*generator); ok {
		return nil, errors.New("'generator' object is not reversible")
	}
	return r.end(v, func(n int) int { return n - 1 })
}

func (r *render) end(v any, at func(n int) int) (any, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return Undefined{what: "no item: the sequence was empty"}, nil
	}
	return items[at(len(items))], nil
}

func reverse(r *render, v any) (any, error) {
	if s, ok := v.(string); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes), r.spend(4 * len(s))
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, errors.New("argument must be iterable")
	}
	_, once := v.(*generator)
	items = slices.Clone(items)
	slices.Reverse(items)
	if once {
		return NewList(items), r.spendItems(len(items))
	}
	return &generator{items}, r.spendItems(len(items))
}

func sum(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("attribute", "start")
	if err != nil {
		return nil, err
	}
	items, err := r.attributes(v, p[0])
	if err != nil {
		return nil, err
	}
	total := p[1]
	if !given(total) {
		total = int64(0)
	}
	if isText(total) {
		return nil, errors.New("sum() can't sum strings")
	}
	for _, item := range items {
		if total, err = r.binary("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// batch cuts a sequence into lists of n.
func batch(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("linecount", "fill_with")
	if err != nil {
		return nil, err
	}
	n, ok := integer(p[0])
	if !ok || n < 1 || n > maxRange {
		return nil, errors.New("batch takes a number of items")
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	var out []any
	for part := range slices.Chunk(items, int(n)) {
		if int64(len(part)) < n && given(p[1]) && p[1] != nil {
			part = append(slices.Clone(part), slices.Repeat([]any{p[1]}, int(n)-len(part))...)
		}
		out = append(out, NewList(part))
	}
	return &generator{out}, r.spendItems(len(items) + int(n))
}
