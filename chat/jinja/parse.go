// Parsing statements.

package jinja

import (
	"fmt"
	"slices"
	"strings"
)

const maxNesting = 100 // of statements, and of brackets and operators in one expression

type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int             // around the statement
	names  map[string]bool // read since a macro began
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != 0 {
		p.at++
	}
	return t
}

// is reports whether the next token is an operator, a bracket or a keyword.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == 'o' || t.kind == 'n') && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("%s where %q belongs", p.peek(), text)
	}
	return nil
}

func (p *parser) name() (string, error) {
	if t := p.peek(); t.kind != 'n' {
		return "", fmt.Errorf("%s where a name belongs", t)
	}
	return p.next().text, nil
}

// end wants the end of the tag.
func (p *parser) end() error {
	if t := p.peek(); t.kind != '}' {
		return fmt.Errorf("unexpected %s", t)
	}
	p.at++
	return nil
}

// String names a token in errors.
func (t token) String() string {
	switch t.kind {
	case 0:
		return "the end of the template"
	case '}':
		return "the end of the tag"
	case 's':
		return "a string"
	}
	return fmt.Sprintf("%.60q", t.text)
}

// body reads statements up to one whose keyword is among ends, and consumes that keyword. The whole template has no ends.
func (p *parser) body(ends ...string) (body []statement, end string, err error) {
	if p.depth++; p.depth > maxNesting {
		return nil, "", fmt.Errorf("statements are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	for {
		switch t := p.next(); t.kind {
		case 0:
			if ends != nil {
				return nil, "", fmt.Errorf("%s is missing", ends[len(ends)-1])
			}
			return body, "", nil
		case 't':
			body = append(body, textStmt{t.text})
		case '{':
			value, err := p.tuple()
			if err == nil {
				err = p.end()
			}
			if err != nil {
				return nil, "", err
			}
			body = append(body, outputStmt{value})
		case '%':
			word, err := p.name()
			if err != nil {
				return nil, "", err
			}
			if slices.Contains(ends, word) {
				return body, word, nil
			}
			s, err := p.statement(word)
			if err != nil {
				return nil, "", err
			}
			body = append(body, s)
		default:
			return nil, "", fmt.Errorf("unexpected %s", t)
		}
	}
}

// block reads the end of a tag, a body, and the end of the tag that closes it.
func (p *parser) block(end string) ([]statement, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	body, _, err := p.body(end)
	if err != nil {
		return nil, err
	}
	return body, p.end()
}

func (p *parser) statement(word string) (statement, error) {
	switch word {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.set()
	case "macro":
		return p.macroStatement()
	case "call":
		return p.callBlock()
	case "filter":
		return p.filterBlock()
	case "with":
		return p.with()
	case "generation":
		body, err := p.block("endgeneration")
		return scopeStmt{body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, fmt.Errorf("%s outside a loop", word)
		}
		if word == "break" {
			return breakStmt{}, p.end()
		}
		return continueStmt{}, p.end()
	case "include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug":
		return nil, fmt.Errorf("the statement %q is not supported", word)
	}
	if strings.HasPrefix(word, "end") || word == "else" || word == "elif" {
		return nil, fmt.Errorf("unexpected %s", word)
	}
	return nil, fmt.Errorf("the statement %.60q is not supported", word)
}

// ifStatement: an elif is an if in the else of the one before.
func (p *parser) ifStatement() (statement, error) {
	var first ifStmt
	s := &first
	for {
		var err error
		if s.test, err = p.tupleOf(p.or); err != nil {
			return nil, err
		}
		if err := p.end(); err != nil {
			return nil, err
		}
		var end string
		if s.then, end, err = p.body("elif", "else", "endif"); err != nil {
			return nil, err
		}
		switch end {
		case "endif":
			return &first, p.end()
		case "else":
			s.other, err = p.block("endif")
			return &first, err
		}
		inner := &ifStmt{}
		s.other = []statement{inner}
		s = inner
	}
}

func (p *parser) forStatement() (statement, error) {
	var s forStmt
	var err error
	if s.target, err = p.target(false); err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if s.iterable, err = p.tupleOf(p.or); err != nil {
		return nil, err
	}
	if p.accept("if") {
		if s.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.is("recursive") {
		return nil, fmt.Errorf("recursive loops are not supported")
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	p.loops++
	body, end, err := p.body("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if s.body = body; end == "else" {
		s.other, err = p.block("endfor")
		return &s, err
	}
	return &s, p.end()
}

// blockFilters reads | filter | filter.
func (p *parser) blockFilters() (filters []filterExpr, err error) {
	for p.accept("|") {
		f, err := p.filter(nil)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func (p *parser) filterBlock() (statement, error) {
	f, err := p.filter(nil)
	if err != nil {
		return nil, err
	}
	more, err := p.blockFilters()
	if err != nil {
		return nil, err
	}
	body, err := p.block("endfilter")
	return &setBlockStmt{filters: append([]filterExpr{f}, more...), body: body}, err
}
