// What the policy says becomes an action, and what an action led to becomes text.

package openenv

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molt/chat"
)

// The ways to make an action of a reply, besides a template.
const (
	byTools = "tools" // its tool calls are calls of the environment's tools
	byJSON  = "json"  // the JSON object in it is the action
)

// reply stands for the policy's text in a template.
const reply = "{reply}"

// fill puts values in place of their names in every text of a template.
func fill(template chat.Value, names *strings.Replacer) chat.Value {
	switch template.Kind() {
	case chat.KindString:
		return chat.String(names.Replace(template.Text()))
	case chat.KindArray:
		var items []chat.Value
		for _, item := range template.Items() {
			items = append(items, fill(item, names))
		}
		return chat.Array(items...)
	case chat.KindObject:
		var members []chat.Member
		for _, m := range template.Members() {
			members = append(members, chat.Member{Name: m.Name, Value: fill(m.Value, names)})
		}
		return chat.Object(members...)
	}
	return template
}

// parseTemplate reads a template, which is an object.
func parseTemplate(what, text string) (chat.Value, error) {
	v, err := chat.ParseValue([]byte(text))
	if err == nil && v.Kind() != chat.KindObject {
		err = fmt.Errorf("it is of type %s", v.Kind())
	}
	if err != nil {
		return v, fmt.Errorf("%s is %q; want a JSON object: %w", what, text, err)
	}
	return v, nil
}

// chooseAction is the template of actions that the settings or, without them, the schema names; null for the other ways.
func chooseAction(setting string, schema chat.Value) (way string, template chat.Value, err error) {
	switch setting {
	case byTools, byJSON:
		return setting, chat.Value{}, nil
	case "":
		return guessAction(schema)
	}
	if template, err = parseTemplate("action", setting); err != nil {
		return "", template, err
	}
	if !strings.Contains(template.String(), reply) {
		return "", template, fmt.Errorf("action is %s, which does not hold %s: every reply would be the same action", setting, reply)
	}
	return "", template, fits(schema, template)
}

// guessAction knows environments with tools, and those whose actions are one text.
func guessAction(schema chat.Value) (string, chat.Value, error) {
	fields, required := fieldsOf(schema)
	if slices.Contains(fields, "tool_name") || len(fields) == 0 {
		return byTools, chat.Value{}, nil
	}
	if len(required) == 1 && typeOf(schema, required[0]) == "string" {
		return "", chat.Object(chat.Member{Name: required[0], Value: chat.String(reply)}), nil
	}
	return "", chat.Value{}, fmt.Errorf(`say with action how a reply becomes an action, such as {"%s": "%s"}: the environment's actions have %s`,
		fields[0], reply, describe(schema, fields, required))
}

// fits refuses a template that the server would refuse in every rollout.
func fits(schema, template chat.Value) error {
	fields, required := fieldsOf(schema)
	if schema.Kind() != chat.KindObject {
		return nil
	}
	var wrong []string
	for _, m := range template.Members() {
		if open, _ := schema.Get("additionalProperties"); !slices.Contains(fields, m.Name) && open.Kind() == chat.KindBool && !open.IsTrue() {
			wrong = append(wrong, "it has no "+m.Name)
		}
	}
	for _, name := range required {
		if _, ok := template.Get(name); !ok {
			wrong = append(wrong, "it needs "+name)
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("action does not fit the environment's: %s; its actions have %s", strings.Join(wrong, ", "), describe(schema, fields, required))
}

// fieldsOf are the fields of a JSON schema, without the metadata that every action and observation has, and those that must be there.
func fieldsOf(schema chat.Value) (fields, required []string) {
	properties, _ := schema.Get("properties")
	for _, m := range properties.Members() {
		if m.Name != "metadata" && m.Name != "reward" && m.Name != "done" {
			fields = append(fields, m.Name)
		}
	}
	needed, _ := schema.Get("required")
	for _, name := range needed.Items() {
		required = append(required, name.Text())
	}
	return fields, required
}

func typeOf(schema chat.Value, field string) string {
	properties, _ := schema.Get("properties")
	property, _ := properties.Get(field)
	kind, _ := property.Get("type")
	return kind.Text()
}

func describe(schema chat.Value, fields, required []string) string {
	var list []string
	for _, name := range fields {
		text := name
		if kind := typeOf(schema, name); kind != "" {
			text += " (" + kind + ")"
		}
		if !slices.Contains(required, name) {
			text += ", which may be left out"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// take is the part of a reply that a pattern finds: the first group of its last match. Without a pattern it is all of it.
func take(pattern *regexp.Regexp, text string) (string, bool) {
	if pattern == nil {
		return text, true
	}
	found := pattern.FindAllStringSubmatch(text, -1)
	if found == nil {
		return "", false
	}
	return found[len(found)-1][1], true
}

// jsonIn is the JSON object in a text: from its first brace to its last.
func jsonIn(text string) (chat.Value, error) {
	begin, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if begin < 0 || end < begin {
		return chat.Value{}, errors.New("no JSON object")
	}
	return chat.ParseValue([]byte(text[begin : end+1]))
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// checkShown refuses names in an observation's template that no observation has.
func checkShown(template string, schema chat.Value) error {
	fields, _ := fieldsOf(schema)
	for _, found := range placeholder.FindAllStringSubmatch(template, -1) {
		head, _, _ := strings.Cut(found[1], ".")
		if len(fields) > 0 && !slices.Contains(fields, head) {
			return fmt.Errorf("observation names %s; the environment's observations have %s", found[0], strings.Join(fields, ", "))
		}
	}
	return nil
}

// show is an observation as text. Without a template it is the observation's JSON, or its text where it is no more than one.
func show(template string, observation chat.Value) (string, error) {
	if template == "" {
		if members := observation.Members(); len(members) == 1 {
			return plain(members[0].Value), nil
		}
		return observation.String(), nil
	}
	var missing error
	text := placeholder.ReplaceAllStringFunc(template, func(named string) string {
		v := observation
		for part := range strings.SplitSeq(named[1:len(named)-1], ".") {
			var ok bool
			if v, ok = v.Get(part); !ok {
				missing = fmt.Errorf("the observation has no %s: %.200s", named, observation.String())
			}
		}
		return plain(v)
	})
	return text, missing
}

// plain is a text as it is, null as nothing, and anything else as JSON.
func plain(v chat.Value) string {
	switch v.Kind() {
	case chat.KindString:
		return v.Text()
	case chat.KindNull:
		return ""
	}
	return v.String()
}
