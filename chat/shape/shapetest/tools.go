// Tools at random, and what their calls must be.

package shapetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"molt/chat"
)

// Tool is a tool that may be called.
type Tool struct {
	Name   string
	Schema []byte
	Strict bool
}

// Tools makes tools with schemas of their own.
func Tools(rng *rand.Rand) []Tool {
	tools := []Tool{{Name: "get"}, {Name: "get_all"}, {Name: "ls_1"}}[:1+rng.IntN(3)]
	for i := range tools {
		var properties, required []string
		for k := range rng.IntN(5) {
			name := []string{"a", "ab", "text", "n_1", "Z"}[k]
			properties = append(properties, fmt.Sprintf("%q:%s", name, randomSchema(rng, 2)))
			if rng.IntN(2) == 0 {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
		tools[i].Strict = rng.IntN(2) == 0
		tools[i].Schema = fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`, strings.Join(properties, ","), strings.Join(required, ","))
	}
	return tools
}

func randomSchema(rng *rand.Rand, depth int) string {
	kinds := []string{`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{"type":"null"}`, `{"type":["string","null"]}`, `{"enum":["x y","12","é"]}`, `{"const":3}`, `{"type":["integer","null"]}`}
	if depth > 0 && rng.IntN(3) == 0 {
		inner := randomSchema(rng, depth-1)
		return []string{
			fmt.Sprintf(`{"type":"array","items":%s,"maxItems":2}`, inner),
			fmt.Sprintf(`{"type":"object","properties":{"k":%s},"required":["k"],"additionalProperties":false}`, inner),
		}[rng.IntN(2)]
	}
	return kinds[rng.IntN(len(kinds))]
}

// Conforms checks a value against one of these schemas, by their definition.
func Conforms(schema map[string]any, v any) bool {
	if list, ok := schema["enum"].([]any); ok {
		return slices.Contains(list, v)
	}
	if c, ok := schema["const"]; ok {
		return c == v
	}
	types, ok := schema["type"].([]any)
	if !ok {
		types = []any{schema["type"]}
	}
	return slices.ContainsFunc(types, func(t any) bool { return typed(t.(string), schema, v) })
}

func typed(name string, schema map[string]any, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		items := schema["items"].(map[string]any)
		return name == "array" && len(v) <= 2 && !slices.ContainsFunc(v, func(e any) bool { return !Conforms(items, e) })
	case map[string]any:
		if name != "object" {
			return false
		}
		properties := schema["properties"].(map[string]any)
		for _, r := range schema["required"].([]any) {
			if _, ok := v[r.(string)]; !ok {
				return false
			}
		}
		for key, member := range v {
			if s, ok := properties[key].(map[string]any); !ok || !Conforms(s, member) {
				return false
			}
		}
		return true
	}
	return false
}

// Check finds what is wrong with the calls of a reply.
func Check(tools []Tool, calls []chat.ToolCall) error {
	for _, c := range calls {
		at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == c.Name })
		if at < 0 {
			return fmt.Errorf("%s is not offered", c.Name)
		}
		var schema map[string]any
		var v any
		if err := json.Unmarshal(tools[at].Schema, &schema); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(c.Arguments.String()), &v); err != nil {
			return err
		}
		if !Conforms(schema, v) {
			return fmt.Errorf("%s does not conform to %s", c.Arguments, tools[at].Schema)
		}
	}
	return nil
}

// Specs are tools as requests offer them.
func Specs(tools []Tool) []chat.ToolSpec {
	var out []chat.ToolSpec
	for _, tool := range tools {
		v, err := chat.ParseValue(tool.Schema)
		if err != nil {
			panic(err)
		}
		out = append(out, chat.NewToolSpec(tool.Name, "", v))
	}
	return out
}
