// The calculator: sums, differences and products of whole numbers, and nothing else.

package shop

import (
	"errors"
	"strings"
)

const (
	maxExpression = 24          // bytes
	maxValue      = 999_999_999 // of every number on the way: the product of two fits into 64 bits
)

var (
	errLong   = errors.New("expression too long")
	errSyntax = errors.New("bad expression")
	errLarge  = errors.New("number too large")
)

// calc evaluates
//
//	sum     = product { ("+" | "-") product }
//	product = number { "*" number }
//	number  = digit { digit }
func calc(expression string) (int64, error) {
	if len(expression) > maxExpression {
		return 0, errLong
	}
	sum, rest, err := product(expression)
	for err == nil && rest != "" {
		sign := int64(1)
		switch rest[0] {
		case '+':
		case '-':
			sign = -1
		default:
			return 0, errSyntax
		}
		var p int64
		p, rest, err = product(rest[1:])
		if sum += sign * p; err == nil && (sum > maxValue || sum < -maxValue) {
			err = errLarge
		}
	}
	if err != nil {
		return 0, err
	}
	return sum, nil
}

func product(s string) (p int64, rest string, err error) {
	p, rest, err = number(s)
	for err == nil && strings.HasPrefix(rest, "*") {
		var n int64
		n, rest, err = number(rest[1:])
		if p *= n; err == nil && p > maxValue {
			err = errLarge
		}
	}
	return p, rest, err
}

func number(s string) (n int64, rest string, err error) {
	digits := 0
	for ; digits < len(s) && '0' <= s[digits] && s[digits] <= '9'; digits++ {
		if n = n*10 + int64(s[digits]-'0'); n > maxValue {
			return 0, "", errLarge
		}
	}
	if digits == 0 {
		return 0, "", errSyntax
	}
	return n, s[digits:], nil
}
