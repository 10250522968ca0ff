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
	return r.print(v)
}

func (r *render) print(v any) error {
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
