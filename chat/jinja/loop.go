// Loops.

package jinja

import "errors"

// loop runs a body once for each item, with the variable loop.
func (r *render) loop(st *forStmt, s *scope) error {
	v, err := r.eval(st.iterable, s)
	if err != nil {
		return err
	}
	items, err := r.iterate(v)
	if err != nil {
		return err
	}
	if st.filter != nil {
		if items, err = r.filtered(st, items, s); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return r.run(st.other, &scope{parent: s})
	}
	l := &loopState{items: items}
	for l.index = range items {
		if err := r.spend(4 * unitsPerStep); err != nil {
			return err
		}
		inner := &scope{own: append(make([]variable, 0, 4), variable{"loop", l}), parent: s}
		err := r.assign(st.target, items[l.index], inner)
		if err == nil {
			err = r.run(st.body, inner)
		}
		switch {
		case err == errBreak:
			return nil
		case err != nil && err != errContinue:
			return err
		}
	}
	return nil
}

func (r *render) filtered(st *forStmt, items []any, s *scope) ([]any, error) {
	var kept []any
	for _, item := range items {
		inner := &scope{parent: s}
		if err := r.assign(st.target, item, inner); err != nil {
			return nil, err
		}
		v, err := r.eval(st.filter, inner)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// loopState is the variable loop.
type loopState struct {
	items   []any
	index   int
	changed []any
}

func (l *loopState) attribute(name string) (any, bool) {
	i, n := int64(l.index), int64(len(l.items))
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "depth":
		return int64(1), true
	case "depth0":
		return int64(0), true
	case "previtem":
		if i == 0 {
			return Undefined{what: "there is no previous item"}, true
		}
		return l.items[i-1], true
	case "nextitem":
		if i == n-1 {
			return Undefined{what: "there is no next item"}, true
		}
		return l.items[i+1], true
	case "cycle":
		return &Function{"cycle", func(_ *render, a arguments) (any, error) {
			if len(a.values) == 0 {
				return nil, errors.New("no items for cycling given")
			}
			return a.values[l.index%len(a.values)], nil
		}}, true
	case "changed":
		return &Function{"changed", func(r *render, a arguments) (any, error) {
			same, err := r.equal(NewList(l.changed), NewList(a.values))
			changed := l.changed == nil || !same
			l.changed = append([]any{}, a.values...)
			return changed, err
		}}, true
	}
	return nil, false
}
