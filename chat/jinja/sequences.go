// Filters of sequences.

package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func list(r *render, v any, a arguments) (any, error) {
	if _, err := a.exactly(0); err != nil {
		return nil, err
	}
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

func items(r *render, v any, a arguments) (any, error) {
	if _, err := a.exactly(0); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Undefined:
		return &generator{}, nil
	case *Dict:
		return &generator{v.items()}, r.spendItems(len(v.keys))
	}
	return nil, errors.New("can only get item pairs from a mapping")
}

func first(r *render, v any, a arguments) (any, error) {
	return r.end(v, a, func(int) int { return 0 })
}

func last(r *render, v any, a arguments) (any, error) {
	if _, ok := v.(*generator); ok {
		return nil, errors.New("'generator' object is not reversible")
	}
	return r.end(v, a, func(n int) int { return n - 1 })
}

func (r *render) end(v any, a arguments, at func(n int) int) (any, error) {
	if _, err := a.exactly(0); err != nil {
		return nil, err
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return Undefined{what: "no item: the sequence was empty"}, nil
	}
	return items[at(len(items))], nil
}

func reverse(r *render, v any, a arguments) (any, error) {
	if _, err := a.exactly(0); err != nil {
		return nil, err
	}
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

// keyed is an item with what it is sorted by.
type keyed struct {
	item any
	keys []any
}

// keyedItems are the items of v with an attribute, or several with commas, in lower case unless case matters.
func (r *render) keyedItems(v, attribute any, sensitive bool) ([]keyed, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	out := make([]keyed, len(items))
	for i, item := range items {
		out[i] = keyed{item, []any{item}}
		if given(attribute) && attribute != nil {
			if out[i].keys, err = r.paths(item, attribute); err != nil {
				return nil, err
			}
		}
		for j, key := range out[i].keys {
			if out[i].keys[j], err = r.caseless(key, sensitive); err != nil {
				return nil, err
			}
		}
	}
	return out, r.spendItems(2 * len(out))
}

func (r *render) caseless(v any, sensitive bool) (any, error) {
	s, ok := text(v)
	if !ok || sensitive {
		return v, nil
	}
	out, err := lower(s)
	return out, errors.Join(err, r.spendBytes(len(s)))
}

func (r *render) paths(item, attribute any) (keys []any, err error) {
	parts := []any{attribute}
	if names, ok := text(attribute); ok {
		parts = nil
		for name := range strings.SplitSeq(names, ",") {
			parts = append(parts, name)
		}
	}
	for _, part := range parts {
		key, err := r.path(item, part, absent{})
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sorted sorts in place, stable in both directions.
func (r *render) sorted(all []keyed, backwards bool) error {
	var failed error
	slices.SortStableFunc(all, func(x, y keyed) int {
		order := r.orderLists(x.keys, y.keys, &failed)
		if order == unordered {
			order = 0
		}
		if backwards {
			return -order
		}
		return order
	})
	return failed
}

func itemsOf(all []keyed) []any {
	out := make([]any, len(all))
	for i := range all {
		out[i] = all[i].item
	}
	return out
}

func sort(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := r.keyedItems(v, p[2], given(p[1]) && truth(p[1]))
	if err != nil {
		return nil, err
	}
	if err := r.sorted(all, given(p[0]) && truth(p[0])); err != nil {
		return nil, err
	}
	return NewList(itemsOf(all)), nil
}

func dictsort(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, fmt.Errorf("%q object has no attribute \"items\"", kind(v))
	}
	by := "0"
	if given(p[1]) && p[1] != "key" {
		if by = "1"; p[1] != "value" {
			return nil, errors.New("you can only sort by either \"key\" or \"value\"")
		}
	}
	all, err := r.keyedItems(NewList(d.items()), by, given(p[0]) && truth(p[0]))
	if err != nil {
		return nil, err
	}
	if err := r.sorted(all, given(p[2]) && truth(p[2])); err != nil {
		return nil, err
	}
	return NewList(itemsOf(all)), nil
}

func unique(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := r.keyedItems(v, p[1], given(p[0]) && truth(p[0]))
	if err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	var out []any
	for _, k := range all {
		hash, err := r.hash(k.keys[0])
		if err != nil {
			return nil, err
		}
		if !seen[hash] {
			seen[hash] = true
			out = append(out, k.item)
		}
	}
	return &generator{out}, nil
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

// extremum is min (-1) and max (1): the first of those that are it.
func extremum(direction int) filterFunc {
	return func(r *render, v any, a arguments) (any, error) {
		p, err := a.bind("case_sensitive", "attribute")
		if err != nil {
			return nil, err
		}
		all, err := r.keyedItems(v, p[1], given(p[0]) && truth(p[0]))
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return Undefined{what: "no item: the sequence was empty"}, nil
		}
		best := all[0]
		for _, k := range all[1:] {
			var failed error
			order := r.order(k.keys[0], best.keys[0], &failed)
			if failed != nil {
				return nil, failed
			}
			if order != unordered && order*direction > 0 {
				best = k
			}
		}
		return best.item, nil
	}
}

// mapFilter is map(attribute=…, default=…) and map(filter, …).
func mapFilter(r *render, v any, a arguments) (any, error) {
	if !truth(v) {
		return &generator{}, nil
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	one, err := r.mapping(a)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	for i, item := range items {
		if out[i], err = one(item); err != nil {
			return nil, err
		}
	}
	return &generator{out}, r.spendItems(2 * len(out))
}

func (r *render) mapping(a arguments) (func(any) (any, error), error) {
	if len(a.values) == 0 {
		attribute, ok := a.take("attribute")
		if !ok {
			return nil, errors.New("map requires a filter argument")
		}
		otherwise, ok := a.take("default")
		if !ok {
			otherwise = absent{}
		}
		if len(a.named) > 0 {
			return nil, fmt.Errorf("unexpected keyword argument %q", a.named[0].name)
		}
		return func(v any) (any, error) { return r.path(v, attribute, otherwise) }, nil
	}
	name, ok := text(a.values[0])
	if !ok {
		return nil, errors.New("map requires the name of a filter")
	}
	rest := arguments{a.values[1:], a.named}
	return func(v any) (any, error) { return r.apply(name, v, rest) }, nil
}

// selecting makes select, reject, selectattr and rejectattr.
func selecting(byAttribute, keep bool) filterFunc {
	return func(r *render, v any, a arguments) (any, error) {
		if !truth(v) {
			return &generator{}, nil
		}
		items, err := r.iterate(v)
		if err != nil {
			return nil, err
		}
		attribute := any(absent{})
		if byAttribute {
			if len(a.values) == 0 {
				return nil, errors.New("missing parameter for attribute name")
			}
			attribute, a.values = a.values[0], a.values[1:]
		}
		var out []any
		for _, item := range items {
			passed, err := r.passes(item, attribute, a)
			if err != nil {
				return nil, err
			}
			if passed == keep {
				out = append(out, item)
			}
		}
		return &generator{out}, r.spendItems(len(items))
	}
}

// passes applies the test that the arguments name, or truth where they name none.
func (r *render) passes(v, attribute any, a arguments) (bool, error) {
	if given(attribute) {
		var err error
		if v, err = r.path(v, attribute, absent{}); err != nil {
			return false, err
		}
	}
	if len(a.values) == 0 {
		return truth(v), nil
	}
	name, ok := text(a.values[0])
	if !ok {
		return false, errors.New("the name of a test is a text")
	}
	return r.test(name, v, arguments{a.values[1:], a.named})
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
