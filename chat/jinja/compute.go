// Evaluating expressions.

package jinja

import (
	"fmt"
	"slices"
)

func (r *render) eval(e expression, s *scope) (any, error) {
	if err := r.spend(unitsPerStep); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case constExpr:
		return e.value, nil
	case nameExpr:
		if v, ok := s.get(e.name); ok {
			return v, nil
		}
		return Undefined{name: e.name}, nil
	case *listExpr:
		items, err := r.evalAll(e.items, s)
		return &List{items, e.form}, err
	case *dictExpr:
		return r.dict(e, s)
	case *attrExpr:
		v, err := r.eval(e.object, s)
		if err != nil {
			return nil, err
		}
		return r.attribute(v, e.name)
	case *itemExpr:
		v, err := r.evalAll([]expression{e.object, e.key}, s)
		if err != nil {
			return nil, err
		}
		return r.item(v[0], v[1])
	case *sliceExpr:
		return r.sliceOf(e, s)
	case *callExpr:
		callee, a, err := r.prepare(e, s)
		if err != nil {
			return nil, err
		}
		return r.call(callee, a)
	case *filterExpr:
		v, err := r.eval(e.input, s)
		if err != nil {
			return nil, err
		}
		return r.filter(e, v, s)
	case *testExpr:
		return r.testOf(e, s)
	}
	return r.operation(e, s)
}

func (r *render) operation(e expression, s *scope) (any, error) {
	switch e := e.(type) {
	case *notExpr:
		v, err := r.eval(e.operand, s)
		return !truth(v), err
	case *andExpr:
		v, err := r.eval(e.left, s)
		if err != nil || !truth(v) {
			return v, err
		}
		return r.eval(e.right, s)
	case *orExpr:
		v, err := r.eval(e.left, s)
		if err != nil || truth(v) {
			return v, err
		}
		return r.eval(e.right, s)
	case *condExpr:
		v, err := r.eval(e.test, s)
		switch {
		case err != nil:
			return nil, err
		case truth(v):
			return r.eval(e.then, s)
		case e.other == nil:
			return Undefined{what: "the inline if-expression evaluated to false and no else section was defined"}, nil
		}
		return r.eval(e.other, s)
	case *signExpr:
		v, err := r.eval(e.operand, s)
		if err != nil {
			return nil, err
		}
		return sign(e.minus, v)
	case *binaryExpr:
		v, err := r.evalAll([]expression{e.left, e.right}, s)
		if err != nil {
			return nil, err
		}
		return r.binary(e.op, v[0], v[1])
	case *concatExpr:
		parts, err := r.evalAll(e.parts, s)
		if err != nil {
			return nil, err
		}
		return r.concat(parts)
	case *compareExpr:
		return r.compareAll(e, s)
	}
	return nil, fmt.Errorf("an expression of type %T", e)
}

func (r *render) evalAll(expressions []expression, s *scope) ([]any, error) {
	values := make([]any, len(expressions))
	for i, e := range expressions {
		v, err := r.eval(e, s)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, r.spendItems(len(values))
}

func (r *render) dict(e *dictExpr, s *scope) (any, error) {
	d := NewDict(len(e.keys))
	for i := range e.keys {
		v, err := r.evalAll([]expression{e.keys[i], e.values[i]}, s)
		if err != nil {
			return nil, err
		}
		hash, err := r.hash(v[0])
		if err != nil {
			return nil, err
		}
		d.set(hash, v[0], v[1])
	}
	return d, nil
}

// hash is hashKey for values that a template made, which may be large.
func (r *render) hash(v any) (any, error) {
	if l, ok := v.(*List); ok && l.form == isTuple {
		if _, err := r.repr(l); err != nil {
			return nil, err
		}
	}
	return hashKey(v)
}

func (r *render) compareAll(e *compareExpr, s *scope) (any, error) {
	left, err := r.eval(e.first, s)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := r.eval(e.rest[i], s)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, left, right)
		if err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

// arguments of a call, a filter or a test.
type arguments struct {
	values []any
	named  []namedArgument
}

type namedArgument struct {
	name  string
	value any
}

// take removes a named argument.
func (a *arguments) take(name string) (any, bool) {
	for i, n := range a.named {
		if n.name == name {
			a.named = slices.Delete(slices.Clone(a.named), i, i+1)
			return n.value, true
		}
	}
	return nil, false
}

// absent is a parameter that was not given.
type absent struct{}

// bind puts the arguments in the order of parameters. What was not given is absent.
func (a arguments) bind(names ...string) ([]any, error) {
	if len(a.values) > len(names) {
		return nil, fmt.Errorf("%d arguments; at most %d are taken", len(a.values), len(names))
	}
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = absent{}
		if i < len(a.values) {
			values[i] = a.values[i]
			continue
		}
		if v, ok := a.take(name); ok {
			values[i] = v
		}
	}
	if len(a.named) > 0 {
		return nil, fmt.Errorf("unexpected keyword argument %q", a.named[0].name)
	}
	return values, nil
}

func (r *render) args(a callArgs, s *scope) (out arguments, err error) {
	if out.values, err = r.evalAll(a.values, s); err != nil {
		return out, err
	}
	for i, name := range a.names {
		v, err := r.eval(a.named[i], s)
		if err != nil {
			return out, err
		}
		out.named = append(out.named, namedArgument{name, v})
	}
	if a.list != nil {
		v, err := r.eval(a.list, s)
		if err != nil {
			return out, err
		}
		items, err := r.iterate(v)
		if err != nil {
			return out, err
		}
		out.values = append(out.values, items...)
	}
	if a.dict != nil {
		v, err := r.eval(a.dict, s)
		if err != nil {
			return out, err
		}
		d, ok := v.(*Dict)
		if !ok {
			return out, fmt.Errorf("argument after ** must be a mapping, not %s", kind(v))
		}
		for i, key := range d.keys {
			name, ok := text(key)
			if !ok {
				return out, fmt.Errorf("keywords must be strings")
			}
			out.named = append(out.named, namedArgument{name, d.values[i]})
		}
	}
	for i, n := range out.named {
		for _, m := range out.named[:i] {
			if m.name == n.name {
				return out, fmt.Errorf("multiple values for keyword argument %q", n.name)
			}
		}
	}
	return out, r.spendItems(len(out.values) + len(out.named))
}

func (r *render) prepare(e *callExpr, s *scope) (any, arguments, error) {
	callee, err := r.eval(e.callee, s)
	if err != nil {
		return nil, arguments{}, err
	}
	a, err := r.args(e.args, s)
	return callee, a, err
}

func (r *render) call(callee any, a arguments) (any, error) {
	switch f := callee.(type) {
	case *Function:
		v, err := f.call(r, a)
		if err != nil {
			return nil, err
		}
		return v, nil
	case Undefined:
		return nil, f.err()
	}
	return nil, fmt.Errorf("%q object is not callable", kind(callee))
}
