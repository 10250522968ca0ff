// Filters of numbers.

package jinja

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func intFilter(_ *render, v any, a arguments) (any, error) {
	p, err := a.bind("default", "base")
	if err != nil {
		return nil, err
	}
	if given(p[1]) && p[1] != int64(10) {
		return nil, errors.New("a base other than 10 is not supported")
	}
	if i, ok := integer(v); ok {
		return i, nil
	}
	switch v := v.(type) {
	case Undefined:
		return nil, v.err()
	case Int:
		return v, nil
	}
	s, isString := v.(string)
	s = strings.TrimFunc(s, isSpace)
	if i, err := strconv.ParseInt(digits(s), 10, 64); err == nil && isString {
		return i, nil
	} else if errors.Is(err, strconv.ErrRange) {
		return nil, errOverflow
	}
	f, ok := v.(float64)
	if isString {
		f, ok = parseFloat(s)
	}
	switch {
	case ok && !math.IsNaN(f) && math.Abs(f) < 1<<63:
		return int64(f), nil
	case ok && !isString && math.IsInf(f, 0):
		return nil, errors.New("cannot convert float infinity to integer")
	case ok && !math.IsNaN(f) && !math.IsInf(f, 0):
		return nil, errOverflow
	case given(p[0]):
		return p[0], nil
	}
	return int64(0), nil
}

// digits drops the underscores that Python allows between digits. A text that has others is not a number.
func digits(s string) string {
	if strings.Contains(s, "__") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.ContainsAny(s, "xXpP") {
		return ""
	}
	return strings.ReplaceAll(s, "_", "")
}

func parseFloat(s string) (float64, bool) {
	f, err := strconv.ParseFloat(digits(s), 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func floatFilter(_ *render, v any, a arguments) (any, error) {
	p, err := a.bind("default")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(Undefined); ok {
		return nil, u.err()
	}
	if f, ok := number(v); ok {
		return f, nil
	}
	if s, ok := v.(string); ok {
		if f, ok := parseFloat(strings.TrimFunc(s, isSpace)); ok {
			return f, nil
		}
	}
	if given(p[0]) {
		return p[0], nil
	}
	return 0.0, nil
}

func round(_ *render, v any, a arguments) (any, error) {
	p, err := a.bind("precision", "method")
	if err != nil {
		return nil, err
	}
	precision := int64(0)
	if given(p[0]) {
		var ok bool
		if precision, ok = integer(p[0]); !ok || precision < 0 || precision > 64 {
			return nil, errors.New("a precision that is no number from 0 to 64 is not supported")
		}
	}
	f, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("type %s cannot be rounded", kind(v))
	}
	how, _ := p[1].(string)
	switch {
	case !given(p[1]) || how == "common":
		if i, ok := integer(v); ok {
			return i, nil
		}
		f, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
		return f, err
	case how == "ceil":
		return math.Ceil(f*math.Pow(10, float64(precision)))/math.Pow(10, float64(precision)) + 0, nil
	case how == "floor":
		return math.Floor(f*math.Pow(10, float64(precision)))/math.Pow(10, float64(precision)) + 0, nil
	}
	return nil, errors.New("method must be common, ceil or floor")
}
