// What is wrong with a file: every problem at once, each in one sentence.

package prompts

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a file.
type Problem struct {
	File  string
	Line  int    // from 1; 0 when it concerns the whole file
	Field string // the key; "" when it concerns the whole row
	What  string
	Fix   string
}

func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Field != "" {
		where += fmt.Sprintf(": key %q", p.Field)
	}
	return fmt.Sprintf("%s: %s; %s", where, p.What, p.Fix)
}

// maxProblems bounds what is kept; further ones are counted.
const maxProblems = 20

// Problems lists what is wrong with a file, in order of lines.
type Problems struct {
	List []Problem // at most 20
	More int       // problems beyond List
}

func (p *Problems) add(one Problem) {
	if len(p.List) == maxProblems {
		p.More++
		return
	}
	p.List = append(p.List, one)
}

// Len counts all problems.
func (p Problems) Len() int { return len(p.List) + p.More }

// Error gives a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p.List)+1)
	for _, one := range p.List {
		lines = append(lines, "prompts: "+one.String())
	}
	if p.More > 0 {
		lines = append(lines, fmt.Sprintf("prompts: and %d more", p.More))
	}
	return strings.Join(lines, "\n")
}

// Missing is what is wrong with a row that lacks a key.
const Missing = "missing"

// fault is a Problem before anyone knows where it is.
type fault struct{ field, what, fix string }
