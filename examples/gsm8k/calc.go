// The calculator: + - * / and brackets on decimal numbers, exactly.

package main

import (
	"errors"
	"math/big"
	"strings"
)

const (
	maxExpression = 100 // bytes
	maxBits       = 512 // of a numerator or a denominator on the way
)

var errSyntax = errors.New("bad expression")

// calculate evaluates
//
//	sum     = product { ("+" | "-") product }
//	product = value { ("*" | "/") value }
//	value   = ["-"] ( number | "(" sum ")" )
//
// and writes the result with at most six decimals.
func calculate(text string) (string, error) {
	text = strings.NewReplacer(" ", "", "\n", "", ",", "", "$", "", "×", "*", "÷", "/").Replace(text)
	if len(text) > maxExpression {
		return "", errors.New("expression too long")
	}
	p := parser{text}
	x, err := p.sum()
	if err != nil {
		return "", err
	}
	if p.rest != "" {
		return "", errSyntax
	}
	out := x.FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(out, "0"), "."), nil
}

type parser struct{ rest string }

// next takes one of the given characters, 0 when there is none.
func (p *parser) next(any string) byte {
	if p.rest == "" || !strings.Contains(any, p.rest[:1]) {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

func (p *parser) sum() (*big.Rat, error) {
	x, err := p.product()
	for err == nil {
		op := p.next("+-")
		if op == 0 {
			return x, nil
		}
		var y *big.Rat
		if y, err = p.product(); err != nil {
			break
		}
		if op == '-' {
			y.Neg(y)
		}
		x, err = bounded(x.Add(x, y))
	}
	return nil, err
}

func (p *parser) product() (*big.Rat, error) {
	x, err := p.value()
	for err == nil {
		op := p.next("*/")
		if op == 0 {
			return x, nil
		}
		var y *big.Rat
		if y, err = p.value(); err != nil {
			break
		}
		if op == '/' {
			if y.Sign() == 0 {
				return nil, errors.New("division by zero")
			}
			y.Inv(y)
		}
		x, err = bounded(x.Mul(x, y))
	}
	return nil, err
}

func (p *parser) value() (*big.Rat, error) {
	if p.next("-") != 0 {
		x, err := p.value()
		if err != nil {
			return nil, err
		}
		return x.Neg(x), nil
	}
	if p.next("(") != 0 {
		x, err := p.sum()
		if err == nil && p.next(")") == 0 {
			err = errSyntax
		}
		return x, err
	}
	n := 0
	for n < len(p.rest) && strings.IndexByte("0123456789.", p.rest[n]) >= 0 {
		n++
	}
	number := p.rest[:n]
	p.rest = p.rest[n:]
	if x, ok := new(big.Rat).SetString(number); ok {
		return x, nil
	}
	return nil, errSyntax
}

func bounded(x *big.Rat) (*big.Rat, error) {
	if x.Num().BitLen() > maxBits || x.Denom().BitLen() > maxBits {
		return nil, errors.New("number too large")
	}
	return x, nil
}
