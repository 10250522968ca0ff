// Methods of lists and mappings.

package jinja

import (
	"errors"
	"fmt"
)

var listMethods = map[string]method{
	"index": func(r *render, v any, a arguments) (any, error) {
		p, err := a.exactly(1)
		if err != nil {
			return nil, err
		}
		for i, item := range v.(*List).items {
			if same, err := r.equal(item, p[0]); err != nil || same {
				return int64(i), err
			}
		}
		return nil, errors.New("the item is not in the list")
	},
	"count": func(r *render, v any, a arguments) (any, error) {
		p, err := a.exactly(1)
		if err != nil {
			return nil, err
		}
		n := int64(0)
		for _, item := range v.(*List).items {
			same, err := r.equal(item, p[0])
			if err != nil {
				return nil, err
			}
			if same {
				n++
			}
		}
		return n, nil
	},
	"copy": func(_ *render, v any, a arguments) (any, error) {
		_, err := a.exactly(0)
		if l := v.(*List); l.form != isList {
			return nil, fmt.Errorf("%q object has no attribute \"copy\"", kind(v))
		}
		return v, err
	},
}

var dictMethods = map[string]method{
	"get": func(r *render, v any, a arguments) (any, error) {
		if len(a.named) > 0 || len(a.values) < 1 || len(a.values) > 2 {
			return nil, errors.New("get takes a key and perhaps a default")
		}
		hash, err := r.hash(a.values[0])
		if err != nil {
			return nil, err
		}
		d := v.(*Dict)
		if i, ok := d.index[hash]; ok {
			return d.values[i], nil
		}
		if len(a.values) == 2 {
			return a.values[1], nil
		}
		return nil, nil
	},
	"keys":   func(r *render, v any, a arguments) (any, error) { return r.view(v.(*Dict).keys, a) },
	"values": func(r *render, v any, a arguments) (any, error) { return r.view(v.(*Dict).values, a) },
	"items":  func(r *render, v any, a arguments) (any, error) { return r.view(v.(*Dict).items(), a) },
	"copy": func(_ *render, v any, a arguments) (any, error) {
		_, err := a.exactly(0)
		return v, err
	},
	"fromkeys": func(*render, any, arguments) (any, error) { return nil, errors.New("fromkeys is not supported") },
}

func (r *render) view(items []any, a arguments) (any, error) {
	if _, err := a.exactly(0); err != nil {
		return nil, err
	}
	return &List{items, isView}, r.spendItems(len(items))
}

// exactly wants n arguments without names.
func (a arguments) exactly(n int) ([]any, error) {
	if len(a.values) != n || len(a.named) > 0 {
		return nil, fmt.Errorf("%d arguments; want %d", len(a.values)+len(a.named), n)
	}
	return a.values, nil
}
