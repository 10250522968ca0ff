package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomSchema writes a schema of the understood part.
func randomSchema(rng *rand.Rand, depth int) string {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "const", "any", "list"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "array", "anyOf", "map", "ref")
	}
	switch kind := kinds[rng.IntN(len(kinds))]; kind {
	case "enum":
		return `{"enum":["a","ab",-1,12,1.5,true,null,{"x":["y"]}]}`
	case "const":
		return `{"const":"b\"c"}`
	case "any":
		return `{}`
	case "list":
		return `{"type":["string","null"]}`
	case "map":
		return fmt.Sprintf(`{"type":"object","additionalProperties":%s}`, randomSchema(rng, depth-1))
	case "ref":
		return `{"$ref":"#"}`
	case "anyOf":
		return fmt.Sprintf(`{"anyOf":[%s,%s,{"type":"null"}]}`, solid(rng, depth-1), solid(rng, depth-1))
	case "array":
		least := rng.IntN(2)
		return fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, solid(rng, depth-1), least, least+rng.IntN(3))
	case "object":
		var properties, required []string
		for i := range rng.IntN(4) {
			name := []string{"a", "aa", "b\\\"", "é"}[i]
			property := randomSchema(rng, depth-1)
			if rng.IntN(2) == 0 && !strings.Contains(property, "$ref") {
				required = append(required, `"`+name+`"`)
			}
			properties = append(properties, fmt.Sprintf(`"%s":%s`, name, property))
		}
		return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`, strings.Join(properties, ","), strings.Join(required, ","))
	default:
		return fmt.Sprintf(`{"type":%q}`, kind)
	}
}

// rooted writes a schema that is more than a way back to itself.
func rooted(rng *rand.Rand) string {
	for {
		if s := randomSchema(rng, 3); s != `{"$ref":"#"}` {
			return s
		}
	}
}

// solid writes a schema that does not lead back to the whole one.
func solid(rng *rand.Rand, depth int) string {
	for {
		if s := randomSchema(rng, depth); !strings.Contains(s, "$ref") {
			return s
		}
	}
}

// randomReply follows random ids until the end.
func randomReply(t testing.TB, g *Grammar, v *Vocabulary, rng *rand.Rand) string {
	w := g.Walk(v, []int32{end}, nil)
	mask := make([]uint64, v.Words())
	var text strings.Builder
	for n := range 5000 {
		w.Allowed(mask)
		ids := list(mask)
		if len(ids) == 0 {
			t.Fatalf("nothing is allowed behind %s", text.String())
		}
		id := ids[rng.IntN(len(ids))]
		if n > 40 || rng.IntN(3) == 0 {
			id = closing(mask, ids)
		}
		if id == end {
			return text.String()
		}
		w.Take(id)
		text.WriteString(pieces[id])
	}
	t.Fatalf("no end: %s", text.String())
	return ""
}

// TestRepliesConform: whatever is sampled parses, and a validator that knows nothing of grammars accepts it.
func TestRepliesConform(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		schema := rooted(rng)
		g := compile(t, schema)
		for range 5 {
			text := randomReply(t, g, small, rng)
			var root, got any
			if err := json.Unmarshal([]byte(schema), &root); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%s: %s: %v", schema, text, err)
			}
			if !conforms(root, root, got) {
				t.Fatalf("%s: %s does not conform", schema, text)
			}
			seen[text] = true
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d replies differ", len(seen))
	}
}

// conforms is JSON Schema's own definition, keyword by keyword.
func conforms(root, schema, v any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema == true
	}
	if s["$ref"] == "#" {
		return conforms(root, root, v)
	}
	if c, ok := s["const"]; ok && !reflect.DeepEqual(c, v) {
		return false
	}
	if list, ok := s["enum"].([]any); ok && !among(list, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return false
	}
	if list, ok := s["anyOf"].([]any); ok && !among(list, func(e any) bool { return conforms(root, e, v) }) {
		return false
	}
	switch t := s["type"].(type) {
	case string:
		if !typed(t, v) {
			return false
		}
	case []any:
		if !among(t, func(e any) bool { return typed(e.(string), v) }) {
			return false
		}
	}
	switch v := v.(type) {
	case []any:
		least, _ := s["minItems"].(float64)
		most, bounded := s["maxItems"].(float64)
		items, has := s["items"]
		if len(v) < int(least) || bounded && len(v) > int(most) || has && among(v, func(e any) bool { return !conforms(root, items, e) }) {
			return false
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		if among(required, func(name any) bool { _, ok := v[name.(string)]; return !ok }) {
			return false
		}
		for name, member := range v {
			property, known := properties[name]
			more, has := s["additionalProperties"]
			if known && !conforms(root, property, member) || !known && has && !conforms(root, more, member) {
				return false
			}
		}
	}
	return true
}

func among(list []any, f func(any) bool) bool {
	for _, e := range list {
		if f(e) {
			return true
		}
	}
	return false
}

func typed(name string, v any) bool {
	switch v := v.(type) {
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case bool:
		return name == "boolean"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return name == "null"
}

func FuzzSchema(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(rooted(rand.New(rand.NewPCG(seed, 3))), seed)
	}
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		g, err := Schema([]byte(schema))
		if err != nil || len(schema) > 2000 {
			return
		}
		w := g.Walk(small, []int32{end}, nil)
		rng := rand.New(rand.NewPCG(seed, 4))
		mask := make([]uint64, small.Words())
		for range 30 {
			w.Allowed(mask)
			ids := list(mask)
			if len(ids) == 0 {
				t.Fatalf("%s: nothing is allowed", schema)
			}
			id := ids[rng.IntN(len(ids))]
			if w.Take(id); id == end {
				return
			}
		}
	})
}
