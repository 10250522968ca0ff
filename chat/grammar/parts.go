// Objects, arrays and literals of a schema.

package grammar

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
)

// object compiles an object with the members that the schema names, in its order, or with any names when it names none.
func (c *compiler) object(v *value, r, leave int32) (int32, error) {
	required, err := c.required(v)
	if err != nil {
		return 0, err
	}
	properties := v.get("properties")
	if properties == nil || len(properties.members) == 0 {
		return c.mapping(v, leave)
	}
	rules := make([]int32, len(properties.members))
	for i, m := range properties.members {
		if rules[i], err = c.rule(m.value); err != nil {
			return 0, fmt.Errorf("property %q: %w", m.name, err)
		}
		if required[m.name] {
			c.needs[r].all = append(c.needs[r].all, rules[i])
		}
	}
	first := c.text("}", leave) // goes on before any member, and behind one
	behind, free := first, 0
	for i, m := range slices.Backward(properties.members) {
		member := c.spaced(c.spelt(quote(m.name))+":", c.call(rules[i], behind))
		further := c.spaced(",", member)
		if required[m.name] {
			first, behind, free = member, further, 0
			continue
		}
		if free++; free > maxAlternatives {
			return 0, fmt.Errorf("more than %d properties in a row are not required", maxAlternatives)
		}
		first = c.fork(c.guard(rules[i], member), first)
		behind = c.fork(c.guard(rules[i], further), behind)
		if err := c.full(); err != nil {
			return 0, err
		}
	}
	return c.text("{", first), nil
}

// guard goes on only where the rule can still be called.
func (g *Grammar) guard(rule, next int32) int32 {
	return g.add(node{kind: guards, rule: rule, next: next})
}

func (c *compiler) required(v *value) (map[string]bool, error) {
	names := map[string]bool{}
	list := v.get("required")
	if list == nil {
		return names, nil
	}
	for _, item := range list.items {
		if p := v.get("properties"); p == nil || p.get(item.text) == nil {
			if c.loose {
				continue
			}
			return nil, fmt.Errorf("required names %s, which properties lacks", item.spell())
		}
		names[item.text] = true
	}
	return names, nil
}

// mapping compiles an object whose names are free. They may repeat: RFC 8259 leaves to readers what that means.
func (c *compiler) mapping(v *value, leave int32) (int32, error) {
	more := v.get("additionalProperties")
	closing := c.text("}", leave)
	if more == nil {
		if v.get("properties") != nil {
			return c.text("{", closing), nil
		}
		more = &value{kind: jsontext.KindTrue, text: "true"}
	}
	if more.kind == jsontext.KindTrue && more.text == "false" {
		return c.text("{", closing), nil
	}
	rule, err := c.rule(more)
	if err != nil {
		return 0, fmt.Errorf("additionalProperties: %w", err)
	}
	return c.text("{", c.members(c.tamed(stringRule), rule, closing)), nil
}

// array compiles an array. Bounds of its length are written out.
func (c *compiler) array(v *value, r, leave int32) (int32, error) {
	least, err := length(v, "minItems", 0)
	if err != nil {
		return 0, err
	}
	const unbounded = -1
	most, err := length(v, "maxItems", unbounded)
	if err != nil {
		return 0, err
	}
	if most != unbounded && most < least {
		return 0, fmt.Errorf("minItems %d exceeds maxItems %d", least, most)
	}
	item := c.tamed(anyRule)
	if s := v.get("items"); s != nil {
		if item, err = c.rule(s); err != nil {
			return 0, fmt.Errorf("items: %w", err)
		}
	}
	if least > 0 {
		c.needs[r].all = append(c.needs[r].all, item)
	}
	closing := c.text("]", leave)
	behind := closing // goes on behind item i
	if most == unbounded {
		behind = c.fork()
		c.link(behind, closing, c.spaced(",", c.call(item, behind)))
	}
	for i := max(least, most) - 1; i > 0; i-- {
		further := c.spaced(",", c.call(item, behind))
		if i < least {
			behind = further
		} else {
			behind = c.fork(closing, further)
		}
	}
	switch first := c.call(item, behind); {
	case most == 0:
		return c.text("[", closing), nil
	case least == 0:
		return c.text("[", c.fork(closing, first)), nil
	default:
		return c.text("[", first), nil
	}
}

