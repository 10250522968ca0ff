// Tests: value is name.

package jinja

import (
	"errors"
	"fmt"
	"unicode"
)

func (r *render) testOf(e *testExpr, s *scope) (any, error) {
	v, err := r.eval(e.input, s)
	if err != nil {
		return nil, err
	}
	a, err := r.args(e.args, s)
	if err != nil {
		return nil, err
	}
	passed, err := r.test(e.name, v, a)
	return passed, err
}

// comparisons are tests that are operators.
var comparisons = map[string]string{
	"==": "==", "eq": "==", "equalto": "==", "!=": "!=", "ne": "!=", "<": "<", "lt": "<", "lessthan": "<", "<=": "<=", "le": "<=",
	">": ">", "gt": ">", "greaterthan": ">", ">=": ">=", "ge": ">=", "in": "in",
}

func (r *render) test(name string, v any, a arguments) (bool, error) {
	if op, ok := comparisons[name]; ok {
		p, err := a.exactly(1)
		if err != nil {
			return false, err
		}
		return r.compare(op, v, p[0])
	}
	if name == "divisibleby" || name == "sameas" {
		p, err := a.exactly(1)
		if err != nil {
			return false, err
		}
		if name == "sameas" {
			return same(v, p[0])
		}
		return r.divides(v, p[0], 0)
	}
	if _, err := a.exactly(0); err != nil {
		return false, err
	}
	switch name {
	case "odd":
		return r.divides(v, int64(2), 1)
	case "even":
		return r.divides(v, int64(2), 0)
	case "lower", "upper":
		in := unicode.IsLower
		if name == "upper" {
			in = unicode.IsUpper
		}
		s, err := r.str(v)
		return isCase(s, in), errors.Join(err, r.spendBytes(len(s)))
	}
	return kindTest(name, v)
}

// divides reports whether v leaves a certain rest.
func (r *render) divides(v, by any, rest int64) (bool, error) {
	if isText(v) {
		return false, errors.New("not all arguments converted during string formatting")
	}
	left, err := r.binary("%", v, by)
	if err != nil {
		return false, err
	}
	return r.equal(left, rest)
}

// same is Python's is, where it does not depend on how Python stores a value.
func same(v, w any) (bool, error) {
	switch v.(type) {
	case nil, bool:
		return v == w, nil
	}
	switch w.(type) {
	case nil, bool:
		return false, nil
	}
	return false, errors.New("the test sameas is supported for true, false and none only")
}

func kindTest(name string, v any) (bool, error) {
	_, undefined := v.(Undefined)
	switch name {
	case "defined":
		return !undefined, nil
	case "undefined":
		return undefined, nil
	case "none":
		return v == nil, nil
	case "true":
		return v == true, nil
	case "false":
		return v == false, nil
	case "boolean":
		_, ok := v.(bool)
		return ok, nil
	case "integer":
		_, small := v.(int64)
		_, big := v.(Int)
		return small || big, nil
	case "float":
		_, ok := v.(float64)
		return ok, nil
	case "number":
		_, ok := number(v)
		return ok, nil
	case "string":
		return isText(v), nil
	case "escaped":
		_, ok := v.(markup)
		return ok, nil
	case "mapping":
		_, ok := v.(*Dict)
		return ok, nil
	case "sequence":
		l, isList := v.(*List)
		_, isDict := v.(*Dict)
		return undefined || isDict || isText(v) || isList && l.form != isView, nil
	case "iterable":
		_, isGenerator := v.(*generator)
		_, isLoop := v.(*loopState)
		_, sized := sizeOf(v)
		return sized || isGenerator || isLoop, nil
	case "callable":
		_, ok := v.(*Function)
		return ok || undefined, nil
	}
	return false, fmt.Errorf("the test %.60s is not supported", name)
}
