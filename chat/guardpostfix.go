// Rewriting what follows an operand: attributes, items, calls, filters and tests. Here templates do their work, so here
// is the list of what may be done.

package chat

import (
	"fmt"
	"strings"
)

// postfix rewrites one attribute, item, slice or call behind r.
func (x *expression) postfix(r rewritten) (out rewritten, done bool, err error) {
	switch {
	case x.accept("."):
		out, err = x.attribute(r)
	case x.accept("["):
		out, err = x.item(r)
	case x.accept("("):
		args, e := x.arguments()
		out, err = rewritten{text: "__call(" + r.text + ")(" + args.text + ")"}, e
	default:
		return r, true, nil
	}
	return out, false, err
}

func (x *expression) attribute(r rewritten) (rewritten, error) {
	t := x.next()
	if t.kind != 'n' && t.kind != '0' {
		return r, fmt.Errorf("%s where a name belongs", t)
	}
	if !x.accept("(") {
		if t.text == "replace" || t.text == "format" { // an entry of a mapping; the method is called below or not at all
			return rewritten{text: r.text + "[" + quote(t.text) + "]", simple: r.simple}, nil
		}
		return rewritten{text: r.text + "." + t.text, simple: r.simple}, nil
	}
	args, err := x.arguments()
	if err != nil {
		return r, err
	}
	switch t.text {
	case "replace":
		return rewritten{text: "__replace(" + r.text + args.behind() + ")"}, nil
	case "split":
		return rewritten{text: "__call(" + r.through("__span").text + ".split)(" + args.text + ")"}, nil
	case "format", "append", "insert", "pop", "update", "clear", "extend", "remove", "setdefault", "sort", "reverse":
		// transformers renders in an immutable sandbox: changing a list or mapping raises there too
		return unsupported("the method " + t.text), nil
	}
	return rewritten{text: "__call(" + r.through("__touch").text + "." + t.text + ")(" + args.text + ")"}, nil
}

// unsupported raises when, and only when, the template gets there.
func unsupported(what string) rewritten {
	return rewritten{text: "__raise(" + quote(what+" is not supported") + ")"}
}

// item: [key] or [start:stop:step]
func (x *expression) item(r rewritten) (rewritten, error) {
	var parts []string
	colons := 0
	simple := r.simple
	for !x.accept("]") {
		if x.accept(":") {
			colons++
			parts = append(parts, ":")
			continue
		}
		key, err := x.condition()
		if err != nil {
			return r, err
		}
		simple = simple && key.simple
		parts = append(parts, key.through("__use").text)
		if t := x.peek(); !t.is('+', ":") && !t.is('+', "]") {
			return r, fmt.Errorf("%s where \"]\" belongs", t)
		}
	}
	if colons > 2 || len(parts) == 0 || colons == 0 && len(parts) != 1 {
		return r, fmt.Errorf("brackets that hold no key and no slice")
	}
	object := r.through("__touch").text
	if colons > 0 {
		object = r.through("__span").text
	}
	return rewritten{text: object + "[" + strings.Join(parts, "") + "]"}, nil
}

// arguments of a call or filter.
type arguments struct {
	text   string // separated by commas
	simple bool
	values []rewritten // positional ones
	named  []string    // names of the others
}

// behind returns the text to append to a first argument.
func (a arguments) behind() string {
	if a.text == "" {
		return ""
	}
	return ", " + a.text
}

func (x *expression) arguments() (arguments, error) {
	a := arguments{simple: true}
	var texts []string
	for !x.accept(")") {
		name := ""
		if x.accept("**") { // a mapping of named arguments
			name = "**"
		} else if t := x.peek(); t.kind == 'n' && x.tokens[x.at+1].is('+', "=") {
			name = t.text + "="
			x.at += 2
		}
		r, err := x.condition()
		if err != nil {
			return a, err
		}
		a.simple = a.simple && r.simple && !strings.ContainsAny(r.text, "(|")
		r = r.through("__use")
		if name != "" {
			a.named = append(a.named, name)
			texts = append(texts, name+r.text)
		} else {
			a.values = append(a.values, r)
			texts = append(texts, r.text)
		}
		if !x.accept(",") && !x.peek().is('+', ")") {
			return a, x.expect(")")
		}
	}
	a.text = strings.Join(texts, ", ")
	return a, nil
}

