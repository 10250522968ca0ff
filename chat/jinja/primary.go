// Parsing operands: literals, names, brackets, and the attributes, items and calls behind them.

package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

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
