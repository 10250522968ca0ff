// Values of arguments that are written without a type.

package parse

import (
	"slices"
	"strings"

	"molt/chat"
)

// typed reads the text of an argument as the schema of the tool says. What the schema does not allow stays text, so that
// the tool can say what is wrong with it.
func (p *Parser) typed(key, text string) chat.Value {
	types := p.types(key)
	if len(types) == 0 || len(types) == 1 && types[0] == "string" {
		return chat.String(text)
	}
	trimmed := strings.TrimSpace(text)
	if lower := strings.ToLower(trimmed); lower == "true" || lower == "false" || lower == "none" {
		trimmed = strings.Replace(lower, "none", "null", 1)
	}
	v, err := chat.ParseValue([]byte(trimmed))
	if err == nil && slices.ContainsFunc(types, func(t string) bool { return allows(t, v.Kind()) }) {
		return v
	}
	return chat.String(text)
}

// allows reports whether a JSON schema's type admits a value.
func allows(schema string, k chat.Kind) bool {
	switch schema {
	case "integer", "number":
		return k == chat.KindInt || k == chat.KindFloat
	case "any":
		return k != chat.KindString
	}
	return schema == k.String()
}

// types are the types that the offered tool of this name gives an argument: none when it does not know the argument, "any"
// when its schema says nothing.
func (p *Parser) types(key string) []string {
	for i := range p.tools {
		if p.tools[i].Name != p.call.name {
			continue
		}
		function, wrapped := p.tools[i].Spec.Get("function")
		if !wrapped {
			function = p.tools[i].Spec
		}
		parameters, _ := function.Get("parameters")
		properties, _ := parameters.Get("properties")
		if schema, ok := properties.Get(key); ok {
			return schemaTypes(schema, 0)
		}
	}
	return nil
}

func schemaTypes(schema chat.Value, depth int) []string {
	var types []string
	t, _ := schema.Get("type")
	switch t.Kind() {
	case chat.KindString:
		types = append(types, t.Text())
	case chat.KindArray:
		for _, item := range t.Items() {
			types = append(types, item.Text())
		}
	}
	for _, choice := range []string{"anyOf", "oneOf", "allOf"} {
		choices, _ := schema.Get(choice)
		for _, c := range choices.Items() {
			if depth < 4 {
				types = append(types, schemaTypes(c, depth+1)...)
			}
		}
	}
	if values, ok := schema.Get("enum"); ok && len(types) == 0 {
		for _, v := range values.Items() {
			types = append(types, v.Kind().String())
		}
	}
	if len(types) == 0 {
		return []string{"any"}
	}
	return types
}
