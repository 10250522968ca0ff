// What is demanded of a reply, as a grammar.

package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"molt/chat/grammar"
	"molt/chat/parse"
)

// Tool is a tool that may be called.
type Tool struct {
	Name   string
	Schema []byte // of its arguments; nil for any object
	Strict bool   // the schema must hold; else what is not understood of it restricts nothing
}

// Demand is what a reply must be.
type Demand struct {
	Tools  []Tool // that may be called
	Must   bool   // the reply calls one of them at least
	Single bool   // and no more than one
	Format bool   // it is a JSON value instead of text
	Schema []byte // of that value; nil for any object
}

// Speech is how a model spells, and what it was shown.
type Speech struct {
	Family *parse.Family
	Prompt string                   // the end of what was shown: whether reasoning is open stands there
	Code   func(text string) string // of markup: its text, with control tokens as grammar.Control spells them
	Ends   []int32                  // tokens that end a turn
	Quiet  bool                     // the reply does not open reasoning by itself
}

// Reply makes the grammar of a reply. Reasoning may come first, as the family has it. Where neither a call nor a format is
// demanded, the reply is free up to the opening of a call, and calls are of the tools, with arguments of their schemas.
func Reply(s Speech, d Demand) (*grammar.Grammar, error) {
	w := writer{Speech: s, demand: d}
	calls, err := w.calls()
	if err != nil {
		return nil, err
	}
	var body grammar.Pattern
	switch {
	case d.Must:
		body = calls
	case d.Format && calls != nil:
		body = grammar.Either(w.format(), calls)
	case d.Format:
		body = w.format()
	default:
		if body, err = w.free(); err != nil {
			return nil, err
		}
	}
	if d.Must || d.Format {
		body = grammar.Sequence(w.thinks(), body)
	}
	return grammar.Build(body)
}

type writer struct {
	Speech
	demand Demand
}

// text is markup of which some spaces may be left out.
func (w *writer) text(s string) grammar.Pattern {
	var parts []grammar.Pattern
	for s != "" {
		i := strings.IndexAny(s, "↵␣")
		if i < 0 {
			i = len(s)
		}
		parts = append(parts, grammar.Text(w.Code(s[:i])))
		switch s = s[i:]; {
		case strings.HasPrefix(s, "↵"):
			parts, s = append(parts, grammar.Optional(grammar.Text("\n"))), s[len("↵"):]
		case strings.HasPrefix(s, "␣"):
			parts, s = append(parts, grammar.Optional(grammar.Text(" "))), s[len("␣"):]
		}
	}
	return grammar.Sequence(parts...)
}

// spellings are a tag with its control tokens, and the same as plain text: both read alike.
func (w *writer) spellings(tag string) []string {
	if code := w.Code(tag); code != tag {
		return []string{code, tag}
	}
	return []string{tag}
}

// thinks is reasoning that may come before everything else, and must come to its end where the prompt opened it.
func (w *writer) thinks() grammar.Pattern {
	open, thought, begun := w.thought()
	switch {
	case thought == nil:
		return grammar.Sequence()
	case begun:
		return thought
	}
	return grammar.Optional(grammar.Sequence(w.text(open), thought))
}

// thought is reasoning behind what opens it, with its end; nil where none can come. begun says that the prompt has opened it.
func (w *writer) thought() (open string, thought grammar.Pattern, begun bool) {
	open, end := w.Family.Think()
	behind := "↵↵"
	if t, ok := thoughts[w.Family.Name]; ok {
		open, end, behind = t[0], t[1], t[2]
	}
	begun = w.Family.Read("x", w.Prompt, nil).Unclosed
	if end == "" || !begun && (w.Quiet || strings.HasSuffix(strings.TrimRight(w.Prompt, " \t\r\n"), end)) {
		return "", nil, false
	}
	text := grammar.FreeText{Stops: []grammar.Stop{{Texts: w.spellings(end), Then: w.text(behind)}}}
	if w.demand.Must || w.demand.Format {
		text.Without = w.Ends
	} else {
		text.Ends = true
	}
	return open, grammar.Free(text), begun
}

