// Parsing arguments, filters and tests.

package jinja

import (
	"fmt"
	"strings"
)

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
	if err != nil {
		return nil, err
	}
	return p.postfix(e)
}
