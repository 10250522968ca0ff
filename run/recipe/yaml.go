// Recipe files: YAML with the same names as the flags. Unknown or duplicate keys and wrong values are refused with the
// place, the line, and the nearest valid name; all problems of a file are reported at once.

package recipe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"molt/internal/spell"
	"molt/run/problem"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Read applies the recipe file at path to the settings.
func Read(path string, settings []*Setting) error {
	unreadable := func(err error) error {
		return &problem.Problem{Code: problem.Recipe, Where: path, What: "cannot read the recipe", Why: problem.Reason(err), Fix: "check the path", Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return unreadable(err)
	}
	defer f.Close() // read only: nothing can be lost
	text, err := io.ReadAll(io.LimitReader(f, maxRecipe+1))
	if err != nil {
		return unreadable(err)
	}
	if len(text) > maxRecipe {
		return &problem.Problem{Code: problem.Recipe, Where: path, What: fmt.Sprintf("the recipe has more than %d bytes", maxRecipe), Fix: "keep it below"}
	}
	return apply(path, string(text), settings)
}

func apply(path, text string, settings []*Setting) error {
	r := reader{path: path, lines: strings.Split(text, "\n"), settings: settings, seen: map[string]bool{}}
	tokens := lexer.Tokenize(text)
	if err := r.limit(tokens); err != nil {
		return err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return r.syntax(err)
	}
	for _, doc := range file.Docs {
		r.node("", doc.Body)
	}
	return errors.Join(append(r.problems, r.rest())...)
}

// syntax turns the parser's "[line:column] message" into a problem.
func (r *reader) syntax(err error) error {
	first, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	var line, column int
	if _, scanErr := fmt.Sscanf(first, "[%d:%d]", &line, &column); scanErr != nil {
		return &problem.Problem{Code: problem.Recipe, Where: r.path, What: "not valid YAML", Why: spell.Cut(first, maxShown), Fix: "mend it"}
	}
	_, message, _ := strings.Cut(first, "] ")
	return r.at(line, column, "not valid YAML: "+spell.Cut(message, maxShown), "mend the line shown")
}

type reader struct {
	path     string
	lines    []string
	settings []*Setting
	seen     map[string]bool
	problems []error
	found    int // problems, those that are not listed included
}

// node walks a mapping whose keys are completed by prefix.
func (r *reader) node(prefix string, n ast.Node) {
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingNode:
		for _, v := range n.Values {
			r.pair(prefix, v)
		}
	case *ast.MappingValueNode:
		r.pair(prefix, n)
	default:
		r.problem(n, fmt.Sprintf("%s wants keys with values", strings.TrimSuffix(prefix, ".")), "write `key: value` lines below it")
	}
}

func (r *reader) pair(prefix string, pair *ast.MappingValueNode) {
	name := prefix + strings.ReplaceAll(pair.Key.GetToken().Value, "-", "_")
	if r.seen[name] {
		r.problem(pair.Key, fmt.Sprintf("key %q appears twice", name), "keep one of the two")
		return
	}
	r.seen[name] = true
	if s := Find(r.settings, name); s != nil {
		r.leaf(s, pair)
		return
	}
	if r.isSection(name) {
		r.node(name+".", pair.Value)
		return
	}
	r.tell(func() *problem.Problem {
		at := pair.Key.GetToken().Position
		return r.at(at.Line, at.Column, fmt.Sprintf("unknown key %.80q%s", name, spell.DidYouMean(name, Names(r.settings))), "`molt help settings` lists every key")
	})
}

func (r *reader) isSection(name string) bool {
	return slices.ContainsFunc(r.settings, func(s *Setting) bool { return strings.HasPrefix(s.Name, name+".") })
}

func (r *reader) leaf(s *Setting, pair *ast.MappingValueNode) {
	text, ok := scalarOrList(pair.Value, s.value.Kind() == reflect.Slice)
	if !ok {
		r.problem(pair.Value, s.Name+" wants one value", "write it behind the colon")
		return
	}
	line := pair.Key.GetToken().Position.Line
	if err := s.Set(text, fmt.Sprintf("%s:%d", r.path, line)); err != nil {
		r.problem(pair.Value, s.Name+" "+err.Error(), s.Help)
	}
}

// scalarOrList gives the text of a scalar, or of a list of scalars joined with commas.
func scalarOrList(n ast.Node, list bool) (string, bool) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		items := make([]string, len(n.Values))
		for i, v := range n.Values {
			text, ok := scalarOrList(v, false)
			if !ok || strings.Contains(text, ",") {
				return "", false
			}
			items[i] = text
		}
		return strings.Join(items, ","), list
	case *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (r *reader) problem(n ast.Node, what, fix string) {
	at := n.GetToken().Position
	r.tell(func() *problem.Problem { return r.at(at.Line, at.Column, what, fix) })
}

func (r *reader) at(line, column int, what, fix string) *problem.Problem {
	p := &problem.Problem{Code: problem.Recipe, Where: fmt.Sprintf("%s:%d:%d", r.path, line, column), What: what, Fix: fix}
	if line >= 1 && line <= len(r.lines) {
		p.Line, p.Column = excerpt(r.lines[line-1], column)
	}
	return p
}

// Write writes all settings as a recipe that runs again as is, each with its source as a comment.
func Write(settings []*Setting) string {
	var b strings.Builder
	var open []string
	for _, s := range settings {
		parts := strings.Split(s.Name, ".")
		sections := parts[:len(parts)-1]
		for depth, section := range sections {
			if depth >= len(open) || open[depth] != section {
				fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", depth), section)
				open = append(open[:depth:depth], section)
			}
		}
		open = open[:len(sections)]
		fmt.Fprintf(&b, "%s%s: %s  # %s\n", strings.Repeat("  ", len(sections)), parts[len(parts)-1], yamlValue(s.value), spell.Quoted(s.Source))
	}
	return b.String()
}

// yamlValue writes strings quoted, lists in brackets, and everything else as Go prints it.
func yamlValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = yamlValue(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}
