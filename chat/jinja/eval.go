// Running statements.

package jinja

import (
	"errors"
	"fmt"
	"strings"
)

func (r *render) run(body []statement, s *scope) error {
	for _, st := range body {
		if err := r.spend(unitsPerStep); err != nil {
			return err
		}
		if err := r.statement(st, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *render) statement(st statement, s *scope) error {
	switch st := st.(type) {
	case textStmt:
		return r.write(st.text)
	case outputStmt:
		return r.output(st, s)
	case *ifStmt:
		v, err := r.eval(st.test, s)
		if err != nil {
			return err
		}
		if truth(v) {
			return r.run(st.then, s)
		}
		return r.run(st.other, s)
	case *forStmt:
		return r.loop(st, s)
	case *setStmt:
		v, err := r.eval(st.value, s)
		if err != nil {
			return err
		}
		return r.assign(st.target, v, s)
	case *setBlockStmt:
		return r.setBlock(st, s)
	case *macroStmt:
		s.set(st.name, r.macro(st.name, &st.macro, s))
		return nil
	case *callStmt:
		return r.callBlock(st, s)
	case *withStmt:
		return r.with(st, s)
	case scopeStmt:
		return r.run(st.body, &scope{parent: s})
	case breakStmt:
		return errBreak
	case continueStmt:
		return errContinue
	}
	return fmt.Errorf("a statement of type %T", st)
}

func (r *render) write(text string) error {
	if err := r.spendBytes(len(text)); err != nil {
		return err
	}
	r.out.WriteString(text)
	return nil
}

func (r *render) output(st outputStmt, s *scope) error {
	v, err := r.eval(st.value, s)
	if err != nil {
		return err
	}
	text, err := r.str(v)
	if err != nil {
		return err
	}
	return r.write(text)
}

// captured runs a body and returns what it wrote.
func (r *render) captured(body []statement, s *scope) (string, error) {
	outer := r.out
	r.out = &strings.Builder{}
	err := r.run(body, s)
	text := r.out.String()
	r.out = outer
	return text, err
}

func (r *render) assign(t target, v any, s *scope) error {
	if t.parts != nil {
		items, err := r.iterate(v)
		if err != nil {
			return err
		}
		if len(items) != len(t.parts) {
			return fmt.Errorf("%d values for %d names", len(items), len(t.parts))
		}
		for i := range t.parts {
			if err := r.assign(t.parts[i], items[i], s); err != nil {
				return err
			}
		}
		return nil
	}
	if t.attribute == "" {
		s.set(t.name, v)
		return nil
	}
	ns, _ := s.get(t.name)
	space, ok := ns.(*namespace)
	if !ok {
		return fmt.Errorf("cannot assign attribute on non-namespace object")
	}
	return space.set(t.attribute, v)
}

func (n *namespace) set(name string, v any) error {
	if strings.HasPrefix(name, "_") {
		return fmt.Errorf("chat templates cannot store underscore-prefixed attributes on a namespace: %q", name)
	}
	n.dict.Set(name, v)
	return nil
}

func (r *render) setBlock(st *setBlockStmt, s *scope) error {
	text, err := r.captured(st.body, &scope{parent: s})
	if err != nil {
		return err
	}
	v := any(text)
	for i := range st.filters {
		if v, err = r.filter(&st.filters[i], v, s); err != nil {
			return err
		}
	}
	if st.target != nil {
		return r.assign(*st.target, v, s)
	}
	if text, err = r.str(v); err != nil {
		return err
	}
	return r.write(text)
}

func (r *render) with(st *withStmt, s *scope) error {
	inner := &scope{parent: s}
	for i, t := range st.targets {
		v, err := r.eval(st.values[i], s)
		if err != nil {
			return err
		}
		if err := r.assign(t, v, inner); err != nil {
			return err
		}
	}
	return r.run(st.body, inner)
}

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
		inner := &scope{names: map[string]any{"loop": l}, parent: s}
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

// iterate returns what a loop over v sees.
func (r *render) iterate(v any) ([]any, error) {
	switch v := v.(type) {
	case *List:
		return v.items, nil
	case *generator:
		items := v.items
		v.items = nil
		return items, nil
	case *Dict:
		return v.keys, nil
	case Undefined:
		return nil, nil
	case *loopState:
		return nil, errors.New("a loop over loop is not supported")
	}
	s, ok := text(v)
	if !ok {
		return nil, fmt.Errorf("%q object is not iterable", kind(v))
	}
	if err := r.spendItems(len(s)); err != nil {
		return nil, err
	}
	var items []any
	for _, c := range s {
		items = append(items, string(c))
	}
	return items, nil
}

// macro makes a function of a body. It sees the variables around it as they are when it is called.
func (r *render) macro(name string, m *macro, s *scope) *Function {
	return &Function{name, func(r *render, a arguments) (any, error) {
		if r.calls++; r.calls > maxCalls {
			return nil, fmt.Errorf("macros call each other deeper than %d", maxCalls)
		}
		defer func() { r.calls-- }()
		inner := &scope{names: map[string]any{}, parent: s}
		if err := r.bind(name, m, a, inner); err != nil {
			return nil, err
		}
		text, err := r.captured(m.body, inner)
		return text, err
	}}
}

// bind gives the parameters of a macro their values. Defaults are computed in order and see the parameters before them.
func (r *render) bind(name string, m *macro, a arguments, inner *scope) error {
	if len(a.values) > len(m.params) && !m.varargs {
		return fmt.Errorf("macro %q takes not more than %d argument(s)", name, len(m.params))
	}
	for i, param := range m.params {
		if i < len(a.values) {
			inner.set(param, a.values[i])
		} else if v, ok := a.take(param); ok {
			inner.set(param, v)
		} else if d := i - len(m.params) + len(m.defaults); d >= 0 {
			v, err := r.eval(m.defaults[d], inner)
			if err != nil {
				return err
			}
			inner.set(param, v)
		} else {
			inner.set(param, Undefined{what: fmt.Sprintf("parameter %q was not provided", param)})
		}
	}
	if caller, ok := a.take("caller"); ok {
		inner.set("caller", caller)
	}
	if m.varargs {
		inner.set("varargs", tuple(a.values[min(len(a.values), len(m.params)):]...))
	}
	if m.kwargs {
		rest := NewDict(len(a.named))
		for _, n := range a.named {
			rest.Set(n.name, n.value)
		}
		inner.set("kwargs", rest)
	} else if len(a.named) > 0 {
		return fmt.Errorf("macro %q takes no keyword argument %q", name, a.named[0].name)
	}
	return nil
}

func (r *render) callBlock(st *callStmt, s *scope) error {
	callee, a, err := r.prepare(&st.call, s)
	if err != nil {
		return err
	}
	a.named = append(a.named, namedArgument{"caller", r.macro("caller", &st.caller, s)})
	v, err := r.call(callee, a)
	if err != nil {
		return err
	}
	text, err := r.str(v)
	if err != nil {
		return err
	}
	return r.write(text)
}
