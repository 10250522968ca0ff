// A chat template is a program by a stranger. The template library (v1.12) has no limit on loops, recursion or growth, and
// a goroutine that renders cannot be stopped from outside. So a template is rewritten before it is compiled: wherever it
// could loop, recurse or grow a value, the new text passes through a function of the render's budget (budget.go), which
// charges in advance and ends the render with an error when nothing is left. What the rewriting does not understand is
// refused, so nothing gets around the budget.

package chat

import (
	"fmt"
	"strings"
)

const (
	maxTemplate = 256 << 10 // bytes; the longest of 103 published templates has 25 kB
	maxTokens   = 2000      // in one tag
	maxNesting  = 100       // of blocks, and of brackets in one tag
)

// guarded is a rewritten template.
type guarded struct {
	source  string
	cost    int64 // units of budget that one pass over the top level takes
	maxBody int64 // units of the dearest macro body
}

// guardTemplate rewrites source.
func guardTemplate(source string) (guarded, error) {
	if len(source) > maxTemplate {
		return guarded{}, fmt.Errorf("it has %d bytes; at most %d are read", len(source), maxTemplate)
	}
	pieces, err := cutTemplate(source)
	if err != nil {
		return guarded{}, err
	}
	g := &guard{pieces: pieces}
	out, cost, end, err := g.block(nil)
	if err == nil && end != "" {
		err = fmt.Errorf("%s without its beginning", end)
	}
	if err != nil {
		return guarded{}, fmt.Errorf("line %d: %w", g.line, err)
	}
	return guarded{out, cost, g.maxBody}, nil
}

// guard rewrites block by block. Every method returns the new text and the units that executing it once costs.
type guard struct {
	pieces  []piece
	line    int
	depth   int
	maxBody int64
}

// block rewrites up to a statement that is one of ends, which it names and leaves to take. The top level has none.
func (g *guard) block(ends []string) (out string, cost int64, end string, err error) {
	if g.depth++; g.depth > maxNesting {
		return "", 0, "", fmt.Errorf("blocks are nested deeper than %d", maxNesting)
	}
	defer func() { g.depth-- }()
	var b strings.Builder
	for len(g.pieces) > 0 {
		p := g.pieces[0]
		g.line = p.line
		word, rest := keyword(p)
		if strings.HasPrefix(word, "end") || word == "else" || word == "elif" {
			for _, e := range ends {
				if e == word {
					return b.String(), cost, word, nil // the caller takes the piece
				}
			}
			return "", 0, "", fmt.Errorf("unexpected %s", word)
		}
		g.pieces = g.pieces[1:]
		text, c, err := g.piece(p, word, rest)
		if err != nil {
			return "", 0, "", err
		}
		b.WriteString(text)
		cost += c
	}
	if ends != nil {
		return "", 0, "", fmt.Errorf("%s is missing", ends[len(ends)-1])
	}
	return b.String(), cost, "", nil
}

// keyword splits a statement into its first word and the rest.
func keyword(p piece) (word, rest string) {
	if p.kind != '%' {
		return "", ""
	}
	s := strings.TrimSpace(p.text)
	n := span(s, isWord)
	return s[:n], s[n:]
}

func (g *guard) piece(p piece, word, rest string) (string, int64, error) {
	switch p.kind {
	case 't':
		return p.text, unitsPerByte * int64(len(p.text)), nil
	case '#':
		return "{#" + p.left + " " + p.right + "#}", 0, nil
	case '{':
		return g.output(p)
	}
	switch word {
	case "if":
		return g.ifBlock(p, rest)
	case "for":
		return g.forBlock(p, rest)
	case "set":
		return g.set(p, rest)
	case "macro":
		return g.macro(p, rest)
	case "filter":
		return g.filterBlock(p, rest)
	case "generation":
		return g.enclosed(p, "generation", "endgeneration")
	case "break", "continue":
		return statement(p, word), unitsPerToken, nil
	}
	return "", 0, fmt.Errorf("the statement %q is not supported", word)
}