// length reads a number of items.
func length(v *value, keyword string, none int) (int, error) {
	n := v.get(keyword)
	if n == nil {
		return none, nil
	}
	const most = maxNodes / 8
	i, err := strconv.Atoi(n.text)
	if n.kind != jsontext.KindNumber || err != nil || i < 0 || i > most {
		return 0, fmt.Errorf("%s is %s; want 0 to %d", keyword, n.spell(), most)
	}
	return i, nil
}

// literals compiles values of which one must come, as the schema writes them.
func (c *compiler) literals(v *value, values []*value, leave int32) (int32, error) {
	if err := c.only(v, "enum", "const", "type"); err != nil {
		return 0, err
	}
	allowed := []string(nil)
	if v.get("type") != nil {
		var err error
		if allowed, err = typesOf(v); err != nil {
			return 0, err
		}
	}
	var texts []string
	bytes := 0
	for _, value := range values {
		if allowed != nil && !value.is(allowed) {
			continue
		}
		texts = append(texts, c.spelt(value.spell()))
		if bytes += len(texts[len(texts)-1]); bytes > maxNodes {
			return 0, fmt.Errorf("an enum has more than %d bytes", maxNodes)
		}
	}
	if len(texts) == 0 {
		return 0, fmt.Errorf("an enum has no value of its type")
	}
	slices.Sort(texts)
	return c.choice(slices.Compact(texts), 0, leave), nil
}

// is reports whether a value has one of the types.
func (v *value) is(names []string) bool {
	for _, name := range names {
		switch name {
		case "string":
			if v.kind == jsontext.KindString {
				return true
			}
		case "object":
			if v.kind == jsontext.KindBeginObject {
				return true
			}
		case "array":
			if v.kind == jsontext.KindBeginArray {
				return true
			}
		case "null":
			if v.kind == jsontext.KindNull {
				return true
			}
		case "boolean":
			if v.kind == jsontext.KindTrue {
				return true
			}
		case "number":
			if v.kind == jsontext.KindNumber {
				return true
			}
		case "integer":
			if _, err := strconv.ParseInt(v.text, 10, 64); v.kind == jsontext.KindNumber && err == nil {
				return true
			}
		}
	}
	return false
}

// choice reads one of the texts, which are sorted and the same up to byte at.
func (c *compiler) choice(texts []string, at int, leave int32) int32 {
	ends := len(texts[0]) == at
	if ends {
		texts = texts[1:]
	}
	var edges []edge
	for len(texts) > 0 {
		b, n := texts[0][at], 1
		for n < len(texts) && texts[n][at] == b {
			n++
		}
		edges = append(edges, edge{b, b, c.choice(texts[:n], at+1, leave)})
		texts = texts[n:]
	}
	switch {
	case edges == nil:
		return leave
	case ends:
		return c.fork(leave, c.read(edges...))
	}
	return c.read(edges...)
}

// settle finds how many calls each rule needs, and refuses a schema to which nothing conforms.
func (b *builder) settle() error {
	if b.circular() {
		return fmt.Errorf("the schema: an anyOf leads back to itself before anything is read")
	}
	rules := b.rules
	for i := basicRules; int(i) < len(rules); i++ {
		rules[i].height = MaxDepth + 1
	}
	for range MaxDepth { // a rule of height h is found in round h
		for i := basicRules; int(i) < len(rules); i++ {
			most := int32(0)
			for _, r := range b.needs[i].all {
				most = max(most, rules[r].height)
			}
			if any := b.needs[i].any; len(any) > 0 {
				least := rules[any[0]].height
				for _, r := range any {
					least = min(least, rules[r].height)
				}
				most = max(most, least)
			}
			rules[i].height = min(MaxDepth, most) + 1
		}
	}
	for _, r := range b.values {
		if rules[r].height > MaxDepth {
			return fmt.Errorf("the schema: no value conforms that is nested less than %d deep", MaxDepth)
		}
	}
	return nil
}

// circular reports a rule that can begin with itself.
func (b *builder) circular() bool {
	const entered, done = 1, 2
	seen := make([]uint8, len(b.needs))
	var visit func(r int32) bool
	visit = func(r int32) bool {
		if seen[r] != 0 {
			return seen[r] == entered
		}
		seen[r] = entered
		if slices.ContainsFunc(b.needs[r].any, visit) {
			return true
		}
		seen[r] = done
		return false
	}
	for r := range b.needs {
		if visit(int32(r)) {
			return true
		}
	}
	return false
}
