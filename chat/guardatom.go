// Rewriting operands: literals, names, and what stands in brackets.

package chat

import (
	"fmt"
	"strconv"
	"strings"
)

func (x *expression) atom() (rewritten, error) {
	t := x.next()
	switch {
	case t.kind == '"':
		for x.peek().kind == '"' {
			t.text += " " + x.next().text
		}
		return rewritten{text: t.text, literal: true, simple: true}, nil
	case t.kind == '0':
		return rewritten{text: t.text, literal: true, simple: true}, nil
	case t.kind == 'n':
		return x.name(t.text)
	case t.is('+', "("):
		return x.parenthesis()
	case t.is('+', "["):
		items, _, err := x.list("]")
		return rewritten{text: "[" + items + "]"}, err
	case t.is('+', "{"):
		return x.dict()
	}
	return rewritten{}, fmt.Errorf("unexpected %s", t)
}

func (x *expression) name(name string) (rewritten, error) {
	switch name {
	case "true", "True", "false", "False", "none", "None":
		return rewritten{text: name, literal: true, simple: true}, nil
	case "if", "else", "in", "is", "and", "or", "not", "for":
		return rewritten{}, fmt.Errorf("unexpected %q", name)
	}
	return rewritten{text: name, simple: true}, nil
}

func (x *expression) parenthesis() (rewritten, error) {
	items, n, err := x.list(")")
	return rewritten{text: "(" + items + ")", simple: n == 1 && !strings.ContainsAny(items, "(|")}, err
}

// list rewrites the items up to a closing bracket, and counts them.
func (x *expression) list(closing string) (string, int, error) {
	var b strings.Builder
	for n := 0; ; n++ {
		if x.accept(closing) {
			return b.String(), n, nil
		}
		r, err := x.condition()
		if err != nil {
			return "", n, err
		}
		b.WriteString(r.text)
		if x.accept(",") {
			b.WriteString(", ")
		} else if !x.peek().is('+', closing) {
			return "", n, fmt.Errorf("%s where %q belongs", x.peek(), closing)
		}
	}
}

func (x *expression) dict() (rewritten, error) {
	var pairs []string
	for !x.accept("}") {
		key, err := x.condition()
		if err != nil {
			return key, err
		}
		if err := x.expect(":"); err != nil {
			return key, err
		}
		value, err := x.condition()
		if err != nil {
			return value, err
		}
		pairs = append(pairs, key.through("__use").text+": "+value.text)
		if !x.accept(",") && !x.peek().is('+', "}") {
			return key, x.expect("}")
		}
	}
	return rewritten{text: "{" + strings.Join(pairs, ", ") + "}"}, nil
}

func quote(s string) string { return strconv.Quote(s) }
