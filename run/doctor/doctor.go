package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"molt/internal/spell"
	"molt/run/models"
	"molt/run/problem"
)

// Finding is one thing that was looked at.
type Finding struct {
	Check string `json:"check"` // what was looked at, in a word or two
	State State  `json:"state"`
	Says  string `json:"says"`          // one sentence
	Fix   string `json:"fix,omitempty"` // of a problem, and of a note where there is something to do
}

// State is how bad it is.
type State string

const (
	OK      State = "ok"
	Note    State = "note"    // good to know; nothing is broken
	Problem State = "problem" // training on it would go wrong
)

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, State: OK, Says: fmt.Sprintf(format, args...)}
}

func note(check, says, fix string) Finding { return Finding{check, Note, says, fix} }

func broken(check, says, fix string) Finding { return Finding{check, Problem, says, fix} }

// Report is everything that was found.
type Report struct {
	Model    string    `json:"model,omitempty"`
	Findings []Finding `json:"findings"`
}

// Problems counts them.
func (r *Report) Problems() int {
	n := 0
	for _, f := range r.Findings {
		if f.State == Problem {
			n++
		}
	}
	return n
}

func (r *Report) add(f ...Finding) { r.Findings = append(r.Findings, f...) }

// Examine looks at this machine and, where a model folder is named, at everything in it.
func Examine(ctx context.Context, path string, threads int) *Report {
	r := &Report{Model: path}
	r.add(Machine(ctx, threads)...)
	if path == "" {
		return r
	}
	m, err := open(path)
	if err != nil {
		r.add(refusals("files", err)...)
		return r
	}
	r.add(checksums(path)...)
	r.add(licence(path))
	r.add(Texts(m)...)
	r.add(memory(m)...)
	r.add(equality(ctx, m, threads))
	return r
}

func open(path string) (*models.Model, error) {
	if err := models.PointToModel(path); err != nil {
		return nil, err
	}
	return models.Open(path)
}

// refusals makes findings of an error.
func refusals(check string, err error) []Finding {
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok {
		return []Finding{broken(check, err.Error(), "")}
	}
	return []Finding{broken(check, p.Sentence(), p.Remedy())}
}

// Texts is what can be said of an open model without running it. It takes a fraction of a second.
func Texts(m *models.Model) []Finding {
	found := append(vocabulary(m), lostBytes(m), roundTrip(m))
	if m.Renderer == nil {
		return append(found, note("chat template", "there is none: the model completes text, and holds no conversation", "add a chat_template.jinja to train on conversations"))
	}
	found = append(found, tokens(m)...)
	found = append(found, end(m))
	return append(found, template(m)...)
}

// Warn prints the problems of Texts.
func Warn(to io.Writer, m *models.Model) {
	for _, f := range Texts(m) {
		if f.State == Problem {
			fmt.Fprintf(to, "warning: %s: %s; %s (molt doctor says more)\n", f.Check, f.Says, f.Fix)
		}
	}
}

// String shows the report for people.
func (r *Report) String() string {
	var b strings.Builder
	if r.Model != "" {
		fmt.Fprintf(&b, "%s\n", spell.Quoted(r.Model))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %-14s %s\n", f.State, f.Check, f.Says)
		if f.Fix != "" {
			fmt.Fprintf(&b, "%-8s %-14s fix: %s\n", "", "", f.Fix)
		}
	}
	switch n := r.Problems(); n {
	case 0:
		b.WriteString("no problems\n")
	case 1:
		b.WriteString("1 problem\n")
	default:
		fmt.Fprintf(&b, "%d problems\n", n)
	}
	return b.String()
}
