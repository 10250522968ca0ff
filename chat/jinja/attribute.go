// Attributes, items and slices. object.name looks for a method first and for an entry then, object[key] the other way round.

package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// method is a built-in method, of the object and its arguments, or a filter, of the piped value and its arguments.
type method func(r *render, object any, a arguments) (any, error)

func (r *render) attribute(v any, name string) (any, error) {
	switch o := v.(type) {
	case Undefined:
		return nil, o.err()
	case *Dict:
		if m := r.method(v, name); m != nil {
			return m, nil
		}
		if value, ok := o.get(name); ok {
			return value, nil
		}
	case *namespace:
		if value, ok := o.dict.get(name); ok {
			return value, nil
		}
	case *loopState:
		if value, ok := o.attribute(name); ok {
			return value, nil
		}
	default:
		if m := r.method(v, name); m != nil {
			return m, nil
		}
	}
	return missing(v, name), nil
}

func missing(v any, name string) Undefined {
	return Undefined{kind(v), name}
}

// method returns a method bound to its object, or what stands for one that the sandbox hides, or nil.
func (r *render) method(v any, name string) any {
	var methods map[string]method
	switch o := v.(type) {
	case string, markup:
		methods = stringMethods
	case *List:
		if o.form == isList && strings.Contains(" append clear pop reverse insert sort extend remove ", " "+name+" ") {
			return Undefined{what: fmt.Sprintf("access to attribute %q of a list is unsafe: the sandbox changes nothing", name)}
		}
		if o.form != isView {
			methods = listMethods
		}
	case *Dict:
		if strings.Contains(" clear pop popitem setdefault update ", " "+name+" ") {
			return Undefined{what: fmt.Sprintf("access to attribute %q of a dict is unsafe: the sandbox changes nothing", name)}
		}
		methods = dictMethods
	}
	if strings.HasPrefix(name, "__") {
		return Undefined{what: fmt.Sprintf("access to attribute %q is unsafe", name)}
	}
	if m, ok := methods[name]; ok {
		return &Function{name, func(r *render, a arguments) (any, error) { return m(r, v, a) }}
	}
	return nil
}

func (r *render) item(v, key any) (any, error) {
	switch o := v.(type) {
	case Undefined:
		return nil, o.err()
	case *Dict:
		if value, ok := o.get(key); ok {
			return value, nil
		}
	case *List:
		if i, ok := integer(key); ok && o.form != isView {
			if i < 0 {
				i += int64(len(o.items))
			}
			if i >= 0 && i < int64(len(o.items)) {
				return o.items[i], nil
			}
		}
	case string:
		if i, ok := integer(key); ok {
			return r.character(o, i)
		}
	case markup:
		if i, ok := integer(key); ok {
			return r.character(string(o), i)
		}
	}
	name, ok := text(key)
	if !ok {
		return Undefined{what: "object has no such element"}, nil
	}
	if d, isDict := v.(*Dict); isDict {
		if m := r.method(d, name); m != nil {
			return m, nil
		}
		return missing(v, name), nil
	}
	return r.attribute(v, name)
}

func (r *render) character(s string, i int64) (any, error) {
	if err := r.spendBytes(len(s)); err != nil {
		return nil, err
	}
	if i < 0 {
		i += int64(utf8.RuneCountInString(s))
	}
	for _, c := range s {
		if i == 0 {
			return string(c), nil
		}
		i--
	}
	return Undefined{what: "str object has no such element"}, nil
}

func (r *render) sliceOf(e *sliceExpr, s *scope) (any, error) {
	v, err := r.eval(e.object, s)
	if err != nil {
		return nil, err
	}
	bounds := [3]*int64{}
	valid := true
	for i, part := range []expression{e.from, e.to, e.step} {
		if part == nil {
			continue
		}
		value, err := r.eval(part, s)
		if err != nil {
			return nil, err
		}
		n, ok := integer(value)
		if ok {
			bounds[i] = &n
		}
		valid = valid && (ok || value == nil)
	}
	if u, ok := v.(Undefined); ok {
		return nil, u.err()
	}
	l, isList := v.(*List)
	t, isString := text(v)
	if !valid || !isString && !(isList && l.form != isView) {
		return nil, fmt.Errorf("%q object is not sliced like this", kind(v))
	}
	if isList {
		items, err := cut(l.items, bounds)
		if err != nil {
			return nil, err
		}
		return &List{items, l.form}, r.spendItems(len(items))
	}
	if err := r.spend(4 * len(t)); err != nil {
		return nil, err
	}
	runes, err := cut([]rune(t), bounds)
	if _, marked := v.(markup); marked {
		return markup(runes), err
	}
	return string(runes), err
}

// cut is items[from:to:step] as Python has it.
func cut[T any](items []T, bounds [3]*int64) ([]T, error) {
	n, step := int64(len(items)), int64(1)
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step == 0 {
		return nil, errors.New("slice step cannot be zero")
	}
	low, high := int64(0), n
	from, to := low, high
	if step < 0 {
		low, high = -1, n-1
		from, to = high, low
	}
	clamp := func(b *int64, otherwise int64) int64 {
		if b == nil {
			return otherwise
		}
		i := *b
		if i < 0 {
			i = max(i, -n-1) + n
		}
		return min(max(i, low), high)
	}
	from, to = clamp(bounds[0], from), clamp(bounds[1], to)
	if step == 1 {
		return items[from:max(from, to)], nil
	}
	var out []T
	for i := from; step > 0 && i < to || step < 0 && i > to; {
		out = append(out, items[i])
		if step > n || step < -n {
			break
		}
		i += step
	}
	return out, nil
}