// filters lists what may be applied, and the budget function that its input goes through first. Those that end in "*" get
// the filter's arguments too.
var filters = map[string]string{
	"length": "__touch", "count": "__touch",
	"default": "", "d": "", "safe": "", "abs": "", "int": "__use", "float": "__use", "round": "",
	"items": "__span", "list": "__span", "reverse": "__span", "first": "__ends", "last": "__ends",
	"trim": "__use", "string": "__use", "lower": "__use", "upper": "__use", "title": "__use", "capitalize": "__use",
	"escape": "__grow", "e": "__grow", "wordcount": "__use",
	"sum": "__use", "min": "__use", "max": "__use", "sort": "__sort", "dictsort": "__sort", "unique": "__square",
	"tojson": "__json*", "join": "__join*", "indent": "__indent*",
	"select": "__each*", "reject": "__each*", "selectattr": "__each*", "rejectattr": "__each*", "map": "__each*",
}

func (x *expression) filter(input rewritten) (rewritten, error) {
	t := x.next()
	if t.kind != 'n' {
		return input, fmt.Errorf("%s where the name of a filter belongs", t)
	}
	var args arguments
	call := ""
	if x.accept("(") {
		var err error
		if args, err = x.arguments(); err != nil {
			return input, err
		}
		call = "(" + args.text + ")"
	}
	if t.text == "replace" {
		return rewritten{text: "__replace(" + input.text + args.behind() + ")"}, nil
	}
	function, ok := filters[t.text]
	function, withArgs := strings.CutSuffix(function, "*")
	switch {
	case !ok || t.text == "map" && !safeMap(args):
		return unsupported("the filter " + t.text + call), nil
	case withArgs && !args.simple && args.text != "":
		return unsupported("a computed argument of the filter " + t.text), nil
	case withArgs:
		input.text = function + "(" + input.text + args.behind() + ")"
	case function != "":
		input = input.through(function)
	}
	return rewritten{text: input.text + "|" + t.text + call}, nil
}

// safeMap allows map(attribute=…) and filters that make nothing longer.
func safeMap(a arguments) bool {
	if len(a.values) == 0 {
		return len(a.named) > 0
	}
	switch strings.Trim(a.values[0].text, `"'`) {
	case "trim", "string", "lower", "upper", "title", "capitalize", "length", "int", "float", "abs":
		return len(a.values) == 1 && a.values[0].literal
	}
	return false
}

// test: is [not] name [argument]
func (x *expression) test(r rewritten) (rewritten, error) {
	is := " is "
	if x.word("not") {
		is = " is not "
	}
	t := x.next()
	if t.kind != 'n' {
		return r, fmt.Errorf("%s where the name of a test belongs", t)
	}
	args, err := x.testArguments()
	if err != nil {
		return r, err
	}
	switch t.text {
	case "defined", "undefined", "none", "boolean", "integer", "float", "number", "string", "mapping", "iterable", "sequence",
		"callable", "true", "false", "odd", "even", "divisibleby":
	default:
		r = r.through("__use")
	}
	return rewritten{text: r.text + is + t.text + args, simple: r.simple && args == ""}, nil
}

// testArguments reads (a, b), or one operand without brackets.
func (x *expression) testArguments() (string, error) {
	if x.accept("(") {
		args, err := x.arguments()
		return "(" + args.text + ")", err
	}
	t := x.peek()
	if t.kind == '0' || t.kind == '"' || t.is('+', "[") || t.is('+', "{") || t.kind == 'n' &&
		!strings.Contains(" and or else if in is not ", " "+t.text+" ") {
		arg, err := x.signed()
		return "(" + arg.through("__use").text + ")", err
	}
	return "", nil
}
