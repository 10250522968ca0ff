// Comparisons: equality, order, membership.

package jinja

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

func (r *render) compare(op string, x, y any) (bool, error) {
	switch op {
	case "==":
		return r.equal(x, y)
	case "!=":
		same, err := r.equal(x, y)
		return !same, err
	case "in":
		return r.contains(y, x)
	case "not in":
		in, err := r.contains(y, x)
		return !in, err
	}
	var err error
	order := r.order(x, y, &err)
	if err != nil {
		return false, err
	}
	if order == unordered {
		return false, nil
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// equal pays for what it looks at.
func (r *render) equal(x, y any) (bool, error) {
	if err := r.spend(unitsPerItem); err != nil {
		return false, err
	}
	if s, ok := text(x); ok {
		t, ok := text(y)
		return ok && s == t, r.spendBytes(min(len(s), len(t)))
	}
	if f, ok := number(x); ok {
		g, ok := number(y)
		i, iok := integer(x)
		j, jok := integer(y)
		_, bigX := x.(Int)
		_, bigY := y.(Int)
		switch {
		case iok && jok:
			return i == j, nil
		case bigX || bigY:
			return bigX && bigY && x == y, nil
		}
		return ok && f == g, nil
	}
	switch x := x.(type) {
	case nil:
		return y == nil, nil
	case Undefined:
		_, ok := y.(Undefined)
		return ok, nil
	case *List:
		l, ok := y.(*List)
		if !ok || l.form != x.form || len(l.items) != len(x.items) {
			return false, nil
		}
		return r.equalAll(x.items, l.items)
	case *Dict:
		d, ok := y.(*Dict)
		if !ok || len(d.keys) != len(x.keys) {
			return false, nil
		}
		return r.equalDicts(x, d)
	}
	return x == y, nil
}

func (r *render) equalAll(x, y []any) (bool, error) {
	if r.depth++; r.depth > maxDepth {
		return false, fmt.Errorf("values are nested deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	for i := range x {
		if same, err := r.equal(x[i], y[i]); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (r *render) equalDicts(x, y *Dict) (bool, error) {
	values := make([]any, len(x.keys))
	for i, key := range x.keys {
		v, ok := y.get(key)
		if !ok {
			return false, nil
		}
		values[i] = v
	}
	return r.equalAll(x.values, values)
}

// contains is the operator in.
func (r *render) contains(container, v any) (bool, error) {
	switch c := container.(type) {
	case string, markup:
		s, _ := text(c)
		t, ok := text(v)
		if !ok {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", kind(v))
		}
		return strings.Contains(s, t), r.spendBytes(len(s))
	case *Dict:
		hash, err := r.hash(v)
		if err != nil {
			return false, err
		}
		_, ok := c.index[hash]
		return ok, nil
	}
	items, err := r.iterate(container)
	if err != nil {
		return false, fmt.Errorf("argument of type %q is not iterable", kind(container))
	}
	for _, item := range items {
		if same, err := r.equal(item, v); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// unordered is the order of a number and NaN.
const unordered = 2

// order compares two values of kinds that have an order. Its error goes to failed, so that it can sort.
func (r *render) order(x, y any, failed *error) int {
	fail := func(err error) int {
		if *failed == nil {
			*failed = err
		}
		return 0
	}
	if err := r.spend(unitsPerItem); err != nil {
		return fail(err)
	}
	for _, v := range []any{x, y} {
		if u, ok := v.(Undefined); ok {
			return fail(u.err())
		}
	}
	if s, ok := text(x); ok {
		if t, ok := text(y); ok {
			if err := r.spendBytes(min(len(s), len(t))); err != nil {
				return fail(err)
			}
			return strings.Compare(s, t)
		}
	}
	if f, ok := number(x); ok {
		if g, ok := number(y); ok {
			return orderNumbers(x, y, f, g)
		}
	}
	if l, ok := x.(*List); ok {
		if m, ok := y.(*List); ok && l.form == m.form && l.form <= isTuple {
			return r.orderLists(l.items, m.items, failed)
		}
	}
	return fail(fmt.Errorf("%q and %q cannot be ordered", kind(x), kind(y)))
}

func orderNumbers(x, y any, f, g float64) int {
	i, iok := integer(x)
	j, jok := integer(y)
	switch {
	case iok && jok && i < j, !(iok && jok) && f < g:
		return -1
	case iok && jok && i > j, !(iok && jok) && f > g:
		return 1
	case math.IsNaN(f) || math.IsNaN(g):
		return unordered
	}
	return 0
}

func (r *render) orderLists(x, y []any, failed *error) int {
	if r.depth++; r.depth > maxDepth {
		*failed = fmt.Errorf("values are nested deeper than %d", maxDepth)
		return 0
	}
	defer func() { r.depth-- }()
	for i := range min(len(x), len(y)) {
		same, err := r.equal(x[i], y[i])
		if err != nil {
			*failed = err
			return 0
		}
		if !same {
			return r.order(x[i], y[i], failed)
		}
	}
	return cmp.Compare(len(x), len(y))
}