// format is a value in its format.
func (w *writer) format() grammar.Pattern {
	schema := w.demand.Schema
	value := grammar.Value(schema, false)
	a, ok := around[w.Family.Name]
	if !ok {
		return value
	}
	before, after := w.text(a[0]), w.text(a[1])
	if w.Family.Name == "harmony" {
		return grammar.Sequence(before, value)
	}
	return grammar.Either(value, grammar.Sequence(before, value, after))
}

var errNoForm = errors.New("this model's calls cannot be demanded")

// calls are all the calls of a reply.
func (w *writer) calls() (grammar.Pattern, error) {
	if len(w.demand.Tools) == 0 || w.demand.Format && !w.demand.Must && !w.Family.CallsTools() {
		return nil, nil
	}
	family := forms[w.Family.Name]
	if len(family) == 0 {
		return nil, errNoForm
	}
	var ways []grammar.Pattern
	for _, f := range family {
		one, err := w.call(f, f.open)
		if err != nil {
			return nil, err
		}
		ways = append(ways, grammar.Sequence(w.text(f.section), w.several(f, one), w.text(f.end)))
	}
	return grammar.Either(ways...), nil
}

func (w *writer) several(f form, one grammar.Pattern) grammar.Pattern {
	if w.demand.Single || f.once {
		return one
	}
	return grammar.Repeat(one, w.text(f.between))
}

// call is one call of one of the tools. open is what is left of its opening.
func (w *writer) call(f form, open string) (grammar.Pattern, error) {
	var words []grammar.Word
	for _, t := range w.demand.Tools {
		if slices.ContainsFunc(words, func(w grammar.Word) bool { return w.Text == t.Name }) {
			continue
		}
		if !named(w.Family, t.Name) {
			return nil, fmt.Errorf("this model's calls cannot name the tool %.60q", t.Name)
		}
		arguments, err := w.arguments(f, t)
		if err != nil {
			return nil, err
		}
		name := t.Name
		if f.name != nil {
			name = f.name(name)
		}
		words = append(words, grammar.Word{Text: name, Then: arguments})
	}
	return grammar.Sequence(w.text(open), grammar.Words(words...)), nil
}

// arguments are what follows a tool's name, up to the end of the call.
func (w *writer) arguments(f form, t Tool) (grammar.Pattern, error) {
	middle := w.text(f.middle)
	if f.digits {
		before := ":"
		if w.Family.Name == "kimi-k3" {
			before = `" index="`
		}
		middle = grammar.Sequence(grammar.Text(before), digits, middle)
	}
	value := grammar.Value(t.Schema, !t.Strict)
	if f.tagged {
		value = grammar.Tame(t.Schema, !t.Strict)
	}
	if f.style != nil {
		schema := t.Schema
		if schema == nil {
			schema = []byte(`{"type":"object"}`)
		}
		value = grammar.Arguments(schema, w.coded(f.style), !t.Strict)
	}
	if _, err := grammar.Build(value); err != nil {
		return nil, fmt.Errorf("the tool %.60q: %w", t.Name, err)
	}
	return grammar.Sequence(middle, value, w.text(f.close)), nil
}

// digits are a small number.
var digits = func() grammar.Pattern {
	var words []grammar.Word
	for i := range 1000 {
		words = append(words, grammar.Word{Text: fmt.Sprint(i), Then: grammar.Sequence()})
	}
	return grammar.Words(words...)
}()

// coded spells the control tokens of a style.
func (w *writer) coded(s *grammar.Style) *grammar.Style {
	out := *s
	out.Close, out.After, out.Between = w.Code(s.Close), w.Code(s.After), w.Code(s.Between)
	out.Before = func(name, kind string) string { return w.Code(s.Before(name, kind)) }
	out.Stops = nil
	for _, stop := range s.Stops {
		out.Stops = append(out.Stops, w.spellings(stop)...)
	}
	return &out
}
