// Filters that map and select.

package jinja

import (
	"errors"
	"fmt"
)

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
func selecting(byAttribute, keep bool) method {
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
