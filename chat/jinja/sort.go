// Filters that order: sort, dictsort, unique, min, max.

package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// sorted is the list of the items in the order of their keys, stable in both directions.
func (r *render) sorted(all []keyed, backwards bool) (any, error) {
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
	items := make([]any, len(all))
	for i := range all {
		items[i] = all[i].item
	}
	return NewList(items), failed
}

func sort(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := r.keyedItems(v, p[2], isTrue(p[1]))
	if err != nil {
		return nil, err
	}
	return r.sorted(all, isTrue(p[0]))
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
	all, err := r.keyedItems(NewList(d.items()), by, isTrue(p[0]))
	if err != nil {
		return nil, err
	}
	return r.sorted(all, isTrue(p[2]))
}

func unique(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := r.keyedItems(v, p[1], isTrue(p[0]))
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

// extremum is min (-1) and max (1): the first of those that are it.
func extremum(direction int) method {
	return func(r *render, v any, a arguments) (any, error) {
		p, err := a.bind("case_sensitive", "attribute")
		if err != nil {
			return nil, err
		}
		all, err := r.keyedItems(v, p[1], isTrue(p[0]))
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
