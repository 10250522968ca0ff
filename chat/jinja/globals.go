// Global functions.

package jinja

import (
	"errors"
	"fmt"
)

// globals are what every template sees. Whoever renders adds strftime_now.
var globals = &scope{given: map[string]any{
	"range":           &Function{"range", numbers},
	"dict":            &Function{"dict", dict},
	"namespace":       &Function{"namespace", makeNamespace},
	"joiner":          &Function{"joiner", joiner},
	"cycler":          &Function{"cycler", cycler},
	"raise_exception": &Function{"raise_exception", raise},
}}

func raise(_ *render, a arguments) (any, error) {
	p, err := a.bind("message")
	if err != nil {
		return nil, err
	}
	if s, ok := text(p[0]); ok {
		return nil, errors.New(s)
	}
	return nil, errors.New("the template raises an exception")
}

func numbers(r *render, a arguments) (any, error) {
	bounds := [3]int64{0, 0, 1} // from, to, step
	if len(a.values) < 1 || len(a.values) > 3 || len(a.named) > 0 {
		return nil, fmt.Errorf("range: %d arguments; want 1 to 3", len(a.values)+len(a.named))
	}
	for i, arg := range a.values {
		n, ok := integer(arg)
		if !ok {
			return nil, fmt.Errorf("range: %q object cannot be interpreted as an integer", kind(arg))
		}
		if len(a.values) == 1 {
			i = 1
		}
		bounds[i] = n
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("range: a step of 0")
	}
	n := uint64(0)
	switch {
	case step > 0 && from < to:
		n = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		n = (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	if n > maxRange {
		return nil, fmt.Errorf("range: more than %d numbers", maxRange)
	}
	if err := r.spendItems(int(n)); err != nil {
		return nil, err
	}
	items := make([]any, n)
	for i := range items {
		items[i] = from + int64(i)*step
	}
	return &List{items, isRange}, nil
}

// dict takes a mapping or pairs, and names.
func dict(r *render, a arguments) (any, error) {
	d := NewDict(len(a.named))
	if len(a.values) > 1 {
		return nil, fmt.Errorf("dict expected at most 1 argument, got %d", len(a.values))
	}
	if len(a.values) == 1 {
		if err := r.fill(d, a.values[0]); err != nil {
			return nil, err
		}
	}
	for _, n := range a.named {
		d.Set(n.name, n.value)
	}
	return d, r.spendItems(2 * len(d.keys))
}

func (r *render) fill(d *Dict, v any) error {
	switch from := v.(type) {
	case *Dict:
		v = NewList(from.items())
	case Undefined:
		return from.err()
	}
	pairs, err := r.iterate(v)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		entry, err := r.iterate(pair)
		if err != nil || len(entry) != 2 {
			return errors.New("a mapping is made of pairs")
		}
		hash, err := r.hash(entry[0])
		if err != nil {
			return err
		}
		d.set(hash, entry[0], entry[1])
	}
	return nil
}

func makeNamespace(r *render, a arguments) (any, error) {
	v, err := dict(r, a)
	if err != nil {
		return nil, err
	}
	n := &namespace{NewDict(0)}
	d := v.(*Dict)
	for i, key := range d.keys {
		name, ok := text(key)
		if !ok {
			return nil, errors.New("the attributes of a namespace have names")
		}
		if err := n.set(name, d.values[i]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// joiner gives nothing when it is called first, and its separator from then on.
func joiner(_ *render, a arguments) (any, error) {
	p, err := a.bind("sep")
	if err != nil {
		return nil, err
	}
	if !given(p[0]) {
		p[0] = ", "
	}
	used := false
	return &Function{"joiner", func(_ *render, a arguments) (any, error) {
		if _, err := a.exactly(0); err != nil {
			return nil, err
		}
		if !used {
			used = true
			return "", nil
		}
		return p[0], nil
	}}, nil
}

func cycler(*render, arguments) (any, error) { return nil, errors.New("cycler is not supported") }
