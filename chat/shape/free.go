// Replies that are free until a call opens, and how calls open.

package shape

import (
	"errors"
	"strings"

	"molt/chat/grammar"
	"molt/chat/parse"
)

// free is text in which calls are of the tools.
func (w *writer) free() (grammar.Pattern, error) {
	family := forms[w.Family.Name]
	if len(family) == 0 {
		return nil, errNoForm
	}
	stops := map[string][]grammar.Pattern{}
	for _, f := range family {
		if f.once {
			return nil, errors.New("this model's calls cannot be told from text in time")
		}
		if f.begins {
			return w.begins(f)
		}
		tag, rest := w.firstTag(f)
		one, err := w.call(f, f.open)
		if err != nil {
			return nil, err
		}
		if f.section == "" {
			if one, err = w.call(f, rest); err != nil {
				return nil, err
			}
			stops[tag] = append(stops[tag], one)
			continue
		}
		stops[tag] = append(stops[tag], grammar.Sequence(w.text(rest), w.several(f, one), w.text(f.end)))
	}
	text := grammar.FreeText{Ends: true}
	open, thought, begun := w.thought()
	if thought != nil && !begun {
		text.First = []grammar.Stop{{Texts: w.spellings(open), Then: thought, Back: true}}
	}
	for _, tag := range w.Family.Openings() {
		stop := grammar.Stop{Texts: w.spellings(tag), Back: true}
		if ways := stops[tag]; len(ways) > 0 {
			stop.Then = grammar.Either(ways...)
		}
		text.Stops = append(text.Stops, stop)
	}
	if begun {
		return grammar.Sequence(thought, grammar.Free(text)), nil
	}
	return grammar.Free(text), nil
}

// begins is text in which calls come at the beginning, without a tag, or behind one. What begins like a call is one.
func (w *writer) begins(f form) (grammar.Pattern, error) {
	bare := f.section + f.open
	one, err := w.call(f, bare[1:])
	if err != nil {
		return nil, err
	}
	whole, err := w.call(f, bare)
	if err != nil {
		return nil, err
	}
	if f.section != "" {
		one = grammar.Sequence(w.several(f, one), w.text(f.end))
	} else if !w.demand.Single {
		further := grammar.Sequence(w.text(f.between), whole)
		one, whole = grammar.Sequence(one, grammar.Optional(grammar.Repeat(further, grammar.Sequence()))), w.several(f, whole)
	}
	first := []grammar.Stop{{Texts: []string{bare[:1]}, Then: one, Back: true}}
	if bare[0] != '{' {
		first = append(first, grammar.Stop{Texts: []string{"{"}})
	}
	text := grammar.FreeText{Ends: true, First: first}
	for _, tag := range w.Family.Openings() {
		text.Stops = append(text.Stops, grammar.Stop{Texts: w.spellings(tag), Then: whole, Back: true})
	}
	body := grammar.Free(text)
	open, thought, begun := w.thought()
	switch {
	case thought == nil:
		return body, nil
	case begun:
		return grammar.Sequence(thought, body), nil
	}
	text.First = append(text.First, grammar.Stop{Texts: w.spellings(open), Then: grammar.Sequence(thought, body)})
	return grammar.Free(text), nil
}

// firstTag is the tag with which calls begin, and what follows it before the first name, or the first call.
func (w *writer) firstTag(f form) (tag, rest string) {
	begin := f.section + f.open
	if f.section != "" {
		begin = f.section
	}
	for _, opening := range w.Family.Openings() {
		if strings.HasPrefix(begin, opening) && len(opening) > len(tag) {
			tag = opening
		}
	}
	return tag, begin[len(tag):]
}

// Opening is how a family begins a call: what comes before the tool's name and behind it, up to the arguments, and how the
// name is written. It reports false for families of which that is not known, or not the same for every call.
func Opening(f *parse.Family) (before, behind string, name func(string) string, ok bool) {
	ways := forms[f.Name]
	if len(ways) == 0 || ways[0].digits {
		return "", "", nil, false
	}
	name = ways[0].name
	if name == nil {
		name = func(name string) string { return name }
	}
	spaced := strings.NewReplacer("↵", "\n", "␣", " ")
	return spaced.Replace(ways[0].section + ways[0].open), spaced.Replace(ways[0].middle), name, true
}
