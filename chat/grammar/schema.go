// From a JSON schema (draft 2020-12) to a grammar: the part of it that OpenAI's structured outputs and tools use.
//
// Members come in the order of the schema, those that are not required may be left out. A schema that does not speak of
// additionalProperties allows no others than it names, unless it names none. Whatever else would restrict a value and is not
// understood is refused by name.

package grammar

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxAlternatives bounds an anyOf, and the members in a row that may be left out.
const maxAlternatives = 128

// Schema compiles a JSON schema.
func Schema(text []byte) (*Grammar, error) {
	b := newBuilder()
	r, err := b.value(text, false, false)
	if err == nil {
		b.Grammar.root = r
		err = b.settle()
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	return &b.Grammar, nil
}

// builder is a grammar while it is made.
type builder struct {
	Grammar
	needs  []need  // [rules]
	values []int32 // rules that a text must be able to call
}

func newBuilder() *builder {
	b := &builder{}
	b.nodes, b.rules = slices.Clone(basics.nodes), slices.Clone(basics.rules)
	b.needs = make([]need, len(b.rules))
	return b
}

// value compiles a schema to a rule.
func (b *builder) value(text []byte, loose, tame bool) (int32, error) {
	root, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("reading the schema: %w", err)
	}
	c := &compiler{builder: b, root: root, known: map[*value]int32{}, loose: loose, tame: tame}
	r, err := c.rule(root)
	if err != nil {
		return 0, fmt.Errorf("the schema: %w", err)
	}
	b.values = append(b.values, r)
	return r, nil
}

// compiler reads one schema.
type compiler struct {
	*builder
	root  *value
	known map[*value]int32 // rules of schemas that are compiled, or being so
	loose bool             // what is not understood restricts nothing
	tame  bool             // the value stands between tags
}

// tamed is a rule of JSON itself as it may come here.
func (c *compiler) tamed(r int32) int32 {
	if t, ok := tamed[r]; ok && c.tame {
		return t
	}
	return r
}

// spelt is a text of JSON as it may come here.
func (c *compiler) spelt(text string) string {
	if c.tame {
		return strings.ReplaceAll(text, "<", `\u003c`)
	}
	return text
}

// need says which rules a rule calls in any case.
type need struct {
	all []int32 // every one of them
	any []int32 // and one of these; also where the rule begins, before it has read anything
}

// rule compiles a schema.
func (c *compiler) rule(v *value) (int32, error) {
	v, err := c.follow(v)
	if err != nil {
		return c.tamed(anyRule), c.forgive(err)
	}
	if r, ok := c.known[v]; ok {
		return r, nil
	}
	if r, ok := basic(v); ok {
		return c.tamed(r), nil
	}
	r := int32(len(c.rules))
	c.known[v] = r
	c.rules, c.needs = append(c.rules, rule{}), append(c.needs, need{})
	leave := c.add(node{kind: leaves})
	start, err := c.body(v, r, leave)
	if err != nil {
		start, c.needs[r] = c.rules[c.tamed(anyRule)].start, need{}
		err = c.forgive(err)
	}
	if err == nil {
		err = c.full()
	}
	c.rules[r].start = start
	return r, err
}

// forgive drops an error about what is not understood, where that restricts nothing.
func (c *compiler) forgive(err error) error {
	if c.loose {
		return nil
	}
	return err
}

// annotations say nothing about which values conform. As in draft 2020-12, format is one of them.
var annotations = strings.Fields("title description default examples example $schema $id $comment $defs definitions deprecated readOnly writeOnly format discriminator contentMediaType contentEncoding")

// only refuses keywords that are neither these nor annotations.
func only(v *value, keywords ...string) error {
	for _, m := range v.members {
		if !slices.Contains(annotations, m.name) && !slices.Contains(keywords, m.name) {
			return fmt.Errorf("%q is not supported beside %s", m.name, strings.Join(keywords, ", "))
		}
	}
	return nil
}

func (c *compiler) only(v *value, keywords ...string) error { return c.forgive(only(v, keywords...)) }

// follow goes from references to what they mean.
func (c *compiler) follow(v *value) (*value, error) {
	for range maxNesting {
		if v.kind != jsontext.KindBeginObject && v.kind != jsontext.KindTrue {
			return nil, fmt.Errorf("a schema is %q; want an object", v.spell())
		}
		ref, all := v.get("$ref"), v.get("allOf")
		switch {
		case ref != nil:
			if err := c.only(v, "$ref"); err != nil {
				return nil, err
			}
			target, err := c.resolve(ref)
			if err != nil {
				return nil, err
			}
			v = target
		case all != nil && len(all.items) == 1:
			if err := c.only(v, "allOf"); err != nil {
				return nil, err
			}
			v = all.items[0]
		default:
			return v, nil
		}
	}
	return nil, fmt.Errorf("a $ref leads from one to the next without end")
}

