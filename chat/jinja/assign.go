// Parsing assignments: targets, set, with.

package jinja

import (
	"fmt"
	"slices"
)

// target: name, name.attribute, or several of them with commas, perhaps in brackets.
func (p *parser) target(attributes bool) (target, error) {
	var parts []target
	for {
		t, err := p.oneTarget(attributes)
		if err != nil {
			return t, err
		}
		parts = append(parts, t)
		if !p.accept(",") {
			if len(parts) == 1 {
				return t, nil
			}
			return target{parts: parts}, nil
		}
		if p.is("in") || p.is("=") {
			return target{parts: parts}, nil
		}
	}
}

func (p *parser) oneTarget(attributes bool) (target, error) {
	if p.accept("(") {
		if p.depth++; p.depth > maxNesting {
			return target{}, fmt.Errorf("brackets are nested deeper than %d", maxNesting)
		}
		t, err := p.target(attributes)
		p.depth--
		if err == nil {
			err = p.expect(")")
		}
		return t, err
	}
	name, err := p.name()
	if err != nil {
		return target{}, err
	}
	if slices.Contains(reserved, name) {
		return target{}, fmt.Errorf("%q cannot be assigned", name)
	}
	if !attributes || !p.accept(".") {
		return target{name: name}, nil
	}
	p.names[name] = true
	attribute, err := p.name()
	return target{name: name, attribute: attribute}, err
}

var reserved = []string{"true", "false", "none", "True", "False", "None", "and", "or", "not", "if", "else", "in", "is"}

func (p *parser) set() (statement, error) {
	t, err := p.target(true)
	if err != nil {
		return nil, err
	}
	if p.accept("=") {
		value, err := p.tuple()
		if err != nil {
			return nil, err
		}
		return &setStmt{t, value}, p.end()
	}
	s := setBlockStmt{target: &t}
	if s.filters, err = p.blockFilters(); err != nil {
		return nil, err
	}
	s.body, err = p.block("endset")
	return &s, err
}

func (p *parser) with() (statement, error) {
	var s withStmt
	for p.peek().kind != '}' {
		if len(s.targets) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.oneTarget(false)
		if err == nil {
			err = p.expect("=")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets, s.values = append(s.targets, t), append(s.values, value)
	}
	var err error
	s.body, err = p.block("endwith")
	return &s, err
}
