// Rewriting the heads of loops and macros.

package chat

import (
	"fmt"
	"strconv"
	"strings"
)

// loopHead is the head of a for statement.
type loopHead struct {
	targets  string
	iterable rewritten
	filter   rewritten // empty for none
	perItem  int64     // units of evaluating the filter once
}

// opening prints the head; round is what the body costs each time.
func (h loopHead) opening(round int64) string {
	text := fmt.Sprintf("for %s in __iter(%s, %d)", h.targets, h.iterable.text, round+h.perItem+unitsPerRound)
	if h.filter.text != "" {
		text += " if " + h.filter.text
	}
	return text
}

// guardFor: targets in iterable [if filter]. A recursive loop is not supported.
func guardFor(text string) (h loopHead, cost int64, err error) {
	x, cost, err := parseTag(text)
	if err != nil {
		return h, 0, err
	}
	for !x.word("in") {
		t := x.next()
		if t.kind == 0 {
			return h, 0, fmt.Errorf("a for without in")
		}
		h.targets += t.text
	}
	if err := checkTargets(h.targets); err != nil {
		return h, 0, err
	}
	if h.iterable, err = x.or(); err != nil {
		return h, 0, err
	}
	if x.word("if") {
		if h.filter, err = x.condition(); err != nil {
			return h, 0, err
		}
		h.perItem = cost
	}
	if x.peek().is('n', "recursive") {
		return h, 0, fmt.Errorf("recursive loops are not supported")
	}
	return h, cost, x.expectEnd()
}

// checkTargets allows name, name.attribute and name, name.
func checkTargets(targets string) error {
	for part := range strings.SplitSeq(targets, ",") {
		for name := range strings.SplitSeq(strings.TrimSpace(part), ".") {
			if name == "" || span(name, isWord) != len(name) || isDigit(name[0]) || strings.HasPrefix(name, "__") {
				return fmt.Errorf("%s cannot be assigned", strconv.Quote(strings.TrimSpace(targets)))
			}
		}
	}
	return nil
}

// guardMacro: name(parameter[=default], …)
func guardMacro(text string) (head string, cost int64, err error) {
	x, cost, err := parseTag(text)
	if err != nil {
		return "", 0, err
	}
	name := x.next()
	if name.kind != 'n' || name.text == "dict" { // the library calls anything named dict in its own way
		return "", 0, fmt.Errorf("%s cannot be the name of a macro", name)
	}
	if err := x.expect("("); err != nil {
		return "", 0, err
	}
	var params []string
	for !x.accept(")") {
		t := x.next()
		if t.kind != 'n' {
			return "", 0, fmt.Errorf("%s where a parameter belongs", t)
		}
		param := t.text
		if x.accept("=") {
			value, err := x.condition()
			if err != nil {
				return "", 0, err
			}
			param += "=" + value.text
		}
		params = append(params, param)
		if !x.accept(",") && !x.peek().is('+', ")") {
			return "", 0, x.expect(")")
		}
	}
	return name.text + "(" + strings.Join(params, ", ") + ")", cost, x.expectEnd()
}
