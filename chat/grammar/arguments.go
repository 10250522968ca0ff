// Arguments that stand one by one between tags, or behind their names, instead of in one JSON object.

package grammar

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
)

// Style is how arguments are written.
type Style struct {
	Open, Close, Between string
	Before               func(name, kind string) string // in front of a value; kind is its type, text for one that is not written as JSON
	After                string                         // behind a value
	Text                 bool                           // strings are written as they are, up to Stops
	Stops                []string                       // spellings of the tag that ends a text; After ends with the first
	Name                 func(name string) bool         // names that can be written
}

// text is the kind of values that are written as they are.
const text = "string"

// Arguments are the members of an object schema in a style. Members come in the order of the schema. loose is as of Value:
// a schema that names no members then has none.
func Arguments(schema []byte, style *Style, loose bool) Pattern {
	return func(b *builder, next int32) (int32, error) {
		root, err := parse(schema)
		if err != nil {
			return 0, fmt.Errorf("reading the schema: %w", err)
		}
		a := &arguments{compiler: &compiler{builder: b, root: root, known: map[*value]int32{}, loose: loose, tame: style.Text}, style: style}
		at, err := a.compile(root, next)
		if err != nil {
			return 0, fmt.Errorf("the schema: %w", err)
		}
		return at, nil
	}
}

type arguments struct {
	*compiler
	style *Style
}

func (a *arguments) compile(v *value, next int32) (int32, error) {
	v, err := a.follow(v)
	if err != nil {
		return 0, err
	}
	if err := a.only(v, "type", "properties", "required", "additionalProperties"); err != nil {
		return 0, err
	}
	if t := v.get("type"); t != nil && t.text != "object" && !a.loose {
		return 0, fmt.Errorf("type %s; want object", t.spell())
	}
	required, err := a.required(v)
	if err != nil {
		return 0, err
	}
	var members []member
	if p := v.get("properties"); p != nil {
		members = p.members
	}
	if more := v.get("additionalProperties"); more != nil && more.spell() != "false" && !a.loose {
		return 0, fmt.Errorf("additionalProperties cannot be written here; say false")
	}
	first := a.text(a.style.Close, next)
	behind, free := first, 0
	for _, m := range slices.Backward(members) {
		at, err := a.member(m, behind)
		if err != nil {
			return 0, fmt.Errorf("property %q: %w", m.name, err)
		}
		further := a.text(a.style.Between, at)
		if required[m.name] {
			first, behind, free = at, further, 0
			continue
		}
		if free++; free > maxAlternatives {
			return 0, fmt.Errorf("more than %d properties in a row are not required", maxAlternatives)
		}
		first, behind = a.fork(at, first), a.fork(further, behind)
	}
	return a.text(a.style.Open, first), a.full()
}

// member writes one argument.
func (a *arguments) member(m member, next int32) (int32, error) {
	if a.style.Name != nil && !a.style.Name(m.name) {
		return 0, fmt.Errorf("its name cannot be written in this model's calls")
	}
	v, err := a.follow(m.value)
	if err != nil {
		if err = a.forgive(err); err != nil {
			return 0, err
		}
		v = &value{kind: jsontext.KindTrue, text: "true"}
	}
	if !a.style.Text {
		return a.json(m.name, v, next)
	}
	if list := literalsOf(v); list != nil {
		return a.listed(m.name, v, list, next)
	}
	plain, rest := a.texts(v, 0)
	switch {
	case !plain:
		return a.json(m.name, v, next)
	case !rest && !a.loose:
		return 0, fmt.Errorf("a string or something with parts cannot be told apart in this model's calls")
	}
	end := a.style.After
	for _, stop := range a.style.Stops[:1] {
		_, end, _ = strings.Cut(end, stop)
	}
	value, err := Free(FreeText{Plain: true, Stops: []Stop{{Texts: a.style.Stops, Then: Text(end)}}})(a.builder, next)
	return a.text(a.style.Before(m.name, text), value), err
}

// json writes a value as JSON.
func (a *arguments) json(name string, v *value, next int32) (int32, error) {
	r, err := a.rule(v)
	if err != nil {
		return 0, err
	}
	a.values = append(a.values, r)
	kind := "json"
	if t := v.get("type"); t != nil && t.text != "" {
		kind = t.text
	}
	return a.text(a.style.Before(name, kind), a.call(r, a.text(a.style.After, next))), nil
}

// literalsOf are the values of an enum or a const.
func literalsOf(v *value) []*value {
	if c := v.get("const"); c != nil {
		return []*value{c}
	}
	if e := v.get("enum"); e != nil {
		return e.items
	}
	return nil
}

// listed writes one of some values, strings as they are.
func (a *arguments) listed(name string, v *value, list []*value, next int32) (int32, error) {
	if err := a.only(v, "enum", "const", "type"); err != nil {
		return 0, err
	}
	var allowed []string
	if v.get("type") != nil {
		var err error
		if allowed, err = typesOf(v); err != nil {
			if err = a.forgive(err); err != nil {
				return 0, err
			}
		}
	}
	after, fork := a.text(a.style.After, next), a.fork()
	for _, one := range list {
		if allowed != nil && !one.is(allowed) {
			continue
		}
		kind, written := "json", one.spell()
		if one.kind == jsontext.KindString {
			if kind, written = text, one.text; a.hidden(one.text) {
				continue
			}
		}
		a.nodes[fork].also = append(a.nodes[fork].also, a.text(a.style.Before(name, kind)+written, after))
	}
	if len(a.nodes[fork].also) == 0 {
		return 0, fmt.Errorf("an enum has no value that can be written")
	}
	return fork, a.full()
}

// hidden reports whether a text cannot be written as it is.
func (a *arguments) hidden(s string) bool {
	return strings.IndexByte(s, controlByte) >= 0 || slices.ContainsFunc(a.style.Stops, func(stop string) bool { return strings.Contains(s, stop) })
}

// texts reports whether a value may be a string, and whether whatever else it may be has no parts of its own: then any text
// conforms, whatever it is read as.
func (a *arguments) texts(v *value, depth int) (may, rest bool) {
	if r, ok := basic(v); ok {
		return r == stringRule || r == anyRule, true
	}
	if any := v.get("anyOf"); any != nil && depth < maxNesting {
		rest = true
		for _, one := range any.items {
			one, err := a.follow(one)
			if err != nil {
				return true, false
			}
			m, r := a.texts(one, depth+1)
			may = may || m
			rest = rest && r && literalsOf(one) == nil
		}
		return may, rest
	}
	names, err := typesOf(v)
	if err != nil {
		return true, false
	}
	may = slices.Contains(names, "string")
	rest = only(v, "type") == nil && !slices.Contains(names, "object") && !slices.Contains(names, "array")
	return may, rest
}
