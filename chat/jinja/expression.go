// Parsing expressions. Each rule parses what it names; the operators bind as in jinja2, where ~ binds tighter than +, and
// filters and tests tighter than any binary operator.

package jinja

import (
	"fmt"
	"strings"
)

// tuple: expression, or several with commas.
func (p *parser) tuple() (expression, error) { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(item func() (expression, error)) (expression, error) {
	var items []expression
	comma := false
	for {
		if t := p.peek(); len(items) > 0 && (t.kind == '}' || p.is(")")) {
			break
		}
		e, err := item()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.accept(",") {
			break
		}
		comma = true
	}
	if !comma {
		return items[0], nil
	}
	return &listExpr{items, isTuple}, nil
}

// expression: or [if or [else expression]]
func (p *parser) expression() (expression, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("an expression is nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	e, err := p.or()
	for err == nil && p.accept("if") {
		c := &condExpr{then: e}
		if c.test, err = p.or(); err == nil && p.accept("else") {
			c.other, err = p.expression()
		}
		e = c
	}
	return e, err
}

func (p *parser) or() (expression, error) {
	left, err := p.and()
	for err == nil && p.accept("or") {
		e := &orExpr{left: left}
		e.right, err = p.and()
		left = e
	}
	return left, err
}

func (p *parser) and() (expression, error) {
	left, err := p.not()
	for err == nil && p.accept("and") {
		e := &andExpr{left: left}
		e.right, err = p.not()
		left = e
	}
	return left, err
}

func (p *parser) not() (expression, error) {
	if !p.accept("not") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("an expression is nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	e, err := p.not()
	return &notExpr{e}, err
}

func (p *parser) comparison() (expression, error) {
	first, err := p.sum()
	c := &compareExpr{first: first}
	for err == nil {
		op, ok := p.comparator()
		if !ok {
			break
		}
		var e expression
		e, err = p.sum()
		c.ops, c.rest = append(c.ops, op), append(c.rest, e)
	}
	if len(c.ops) == 0 {
		return first, err
	}
	return c, err
}

func (p *parser) comparator() (string, bool) {
	t := p.peek()
	switch {
	case t.kind == 'o' && strings.Contains(" == != < > <= >= ", " "+t.text+" "), p.is("in"):
		return p.next().text, true
	case p.is("not") && p.tokens[p.at+1].kind == 'n' && p.tokens[p.at+1].text == "in":
		p.at += 2
		return "not in", true
	}
	return "", false
}

func (p *parser) sum() (expression, error)     { return p.binary(p.concat, "+", "-") }
func (p *parser) product() (expression, error) { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() (expression, error) {
	return p.binary(func() (expression, error) { return p.unary(true) }, "**")
}

// binary reads left-associative operators.
func (p *parser) binary(operand func() (expression, error), ops ...string) (expression, error) {
	left, err := operand()
	for err == nil {
		op := ""
		for _, o := range ops {
			if t := p.peek(); t.kind == 'o' && t.text == o {
				op = o
			}
		}
		if op == "" {
			break
		}
		p.at++
		e := &binaryExpr{op: op, left: left}
		e.right, err = operand()
		left = e
	}
	return left, err
}

func (p *parser) concat() (expression, error) {
	first, err := p.product()
	parts := []expression{first}
	for err == nil && p.accept("~") {
		var e expression
		e, err = p.product()
		parts = append(parts, e)
	}
	if len(parts) == 1 {
		return first, err
	}
	return &concatExpr{parts}, err
}

// unary: a sign binds tighter than filters and tests, and looser than attributes.
func (p *parser) unary(filters bool) (e expression, err error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("an expression is nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	if minus := p.is("-"); minus || p.is("+") {
		p.at++
		s := &signExpr{minus: minus}
		s.operand, err = p.unary(false)
		e = s
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filters {
		e, err = p.filtered(e)
	}
	return e, err
}

// postfix reads attributes, items and calls.
func (p *parser) postfix(e expression) (expression, error) {
	var err error
	for err == nil {
		switch {
		case p.accept("."):
			e, err = p.attribute(e)
		case p.accept("["):
			e, err = p.subscript(e)
		case p.accept("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
	}
	return e, err
}

func (p *parser) filtered(e expression) (expression, error) {
	var err error
	for err == nil {
		switch {
		case p.accept("|"):
			var f filterExpr
			f, err = p.filter(e)
			e = &f
		case p.accept("is"):
			e, err = p.test(e)
		case p.accept("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
	}
	return e, err
}