// resolve finds the target of a JSON pointer (RFC 6901).
func (c *compiler) resolve(ref *value) (*value, error) {
	path, ok := strings.CutPrefix(ref.text, "#")
	if ref.kind != jsontext.KindString || !ok || path != "" && path[0] != '/' {
		return nil, fmt.Errorf("$ref %s; want a pointer into the schema, such as \"#/$defs/name\"", ref.spell())
	}
	v := c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := v.get(part)
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v.items) {
			next = v.items[i]
		}
		if next == nil {
			return nil, fmt.Errorf("$ref %q leads nowhere", ref.text)
		}
		v = next
	}
	return v, nil
}

// basic finds schemas that are rules of JSON itself.
func basic(v *value) (int32, bool) {
	if v.kind == jsontext.KindTrue {
		return anyRule, v.text == "true"
	}
	if only(v, "type") != nil {
		return 0, false
	}
	t := v.get("type")
	if t == nil {
		return anyRule, true
	}
	if t.kind != jsontext.KindString {
		return 0, false
	}
	r, ok := types[t.text]
	return r, ok
}

var types = map[string]int32{
	"string": stringRule, "integer": integerRule, "number": numberRule, "boolean": booleanRule, "null": nullRule,
	"object": objectRule, "array": arrayRule,
}

// body compiles a schema that is none of the basic ones.
func (c *compiler) body(v *value, r, leave int32) (int32, error) {
	switch {
	case v.kind == jsontext.KindTrue:
		return 0, fmt.Errorf("a schema is false: nothing conforms")
	case v.get("const") != nil:
		return c.literals(v, []*value{v.get("const")}, leave)
	case v.get("enum") != nil:
		return c.literals(v, v.get("enum").items, leave)
	case v.get("anyOf") != nil:
		return c.alternatives(v, r, leave)
	}
	return c.typed(v, r, leave)
}

// alternatives compiles an anyOf.
func (c *compiler) alternatives(v *value, r, leave int32) (int32, error) {
	if err := c.only(v, "anyOf"); err != nil {
		return 0, err
	}
	schemas := v.get("anyOf").items
	if len(schemas) == 0 || len(schemas) > maxAlternatives {
		return 0, fmt.Errorf("anyOf has %d schemas; want 1 to %d", len(schemas), maxAlternatives)
	}
	fork := c.fork()
	for _, s := range schemas {
		one, err := c.rule(s)
		if err != nil {
			return 0, err
		}
		c.needs[r].any = append(c.needs[r].any, one)
		call := c.call(one, leave)
		c.nodes[fork].also = append(c.nodes[fork].also, call)
	}
	return fork, nil
}

// typed compiles a schema by its type, or by the types in its list.
func (c *compiler) typed(v *value, r, leave int32) (int32, error) {
	if err := c.only(v, "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"); err != nil {
		return 0, err
	}
	names, err := typesOf(v)
	if err != nil {
		return 0, err
	}
	switch {
	case len(names) > 1:
		return c.split(v, names, r, leave)
	case names[0] == "object":
		return c.object(v, r, leave)
	case names[0] == "array":
		return c.array(v, r, leave)
	}
	one := c.tamed(types[names[0]])
	c.needs[r].any = []int32{one}
	return c.call(one, leave), nil
}

// split gives each type of a list a rule of its own, so that each has its own needs.
func (c *compiler) split(v *value, names []string, r, leave int32) (int32, error) {
	fork := c.fork()
	for _, name := range names {
		one := *v
		one.members = slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return m.name == "type" || !belongs(m.name, name) })
		one.members = append(one.members, member{"type", &value{kind: jsontext.KindString, text: name}})
		rule, err := c.rule(&one)
		if err != nil {
			return 0, err
		}
		c.needs[r].any = append(c.needs[r].any, rule)
		call := c.call(rule, leave)
		c.nodes[fork].also = append(c.nodes[fork].also, call)
	}
	return fork, nil
}

// belongs reports whether a keyword says something about values of this type.
func belongs(keyword, name string) bool {
	switch keyword {
	case "properties", "required", "additionalProperties":
		return name == "object"
	case "items", "minItems", "maxItems":
		return name == "array"
	}
	return true
}

// typesOf lists the types of a schema. One that names none but speaks of members or items means those.
func typesOf(v *value) ([]string, error) {
	t := v.get("type")
	var names []string
	switch {
	case t == nil && v.get("properties") != nil:
		return []string{"object"}, nil
	case t == nil && v.get("items") != nil:
		return []string{"array"}, nil
	case t == nil:
		return nil, fmt.Errorf("%s has no type; name one", v.spell())
	case t.kind == jsontext.KindString:
		names = []string{t.text}
	}
	for _, item := range t.items {
		names = append(names, item.text)
	}
	for i, name := range names {
		if _, ok := types[name]; !ok || slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("type %s; want object, array, string, number, integer, boolean or null", t.spell())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("type %s; want the name of one", t.spell())
	}
	return names, nil
}
