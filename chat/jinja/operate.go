// Operators.

package jinja

import (
	"cmp"
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

func integers(op string, i, j int64) (any, error) {
	if j == 0 && (op == "/" || op == "//" || op == "%") {
		return nil, errors.New("division by zero")
	}
	switch op {
	case "+":
		if sum := i + j; (sum > i) == (j > 0) {
			return sum, nil
		}
	case "-":
		if difference := i - j; (difference < i) == (j > 0) {
			return difference, nil
		}
	case "*":
		if product := i * j; i == 0 || product/i == j && !(i == -1 && j == math.MinInt64) {
			return product, nil
		}
	case "/":
		return float64(i) / float64(j), nil
	case "//":
		quotient := i / j
		if i%j != 0 && (i < 0) != (j < 0) {
			quotient--
		}
		return quotient, nil
	case "%":
		rest := i % j
		if rest != 0 && (rest < 0) != (j < 0) {
			rest += j
		}
		return rest, nil
	case "**":
		return power(i, j)
	}
	return nil, errOverflow
}

func power(base, exponent int64) (any, error) {
	switch {
	case exponent < 0 && base == 0:
		return nil, errors.New("0 cannot be raised to a negative power")
	case exponent < 0:
		return floats("**", 0, 0)
	case base == 0 || base == 1:
		if exponent == 0 {
			return int64(1), nil
		}
		return base, nil
	case base == -1:
		return 1 - 2*(exponent%2), nil
	case exponent > 64:
		return nil, errOverflow
	}
	result := any(int64(1))
	for range exponent {
		var err error
		if result, err = integers("*", result.(int64), base); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func floats(op string, f, g float64) (any, error) {
	if g == 0 && (op == "/" || op == "//" || op == "%") {
		return nil, errors.New("float division by zero")
	}
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		return f / g, nil
	case "//":
		if quotient := math.Floor((f - modulo(f, g)) / g); quotient != 0 {
			return quotient, nil
		}
		return math.Copysign(0, f/g), nil
	case "%":
		return modulo(f, g), nil
	}
	return nil, errors.New("powers of numbers with fractions are not supported") // Go's last digit is not always Python's
}

// modulo has the sign of the divisor.
func modulo(f, g float64) float64 {
	rest := math.Mod(f, g)
	if rest != 0 && (rest < 0) != (g < 0) {
		rest += g
	}
	if rest == 0 {
		return math.Copysign(0, g)
	}
	return rest
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
