// Rewriting expressions. The grammar is Jinja's; each rule parses what it names and returns the new text.

package chat

import (
	"fmt"
	"strings"
)

// rewritten is a piece of an expression.
type rewritten struct {
	text    string
	literal bool // one string, number, true, false or none: of known size
	simple  bool // names, literals, attributes and operators only: cheap to write twice
}

func (r rewritten) through(function string) rewritten {
	if r.literal {
		return r
	}
	return rewritten{text: function + "(" + r.text + ")"}
}

// expression is a recursive-descent parser over the tokens of one tag.
type expression struct {
	tokens []token
	at     int
	depth  int
}

// guardExpression rewrites a whole expression and says how many units one evaluation costs besides what is charged while
// it runs.
func guardExpression(text string) (rewritten, int64, error) {
	x, cost, err := parseTag(text)
	if err != nil {
		return rewritten{}, 0, err
	}
	r, err := x.condition()
	if err == nil {
		err = x.expectEnd()
	}
	return r, cost, err
}

func parseTag(text string) (*expression, int64, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, 0, err
	}
	if len(tokens) > maxTokens {
		return nil, 0, fmt.Errorf("a tag of %d tokens; at most %d are read", len(tokens), maxTokens)
	}
	var cost int64
	for _, t := range tokens {
		cost += unitsPerToken
		if t.kind == '"' {
			cost += unitsPerByte * int64(len(t.text))
		}
		if t.kind == 'n' && strings.HasPrefix(t.text, "__") {
			return nil, 0, fmt.Errorf("the name %s is not allowed", t.text)
		}
	}
	return &expression{tokens: tokens}, cost, nil
}

func (x *expression) peek() token { return x.tokens[x.at] }

func (x *expression) next() token {
	t := x.tokens[x.at]
	if t.kind != 0 {
		x.at++
	}
	return t
}

// accept consumes an operator or bracket.
func (x *expression) accept(text string) bool {
	if x.peek().is('+', text) {
		x.at++
		return true
	}
	return false
}

// word consumes a keyword.
func (x *expression) word(text string) bool {
	if x.peek().is('n', text) {
		x.at++
		return true
	}
	return false
}

func (x *expression) expect(text string) error {
	if !x.accept(text) {
		return fmt.Errorf("%s where %q belongs", x.peek(), text)
	}
	return nil
}

func (x *expression) expectEnd() error {
	if t := x.peek(); t.kind != 0 {
		return fmt.Errorf("unexpected %s", t)
	}
	return nil
}

// condition: or [if or [else condition]]
func (x *expression) condition() (rewritten, error) {
	if x.depth++; x.depth > maxNesting {
		return rewritten{}, fmt.Errorf("an expression is nested deeper than %d", maxNesting)
	}
	defer func() { x.depth-- }()
	r, err := x.or()
	if err != nil || !x.word("if") {
		return r, err
	}
	test, err := x.or()
	if err != nil {
		return r, err
	}
	text := r.text + " if " + test.text
	if x.word("else") {
		other, err := x.condition()
		if err != nil {
			return r, err
		}
		text += " else " + other.text
	}
	return rewritten{text: text}, nil
}

func (x *expression) or() (rewritten, error)  { return x.chain("or", x.and) }
func (x *expression) and() (rewritten, error) { return x.chain("and", x.not) }

func (x *expression) chain(word string, operand func() (rewritten, error)) (rewritten, error) {
	r, err := operand()
	for err == nil && x.word(word) {
		var right rewritten
		right, err = operand()
		r = rewritten{text: r.text + " " + word + " " + right.text, simple: r.simple && right.simple}
	}
	return r, err
}

func (x *expression) not() (rewritten, error) {
	nots := 0
	for x.word("not") {
		nots++
	}
	r, err := x.comparison()
	if nots > 0 {
		r = rewritten{text: strings.Repeat("not ", nots) + r.text, simple: r.simple}
	}
	return r, err
}

// comparison charges the size of both sides, unless one is a literal and bounds the work.
func (x *expression) comparison() (rewritten, error) {
	left, err := x.concatenation()
	text, simple, compared := left.text, left.simple, false
	for err == nil {
		op, ok := x.comparator()
		if !ok {
			break
		}
		var right rewritten
		right, err = x.concatenation()
		if bounded := (left.literal || right.literal) && !strings.HasSuffix(op, "in"); !bounded {
			if !compared {
				text = left.through("__use").text
			}
			right = right.through("__use")
		}
		text += " " + op + " " + right.text
		left, simple, compared = right, simple && right.simple, true
	}
	if !compared {
		return left, err
	}
	return rewritten{text: text, simple: simple}, err
}

func (x *expression) comparator() (string, bool) {
	t := x.peek()
	switch {
	case t.kind == '+' && strings.Contains(" == != < > <= >= ", " "+t.text+" "):
		x.at++
		return t.text, true
	case t.is('n', "in"):
		x.at++
		return "in", true
	case t.is('n', "not") && x.tokens[x.at+1].is('n', "in"):
		x.at += 2
		return "not in", true
	}
	return "", false
}

func (x *expression) concatenation() (rewritten, error) { return x.binary(x.sum, "~") }
func (x *expression) sum() (rewritten, error)           { return x.binary(x.product, "+", "-") }
func (x *expression) product() (rewritten, error)       { return x.binary(x.power, "*", "/", "//", "%") }
func (x *expression) power() (rewritten, error)         { return x.binary(x.unary, "**") }

// binary rewrites left-associative operators. Those that can make something longer are charged.
func (x *expression) binary(operand func() (rewritten, error), ops ...string) (rewritten, error) {
	left, err := operand()
	for err == nil {
		op := ""
		for _, candidate := range ops {
			if x.accept(candidate) {
				op = candidate
				break
			}
		}
		if op == "" {
			break
		}
		var right rewritten
		right, err = operand()
		switch op {
		case "~":
			left = rewritten{text: left.through("__grow").text + " ~ " + right.through("__grow").text}
		case "+":
			left = rewritten{text: "__plus(" + left.text + ", " + right.text + ")"}
		case "*":
			left = rewritten{text: "__times(" + left.text + ", " + right.text + ")"}
		case "%":
			left = rewritten{text: "__modulo(" + left.text + ", " + right.text + ")"}
		default:
			left = rewritten{text: left.text + " " + op + " " + right.text, simple: left.simple && right.simple}
		}
	}
	return left, err
}

// unary: a sign binds tighter than filters and tests, looser than attributes.
func (x *expression) unary() (rewritten, error) {
	r, err := x.signed()
	for err == nil {
		switch {
		case x.accept("|"):
			r, err = x.filter(r)
		case x.word("is"):
			r, err = x.test(r)
		default:
			return r, nil
		}
	}
	return r, err
}

func (x *expression) signed() (rewritten, error) {
	signs := ""
	for x.peek().is('+', "-") || x.peek().is('+', "+") {
		signs += x.next().text
	}
	r, err := x.atom()
	for err == nil {
		done := false
		if r, done, err = x.postfix(r); done {
			break
		}
	}
	if signs != "" {
		r.text = signs + r.text
	}
	return r, err
}
