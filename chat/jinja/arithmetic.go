// Arithmetic on numbers.

package jinja

import (
	"errors"
	"math"
)

func integers(op string, i, j int64) (any, error) {
	if j == 0 && (op == "/" || op == "//" || op == "%") {
		return nil, errors.New("division by zero")
	}
	switch op {
	case "+":
		if sum := i + j; (sum > i) == (j > 0) {
			return sum, nil
		}
	case "-":
		if difference := i - j; (difference < i) == (j > 0) {
			return difference, nil
		}
	case "*":
		if product := i * j; i == 0 || product/i == j && !(i == -1 && j == math.MinInt64) {
			return product, nil
		}
	case "/":
		return float64(i) / float64(j), nil
	case "//":
		quotient := i / j
		if i%j != 0 && (i < 0) != (j < 0) {
			quotient--
		}
		return quotient, nil
	case "%":
		rest := i % j
		if rest != 0 && (rest < 0) != (j < 0) {
			rest += j
		}
		return rest, nil
	case "**":
		return power(i, j)
	}
	return nil, errOverflow
}

func power(base, exponent int64) (any, error) {
	switch {
	case exponent < 0 && base == 0:
		return nil, errors.New("0 cannot be raised to a negative power")
	case exponent < 0:
		return floats("**", 0, 0)
	case base == 0 || base == 1:
		if exponent == 0 {
			return int64(1), nil
		}
		return base, nil
	case base == -1:
		return 1 - 2*(exponent%2), nil
	case exponent > 64:
		return nil, errOverflow
	}
	result := any(int64(1))
	for range exponent {
		var err error
		if result, err = integers("*", result.(int64), base); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func floats(op string, f, g float64) (any, error) {
	if g == 0 && (op == "/" || op == "//" || op == "%") {
		return nil, errors.New("float division by zero")
	}
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		return f / g, nil
	case "//":
		if quotient := math.Floor((f - modulo(f, g)) / g); quotient != 0 {
			return quotient, nil
		}
		return math.Copysign(0, f/g), nil
	case "%":
		return modulo(f, g), nil
	}
	return nil, errors.New("powers of numbers with fractions are not supported") // Go's last digit is not always Python's
}

// modulo has the sign of the divisor.
func modulo(f, g float64) float64 {
	rest := math.Mod(f, g)
	if rest != 0 && (rest < 0) != (g < 0) {
		rest += g
	}
	if rest == 0 {
		return math.Copysign(0, g)
	}
	return rest
}
