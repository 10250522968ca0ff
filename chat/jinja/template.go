// Compiling and rendering.

package jinja

import (
	"errors"
	"fmt"
	"strings"
)

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	body []statement
}

// Compile reads a template. An error names the line.
func Compile(source string) (*Template, error) {
	l, err := lex(source)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line(l.source, l.at), err)
	}
	p := &parser{tokens: l.tokens, names: map[string]bool{}}
	body, _, err := p.body()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line(l.source, p.tokens[max(0, p.at-1)].at), err)
	}
	return &Template{body}, nil
}

func line(source string, at int) int { return 1 + strings.Count(source[:min(at, len(source))], "\n") }

// render is one run of a template, in one goroutine.
type render struct {
	units int // left of the budget
	calls int // macros inside macros
	depth int // of values that are compared
	out   *strings.Builder
}

// Render runs the template. size is about how many bytes the variables hold: the budget grows with it. The values belong to
// the caller and are not changed.
func (t *Template) Render(variables map[string]any, size int) (string, error) {
	r := &render{units: baseUnits + unitsPerInput*size, out: &strings.Builder{}}
	top := &scope{given: variables, parent: globals}
	err := r.run(t.body, &scope{parent: top})
	if err != nil {
		return "", err
	}
	return r.out.String(), nil
}

// scope holds the variables of a body. Assignments go to the innermost one; reading looks outwards.
type scope struct {
	given  map[string]any // what the scope began with; the globals and the caller's variables
	own    []variable     // the first few that were assigned
	more   map[string]any // the others
	parent *scope
}

const few = 16

type variable struct {
	name  string
	value any
}

func (s *scope) get(name string) (any, bool) {
	for ; s != nil; s = s.parent {
		for i := range s.own {
			if s.own[i].name == name {
				return s.own[i].value, true
			}
		}
		if v, ok := s.more[name]; ok {
			return v, true
		}
		if v, ok := s.given[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) set(name string, v any) {
	for i := range s.own {
		if s.own[i].name == name {
			s.own[i].value = v
			return
		}
	}
	switch {
	case len(s.own) < few:
		s.own = append(s.own, variable{name, v})
	case s.more == nil:
		s.more = map[string]any{name: v}
	default:
		s.more[name] = v
	}
}

// errBreak and errContinue leave the body of a loop.
var errBreak, errContinue = errors.New("break"), errors.New("continue")