// statement prints a statement tag with p's whitespace markers.
func statement(p piece, text string) string { return "{%" + p.left + " " + text + " " + p.right + "%}" }

func (g *guard) output(p piece) (string, int64, error) {
	e, cost, err := guardExpression(p.text)
	if err != nil {
		return "", 0, err
	}
	if !e.literal {
		e.text = "__out(" + e.text + ")"
	}
	return "{{" + p.left + " " + e.text + " " + p.right + "}}", cost, nil
}

// take consumes the statement that ended a block.
func (g *guard) take() piece {
	p := g.pieces[0]
	g.pieces = g.pieces[1:]
	return p
}

// ifBlock costs its dearest branch and all its conditions.
func (g *guard) ifBlock(p piece, rest string) (string, int64, error) {
	var b strings.Builder
	var conditions, dearest int64
	for word := "if"; ; {
		head := word
		if word != "else" {
			e, cost, err := guardExpression(rest)
			if err != nil {
				return "", 0, err
			}
			head += " " + e.text
			conditions += cost
		}
		b.WriteString(statement(p, head))
		ends := []string{"elif", "else", "endif"}
		if word == "else" {
			ends = ends[2:]
		}
		body, cost, end, err := g.block(ends)
		if err != nil {
			return "", 0, err
		}
		b.WriteString(body)
		dearest = max(dearest, cost)
		p = g.take()
		if end == "endif" {
			b.WriteString(statement(p, end))
			return b.String(), conditions + dearest, nil
		}
		word, rest = keyword(p)
	}
}

// forBlock charges all rounds of the loop before the first.
func (g *guard) forBlock(p piece, rest string) (string, int64, error) {
	head, cost, err := guardFor(rest)
	if err != nil {
		return "", 0, err
	}
	body, round, end, err := g.block([]string{"else", "endfor"})
	if err != nil {
		return "", 0, err
	}
	closing := g.take()
	if end == "else" {
		otherwise, c, _, err := g.block([]string{"endfor"})
		if err != nil {
			return "", 0, err
		}
		body += statement(closing, "else") + otherwise
		cost += c
		closing = g.take()
	}
	opening := statement(p, head.opening(round))
	return opening + body + statement(closing, "endfor"), cost, nil
}

func (g *guard) set(p piece, rest string) (string, int64, error) {
	targets, value, inline := strings.Cut(rest, "=")
	if err := checkTargets(targets); err != nil {
		return "", 0, err
	}
	if !inline {
		out, cost, err := g.enclosed(p, "set "+targets, "endset")
		return out, cost, err
	}
	e, cost, err := guardExpression("(" + value + ")")
	return statement(p, "set "+targets+" = "+e.text), cost, err
}

// enclosed rewrites a block that only renders its body.
func (g *guard) enclosed(p piece, head, ending string) (string, int64, error) {
	body, cost, _, err := g.block([]string{ending})
	if err != nil {
		return "", 0, err
	}
	return statement(p, head) + body + statement(g.take(), ending), cost, nil
}

func (g *guard) macro(p piece, rest string) (string, int64, error) {
	head, cost, err := guardMacro(rest)
	if err != nil {
		return "", 0, err
	}
	out, body, err := g.enclosed(p, "macro "+head, "endmacro")
	g.maxBody = max(g.maxBody, body+cost)
	return out, unitsPerToken, err
}

// filterBlock allows the filters that make nothing longer.
func (g *guard) filterBlock(p piece, rest string) (string, int64, error) {
	name := strings.TrimSpace(rest)
	switch name {
	case "trim", "lower", "upper", "string", "capitalize", "title":
		return g.enclosed(p, "filter "+name, "endfilter")
	}
	return "", 0, fmt.Errorf("a block with the filter %q is not supported", name)
}
