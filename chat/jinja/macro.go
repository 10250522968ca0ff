// Calling macros.

package jinja

import "fmt"

// macro makes a function of a body. It sees the variables around it as they are when it is called.
func (r *render) macro(name string, m *macro, s *scope) *Function {
	return &Function{name, func(r *render, a arguments) (any, error) {
		if r.calls++; r.calls > maxCalls {
			return nil, fmt.Errorf("macros call each other deeper than %d", maxCalls)
		}
		defer func() { r.calls-- }()
		inner := &scope{parent: s}
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
	return r.print(v)
}
