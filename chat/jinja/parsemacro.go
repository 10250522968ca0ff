// Parsing macros and the blocks that call them.

package jinja

import "fmt"

func (p *parser) macroStatement() (statement, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	m, err := p.macro("endmacro", nil)
	return &macroStmt{name, m}, err
}

// macro reads (parameters), what head reads, and the body.
func (p *parser) macro(end string, head func() error) (m macro, err error) {
	if p.is("(") || head == nil {
		if err := p.params(&m); err != nil {
			return m, err
		}
	}
	if head != nil {
		if err := head(); err != nil {
			return m, err
		}
	}
	outer, loops := p.names, p.loops
	p.names, p.loops = map[string]bool{}, 0
	m.body, err = p.block(end)
	m.varargs, m.kwargs = p.names["varargs"], p.names["kwargs"]
	for name := range p.names {
		outer[name] = true
	}
	p.names, p.loops = outer, loops
	return m, err
}

func (p *parser) params(m *macro) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for !p.accept(")") {
		if len(m.params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		name, err := p.name()
		if err != nil {
			return err
		}
		m.params = append(m.params, name)
		switch {
		case p.accept("="):
			value, err := p.expression()
			if err != nil {
				return err
			}
			m.defaults = append(m.defaults, value)
		case len(m.defaults) > 0:
			return fmt.Errorf("a parameter without a default behind one that has one")
		}
	}
	return nil
}

func (p *parser) callBlock() (statement, error) {
	var s callStmt
	var err error
	s.caller, err = p.macro("endcall", func() error {
		e, err := p.expression()
		if err != nil {
			return err
		}
		call, ok := e.(*callExpr)
		if !ok {
			return fmt.Errorf("a call block that calls nothing")
		}
		s.call = *call
		return nil
	})
	return &s, err
}
