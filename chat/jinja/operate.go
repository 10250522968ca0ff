// Operators.

package jinja

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

var errOverflow = errors.New("an integer of more than 64 bits is computed")

func sign(minus bool, v any) (any, error) {
	if i, ok := integer(v); ok {
		if minus && i == math.MinInt64 {
			return nil, errOverflow
		}
		if minus {
			i = -i
		}
		return i, nil
	}
	switch v := v.(type) {
	case float64:
		if minus {
			v = -v
		}
		return v, nil
	case Undefined:
		return nil, v.err()
	}
	return nil, fmt.Errorf("bad operand type for a sign: %q", kind(v))
}

func (r *render) binary(op string, x, y any) (any, error) {
	for _, v := range []any{x, y} {
		if u, ok := v.(Undefined); ok && !(op == "%" && isText(x)) {
			return nil, u.err()
		}
	}
	i, iok := integer(x)
	j, jok := integer(y)
	if iok && jok {
		return integers(op, i, j)
	}
	f, fok := number(x)
	g, gok := number(y)
	_, bigX := x.(Int)
	_, bigY := y.(Int)
	switch {
	case bigX || bigY:
		return nil, errOverflow
	case fok && gok:
		return floats(op, f, g)
	case op == "+":
		return r.add(x, y)
	case op == "*" && jok:
		return r.repeat(x, j, y)
	case op == "*" && iok:
		return r.repeat(y, i, x)
	case op == "%" && isText(x):
		return r.percent(x, y)
	}
	return nil, unsupported(op, x, y)
}

func isText(v any) bool {
	_, ok := text(v)
	return ok
}

func unsupported(op string, x, y any) error {
	return fmt.Errorf("unsupported operand types for %s: %q and %q", op, kind(x), kind(y))
}

// add joins texts and lists.
func (r *render) add(x, y any) (any, error) {
	if l, ok := x.(*List); ok {
		if m, ok := y.(*List); ok && l.form == m.form && l.form <= isTuple {
			return &List{slices.Concat(l.items, m.items), l.form}, r.spendItems(len(l.items) + len(m.items))
		}
		return nil, unsupported("+", x, y)
	}
	s, ok := text(x)
	t, okToo := text(y)
	if !ok || !okToo {
		return nil, unsupported("+", x, y)
	}
	_, mx := x.(markup)
	_, my := y.(markup)
	switch {
	case mx && !my:
		t = escaped(t)
	case my && !mx:
		s = escaped(s)
	}
	if err := r.spendBytes(len(s) + len(t)); err != nil {
		return nil, err
	}
	if mx || my {
		return markup(s + t), nil
	}
	return s + t, nil
}

// concat is the operator ~. Without autoescaping, text that is marked safe is text like any other to it.
func (r *render) concat(parts []any) (any, error) { return r.join(parts, "") }

var htmlEscapes = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

func escaped(s string) string { return htmlEscapes.Replace(s) }

// repeat is text or a list times a count.
func (r *render) repeat(v any, n int64, count any) (any, error) {
	n = max(0, n)
	if l, ok := v.(*List); ok && l.form <= isTuple {
		if n > maxTemplate<<8 || len(l.items) > 0 && n > int64(maxTemplate<<8/len(l.items)) {
			return nil, errBudget
		}
		return &List{slices.Repeat(l.items, int(n)), l.form}, r.spendItems(len(l.items) * int(n))
	}
	s, ok := text(v)
	if !ok {
		return nil, unsupported("*", v, count)
	}
	if s == "" {
		return v, nil
	}
	if n > int64(r.units/len(s)) {
		return nil, errBudget
	}
	if err := r.spendBytes(len(s) * int(n)); err != nil {
		return nil, err
	}
	if _, ok := v.(markup); ok {
		return markup(strings.Repeat(s, int(n))), nil
	}
	return strings.Repeat(s, int(n)), nil
}
