// Parsing expressions. Each rule parses what it names; the operators bind as in jinja2, where ~ binds tighter than +, and
// filters and tests tighter than any binary operator.

package jinja

import (
	"fmt"
	"strconv"
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
	for err == nil {
		switch {
		case p.accept("."):
			e, err = p.attribute(e)
		case p.accept("["):
			e, err = p.subscript(e)
		case p.accept("("):
			e, err = p.call(e)
		default:
			if filters {
				return p.filtered(e)
			}
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

func (p *parser) primary() (expression, error) {
	switch t := p.next(); t.kind {
	case 'n':
		return p.word(t.text)
	case 's':
		value := t.text
		for p.peek().kind == 's' {
			value += p.next().text
		}
		return constExpr{value}, nil
	case 'i':
		v, err := strconv.ParseInt(t.text, 0, 64)
		if strings.Trim(t.text, "0") == "" {
			v, err = 0, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the number %.60s is not supported", t.text)
		}
		return constExpr{v}, nil
	case 'f':
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, fmt.Errorf("the number %.60s is not supported", t.text)
		}
		return constExpr{v}, nil
	case 'o':
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			items, err := p.items("]")
			return &listExpr{items, isList}, err
		case "{":
			return p.dict()
		}
		return nil, fmt.Errorf("unexpected %s", t)
	default:
		return nil, fmt.Errorf("unexpected %s", t)
	}
}

func (p *parser) word(name string) (expression, error) {
	switch name {
	case "true", "True":
		return constExpr{true}, nil
	case "false", "False":
		return constExpr{false}, nil
	case "none", "None":
		return constExpr{nil}, nil
	}
	p.names[name] = true
	return nameExpr{name}, nil
}

func (p *parser) parenthesis() (expression, error) {
	if p.accept(")") {
		return &listExpr{nil, isTuple}, nil
	}
	e, err := p.tuple()
	if err == nil {
		err = p.expect(")")
	}
	return e, err
}

// items reads expressions with commas up to a closing bracket.
func (p *parser) items(closing string) (items []expression, err error) {
	for !p.accept(closing) {
		if len(items) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.accept(closing) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
	}
	return items, nil
}

func (p *parser) dict() (expression, error) {
	d := &dictExpr{}
	for !p.accept("}") {
		if len(d.keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.accept("}") {
				break
			}
		}
		key, err := p.expression()
		if err == nil {
			err = p.expect(":")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, key), append(d.values, value)
	}
	return d, nil
}

func (p *parser) attribute(object expression) (expression, error) {
	switch t := p.next(); t.kind {
	case 'n':
		return &attrExpr{object, t.text}, nil
	case 'i':
		v, err := strconv.ParseInt(t.text, 10, 64)
		return &itemExpr{object, constExpr{v}}, err
	default:
		return nil, fmt.Errorf("%s where a name belongs", t)
	}
}

// subscript: [key] or [from:to:step], or several keys, which are a tuple.
func (p *parser) subscript(object expression) (expression, error) {
	var keys []expression
	for !p.accept("]") {
		if len(keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		var key expression
		var err error
		if !p.is(":") {
			if key, err = p.expression(); err != nil {
				return nil, err
			}
		}
		if p.is(":") {
			s, err := p.slice(object, key)
			if err != nil {
				return nil, err
			}
			if len(keys) > 0 {
				return nil, fmt.Errorf("a slice among several keys is not supported")
			}
			return s, p.expect("]")
		}
		keys = append(keys, key)
	}
	if len(keys) == 1 {
		return &itemExpr{object, keys[0]}, nil
	}
	return &itemExpr{object, &listExpr{keys, isTuple}}, nil
}

func (p *parser) slice(object, from expression) (expression, error) {
	s := &sliceExpr{object: object, from: from}
	for _, part := range []*expression{&s.to, &s.step} {
		if !p.accept(":") {
			break
		}
		if !p.is(":") && !p.is("]") && !p.is(",") {
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			*part = e
		}
	}
	return s, nil
}

func (p *parser) call(callee expression) (expression, error) {
	args, err := p.args()
	return &callExpr{callee, args}, err
}

// args reads arguments behind their opening bracket.
func (p *parser) args() (a callArgs, err error) {
	for first := true; !p.accept(")"); first = false {
		if !first {
			if err := p.expect(","); err != nil {
				return a, err
			}
			if p.accept(")") {
				break
			}
		}
		if err := p.arg(&a); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (p *parser) arg(a *callArgs) (err error) {
	switch next := p.tokens[min(p.at+1, len(p.tokens)-1)]; {
	case p.accept("*"):
		if a.list != nil || a.dict != nil {
			return fmt.Errorf("two lists of arguments")
		}
		a.list, err = p.expression()
	case p.accept("**"):
		if a.dict != nil {
			return fmt.Errorf("two mappings of arguments")
		}
		a.dict, err = p.expression()
	case p.peek().kind == 'n' && next.kind == 'o' && next.text == "=":
		a.names = append(a.names, p.next().text)
		p.at++
		var e expression
		e, err = p.expression()
		a.named = append(a.named, e)
	case len(a.named) > 0 || a.list != nil || a.dict != nil:
		return fmt.Errorf("an argument without a name behind one that has one")
	default:
		var e expression
		e, err = p.expression()
		a.values = append(a.values, e)
	}
	return err
}

// dotted reads name.name.
func (p *parser) dotted() (string, error) {
	name, err := p.name()
	for err == nil && p.accept(".") {
		var more string
		more, err = p.name()
		name += "." + more
	}
	return name, err
}

func (p *parser) filter(input expression) (f filterExpr, err error) {
	f.input = input
	if f.name, err = p.dotted(); err == nil && p.accept("(") {
		f.args, err = p.args()
	}
	return f, err
}

// test: is [not] name [arguments or one operand]
func (p *parser) test(input expression) (expression, error) {
	negated := p.accept("not")
	t := &testExpr{input: input}
	var err error
	if t.name, err = p.dotted(); err != nil {
		return nil, err
	}
	switch next := p.peek(); {
	case p.accept("("):
		t.args, err = p.args()
	case p.is("is"):
		err = fmt.Errorf("tests cannot be chained")
	case strings.IndexByte("nsif", next.kind) >= 0 && next.kind != 0 && !p.is("else") && !p.is("or") && !p.is("and"), p.is("["), p.is("{"):
		var e expression
		if e, err = p.operand(); err == nil {
			t.args.values = []expression{e}
		}
	}
	if negated {
		return &notExpr{t}, err
	}
	return t, err
}

// operand is a primary with attributes, items and calls.
func (p *parser) operand() (expression, error) {
	e, err := p.primary()
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
