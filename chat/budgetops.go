// Operations whose result can be much larger than what goes in. Each charges the result before it exists.

package chat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"
)

// display is the text that a value prints as.
func display(v jinja.Value) string {
	switch {
	case v.IsString():
		return v.AsString()
	case v.IsUndefined(), v.IsCallable():
		return ""
	}
	return v.String()
}

// replace is the filter and the string method: (text, old, new[, count]).
func (b *budget) replace(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	if n, ok := kwargs["count"]; ok {
		args = append(args, n)
	}
	if len(args) < 3 || len(args) > 4 || len(args) == 4 && !args[3].IsInt() {
		return jinja.None(), fmt.Errorf("replace: want an old and a new text, and perhaps a count")
	}
	var texts [3]string
	for i := range texts {
		if err := b.chargeSize(args[i], 1); err != nil {
			return jinja.None(), err
		}
		texts[i] = display(args[i])
	}
	text, old, new := texts[0], texts[1], texts[2]
	n := strings.Count(text, old)
	if len(args) == 4 && args[3].AsInt() >= 0 {
		n = int(min(int64(n), args[3].AsInt()))
	}
	if err := b.charge(unitsPerByte * (int64(len(text)) + int64(n)*int64(len(new)))); err != nil {
		return jinja.None(), err
	}
	return jinja.NewString(strings.Replace(text, old, new, n)), nil
}

// plus is the operator +. Operands of different kinds are an error, as in Python: the library would print them.
func (b *budget) plus(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	x, y := args[0], args[1]
	if x.IsString() && y.IsString() || x.IsList() && y.IsList() {
		if err := b.charge(unitsOf(x) * (length(x) + length(y))); err != nil {
			return x, err
		}
	}
	switch {
	case x.IsString() && y.IsString():
		return jinja.NewString(x.AsString() + y.AsString()), nil
	case x.IsList() && y.IsList():
		return jinja.NewList(slices.Concat(x.AsList().Items, y.AsList().Items)), nil
	case x.IsInt() && y.IsInt():
		return jinja.NewInt(x.AsInt() + y.AsInt()), nil
	case x.IsNumber() && y.IsNumber():
		return jinja.NewFloat(float(x) + float(y)), nil
	}
	return jinja.None(), fmt.Errorf("%s cannot be added to %s", kindOf(y), kindOf(x))
}

// unitsOf is what each byte or item of x costs.
func unitsOf(x jinja.Value) int64 {
	if x.IsString() {
		return unitsPerByte
	}
	return unitsPerItem
}

func kindOf(v jinja.Value) string {
	switch {
	case v.IsUndefined():
		return "an undefined value"
	case v.IsNone():
		return "none"
	case v.IsString():
		return "a string"
	case v.IsList():
		return "a list"
	case v.IsDict():
		return "a mapping"
	case v.IsCallable():
		return "a function"
	case v.IsBool():
		return "a boolean"
	}
	return "a number"
}

// times is the operator *: of numbers, or of a string or list and a count.
func (b *budget) times(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	x, y := args[0], args[1]
	if y.IsString() || y.IsList() {
		x, y = y, x
	}
	switch {
	case (x.IsString() || x.IsList()) && y.IsInt():
		return b.repeat(x, max(0, y.AsInt()))
	case x.IsInt() && y.IsInt():
		return jinja.NewInt(x.AsInt() * y.AsInt()), nil
	case x.IsNumber() && y.IsNumber():
		return jinja.NewFloat(float(x) * float(y)), nil
	}
	return jinja.None(), fmt.Errorf("%s cannot be multiplied by %s", kindOf(args[0]), kindOf(args[1]))
}

func (b *budget) repeat(x jinja.Value, n int64) (jinja.Value, error) {
	size := length(x)
	if size > 0 && n > math.MaxInt32/size {
		return x, errBudget
	}
	if err := b.charge(unitsOf(x) * size * n); err != nil {
		return x, err
	}
	if x.IsString() {
		return jinja.NewString(strings.Repeat(x.AsString(), int(n))), nil
	}
	var items []jinja.Value
	for range n {
		items = append(items, x.AsList().Items...)
	}
	return jinja.NewList(items), nil
}

func float(v jinja.Value) float64 {
	if v.IsInt() {
		return float64(v.AsInt())
	}
	return v.AsFloat()
}

// modulo is the operator % of numbers, with Python's sign. Formatting a string with it is not supported.
func modulo(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	x, y := args[0], args[1]
	switch {
	case !x.IsNumber() || !y.IsNumber():
		return jinja.None(), fmt.Errorf("%s %% %s: only numbers are supported", kindOf(x), kindOf(y))
	case float(y) == 0:
		return jinja.None(), errors.New("modulo by zero")
	case x.IsInt() && y.IsInt():
		r := x.AsInt() % y.AsInt()
		if r != 0 && (r < 0) != (y.AsInt() < 0) {
			r += y.AsInt()
		}
		return jinja.NewInt(r), nil
	}
	r := math.Mod(float(x), float(y))
	if r != 0 && math.Signbit(r) != math.Signbit(float(y)) {
		r += float(y)
	}
	return jinja.NewFloat(r), nil
}

// json charges the filter tojson: (value, its arguments).
func (b *budget) json(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	factor := int64(unitsPerByte)
	for _, v := range kwargs {
		args = append(args, v)
	}
	for _, v := range args[1:] {
		width, err := narrow(v)
		if err != nil {
			return args[0], err
		}
		factor += unitsPerByte * width * 4
	}
	return args[0], b.chargeSize(args[0], factor)
}

// narrow returns the columns of an indentation.
func narrow(v jinja.Value) (int64, error) {
	n := int64(0)
	switch {
	case v.IsInt():
		n = max(0, v.AsInt())
	case v.IsString():
		n = int64(len(v.AsString()))
	}
	if n > maxIndent {
		return 0, fmt.Errorf("an indentation of %d columns; at most %d are supported", n, maxIndent)
	}
	return n, nil
}

// join charges the filter join: (list, separator, …).
func (b *budget) join(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	separator := int64(0)
	for _, v := range args[1:] {
		separator += length(v)
	}
	for _, v := range kwargs {
		separator += length(v)
	}
	if err := b.charge(unitsPerByte * min(separator, math.MaxInt16) * length(args[0])); err != nil || separator > math.MaxInt16 {
		return args[0], errBudget
	}
	return args[0], b.chargeSize(args[0], unitsPerByte)
}

// indent charges the filter indent: (text, width, …).
func (b *budget) indent(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	for _, v := range kwargs {
		args = append(args, v)
	}
	for _, v := range args[1:] {
		if _, err := narrow(v); err != nil {
			return args[0], err
		}
	}
	return args[0], b.chargeSize(args[0], unitsPerByte*(1+maxIndent))
}

// each charges a filter that tests or maps every item: (list, test, arguments of the test).
func (b *budget) each(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	factor := max(1, min(length(args[0]), math.MaxInt32))
	for _, v := range args[1:] {
		if err := b.chargeSize(v, factor); err != nil {
			return args[0], err
		}
	}
	return args[0], b.chargeSize(args[0], 4)
}
