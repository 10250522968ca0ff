// What a recipe may be at most. The parser takes quadratic time for deep nesting and for many documents, so tokens are looked
// at before it is.

package recipe

import (
	"fmt"

	"molt/run/problem"

	"github.com/goccy/go-yaml/token"
)

const (
	maxRecipe = 1 << 20 // bytes: nobody writes a megabyte of settings by hand
	maxTokens = 50_000  // words and signs
	maxDepth  = 16      // of nesting; settings need four
	maxListed = 20      // problems of one file; the others are counted
	maxShown  = 120     // bytes of a line that a problem shows
)

// forbidden are parts of YAML with which a recipe could say what its lines do not.
var forbidden = map[token.Type]string{
	token.AnchorType: "an anchor", token.AliasType: "an alias", token.TagType: "a tag", token.MergeKeyType: "a merge key", token.MappingKeyType: "a key marked with ?",
	token.DirectiveType: "a directive",
}

// limit refuses what is too much, nested too deeply, or uses what recipes do not have.
func (r *reader) limit(tokens token.Tokens) error {
	var indents []int // columns of the block entries and keys that enclose a token
	flow, documents := 0, 0
	for i, t := range tokens {
		column := t.Position.Column
		if name, ok := forbidden[t.Type]; ok {
			return r.at(t.Position.Line, column, fmt.Sprintf("%s (%.20q): a recipe has no anchors, aliases, tags, merge keys, marked keys or directives", name, t.Value), "write the value itself, in quotes where it is meant as text")
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.DocumentHeaderType:
			if documents++; documents > 1 || i > 0 && !onlyComments(tokens[:i]) {
				return r.at(t.Position.Line, column, "a second document", "write one document into a recipe")
			}
		case token.SequenceEntryType, token.MappingValueType:
			if t.Type == token.MappingValueType && i > 0 { // the key before it is what is indented
				column = tokens[i-1].Position.Column
			}
			for len(indents) > 0 && indents[len(indents)-1] >= column {
				indents = indents[:len(indents)-1]
			}
			if flow == 0 {
				indents = append(indents, column)
			}
		}
		if flow+len(indents) > maxDepth {
			return r.at(t.Position.Line, t.Position.Column, fmt.Sprintf("nested more than %d deep", maxDepth), "settings need four levels; write them flatter")
		}
	}
	if len(tokens) > maxTokens {
		at := tokens[maxTokens].Position
		return r.at(at.Line, at.Column, fmt.Sprintf("more than %d words and signs", maxTokens), "a recipe needs some hundred; put data into files of their own")
	}
	return nil
}

func onlyComments(tokens token.Tokens) bool {
	for _, t := range tokens {
		if t.Type != token.CommentType {
			return false
		}
	}
	return true
}

// tell notes a problem, or only counts it.
func (r *reader) tell(p func() *problem.Problem) {
	if r.found++; r.found <= maxListed {
		r.problems = append(r.problems, p())
	}
}

// rest says how many problems were only counted.
func (r *reader) rest() error {
	if more := r.found - maxListed; more > 0 {
		return &problem.Problem{Code: problem.Recipe, Where: r.path, What: fmt.Sprintf("and %d more", more), Fix: "mend those first"}
	}
	return nil
}

// excerpt is the part of a line around a column, and the column in it.
func excerpt(line string, column int) (string, int) {
	if len(line) <= maxShown {
		return line, column
	}
	from := min(max(0, column-maxShown/2), len(line))
	to := min(len(line), from+maxShown)
	if from == 0 {
		return line[:to] + "…", column
	}
	return "…" + line[from:to], column - from + 1
}
