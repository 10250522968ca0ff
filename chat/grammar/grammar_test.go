package grammar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pieces is a small vocabulary: every byte, then pieces that cross the borders of a JSON text, then two control tokens.
var pieces = slices.Concat(everyByte(), []string{
	`{"`, `":`, `": `, `", "`, `","`, `"}`, `"}}`, `}}`, `}]`, `[[`, `[{"`, `"]`, `,"`, `, "`, `, `, `: "`, `:{"`, `"a`, `"a": `, `a": 1`, `true`, `false`, `null`, `tru`,
	`12`, `1.5`, `-1`, `e1`, `0}`, `1]`, "é", "\xc3", "\xa9\"", "日本", "\n\n", `\n`, `\"`, `\u00`, `\ud83d`, "the ", " the", "aa", "ab", "b\"", "[[[[[[[[", "}}}}}}}}",
})

const end, open = 10_000, 10_001 // of the test's vocabulary, beyond what is spelt

func everyByte() (all []string) {
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	return all
}

func vocabulary() *Vocabulary {
	return NewVocabulary(open+1, func(id int32) []byte {
		if int(id) < len(pieces) {
			return []byte(pieces[id])
		}
		return nil
	})
}

var small = vocabulary()

func compile(t testing.TB, schema string) *Grammar {
	t.Helper()
	g, err := Schema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

func TestMatch(t *testing.T) {
	const person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`
	const maybe = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":["b"]}`
	const tree = `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"l":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["l"]}}}`
	for _, c := range []struct{ schema, yes, no string }{
		{`{"type":"string"}`, `"" | "a" | "é\n\u00e9\"" | "日本\/"`, `a | "a | "\x" | "\ud83d" | "` + "\n" + `" | "` + "\xff" + `" | 1`},
		{`{"type":"integer"}`, `0 | -12 | 123456789012345678`, `01 | 1.0 | 1e1 | - | 1234567890123456789`},
		{`{"type":"number"}`, `0 | -12 | 1.5 | 0.25e-10 | 1E+9`, `.5 | 1. | 1e | +1 | 1e100 | NaN`},
		{`{"type":"boolean"}`, `true | false`, `True | null`},
		{`{"type":["integer","null"]}`, `3 | null`, `"" | 1.5`},
		{`{"type":["array","null"],"items":{"type":"integer"},"minItems":1}`, `null | [1]`, `[] | [null]`},
		{`{"enum":["a","ab",1,12,null,{"x":[1,2]}]}`, `"a" | "ab" | 1 | 12 | null | {"x": [1, 2]}`, `"b" | 2 | 123`},
		{`{"type":"string","enum":["a",1]}`, `"a"`, `1`},
		{`{"const":"x\"\\\n\u0001é"}`, `"x\"\\\n\u0001é"`, `"x"`},
		{person, `{"name": "a", "age": 3} | {"name":"a","age":3}`, `{"age": 3, "name": "a"} | {"name": "a"} | {"name": "a", "age": 3, "b": 1} | {"name":  "a", "age": 3} | {}`},
		{maybe, `{"b": 1} | {"a": 1, "b": 1} | {"b": 1, "c": 2} | {"a":1,"b":2,"c":3}`, `{} | {"a": 1} | {"b": 1,} | {, "b": 1} | {"b": 1 "c": 2} | {"c": 1}`},
		{`{"type":"array","items":{"type":"integer"}}`, `[] | [1] | [1, 2,3]`, `[1,] | [,] | ["a"] | [1`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3}`, `[1, 2] | [1, 2, 3]`, `[] | [1] | [1, 2, 3, 4]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1, 2] | [1, 2, 3, 4, 5]`, `[] | [1]`},
		{`{"type":"array","maxItems":0}`, `[]`, `[1]`},
		{`{"type":"array","maxItems":1}`, `[] | [{"a": [null]}]`, `[1, 2]`},
		{`{"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k","x"]},{"type":"object","properties":{"k":{"const":"ab"}},"required":["k"]}]}`,
			`{"k": "a", "x": 1} | {"k": "ab"}`, `{"k": "a"} | {"k": "ab", "x": 1}`},
		{tree, `{"l": null} | {"l": {"l": {"l": null}}}`, `{} | {"l": {}}`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{} | {"a": 1, "b": 2}`, `{"a": "b"} | {1: 2}`},
		{`{"type":"object","additionalProperties":false}`, `{}`, `{"a": 1}`},
		{`{}`, `1 | {"a": [1, {"b": null}]} | "x" | [] | true`, `{"a"} | [1 2]`},
		{`{"allOf":[{"$ref":"#/definitions/x"}],"definitions":{"x":{"type":"null"}}}`, `null`, `1`},
	} {
		g := compile(t, c.schema)
		for text := range strings.SplitSeq(c.yes, " | ") {
			if begins, conforms := g.Match(text); !begins || !conforms {
				t.Errorf("%s: refuses %s", c.schema, text)
			}
		}
		for text := range strings.SplitSeq(c.no, " | ") {
			if _, conforms := g.Match(text); conforms {
				t.Errorf("%s: accepts %s", c.schema, text)
			}
		}
	}
	if _, ok := Object().Match(`{"a": {"b": [1, 2.5, {"c": []}]}}`); !ok {
		t.Error("an object is none")
	}
	if _, ok := Object().Match(`[1]`); ok {
		t.Error("an array is an object")
	}
}

// TestHostileSchemas: what is not understood, or too much, is refused by name and at once.
func TestHostileSchemas(t *testing.T) {
	huge := strings.Builder{}
	for i := range 9000 {
		fmt.Fprintf(&huge, `,"value number %d"`, i)
	}
	wide := strings.Builder{}
	for i := range 300 {
		fmt.Fprintf(&wide, `,"p%d":{"type":"null"}`, i)
	}
	for _, c := range []struct{ schema, want string }{
		{strings.Repeat(`{"items":`, 1<<20), "bytes"},
		{strings.Repeat(`{"items":`, 5000) + "{}" + strings.Repeat("}", 5000), "nested deeper than 128"},
		{strings.Repeat(`[`, 100_000) + strings.Repeat("]", 100_000), "JSON"},
		{`{"type":"string"} {}`, "JSON"},
		{`{"type":"string","type":"null"}`, "JSON"},
		{`{"$ref":"#"}`, "without end"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "without end"},
		{`{"anyOf":[{"$ref":"#"},{"type":"null"}]}`, "back to itself"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "no value conforms"},
		{`{"type":"array","items":{"$ref":"#"},"minItems":1}`, "no value conforms"},
		{`{"$ref":"#/$defs/nobody"}`, "leads nowhere"},
		{`{"$ref":"https://example.com/s"}`, "pointer into the schema"},
		{`{"enum":[1` + huge.String() + `]}`, "enum has more than"},
		{`{"enum":[]}`, "no value"},
		{`{"type":"integer","enum":["a"]}`, "no value"},
		{`{"properties":{"a":{"type":"null"}` + wide.String() + `}}`, "in a row"},
		{`{"type":"array","maxItems":100000000}`, "maxItems"},
		{`{"type":"array","minItems":3,"maxItems":2}`, "exceeds"},
		{`{"type":"array","minItems":-1}`, "minItems"},
		{`{"type":"array","minItems":8000,"items":{"type":"array","minItems":8000,"items":{"type":"array","minItems":8000}}}`, "states"},
		{`{"type":"string","pattern":"a+"}`, `"pattern" is not supported`},
		{`{"type":"number","minimum":1}`, `"minimum" is not supported`},
		{`{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}`, `property "a": "maxLength"`},
		{`{"anyOf":[{"type":"null"}],"type":"null"}`, `"type" is not supported beside anyOf`},
		{`{"oneOf":[{"type":"null"}]}`, `"oneOf"`},
		{`{"not":{}}`, `"not"`},
		{`{"type":"date"}`, "want object"},
		{`{"type":[]}`, "want the name"},
		{`{"required":["a"],"type":"object"}`, "lacks"},
		{`false`, "nothing conforms"},
		{`3`, "want an object"},
		{`{"anyOf":[]}`, "want 1 to"},
	} {
		if _, err := Schema([]byte(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v; want %q", c.schema, err, c.want)
		}
	}
}

// TestAllowedIsExact compares the masks with reading every piece byte by byte, along random replies.
func TestAllowedIsExact(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		schema := rooted(rng)
		g := compile(t, schema)
		w := g.Walk(small, []int32{end}, nil)
		mask := make([]uint64, small.Words())
		for range 60 {
			w.Allowed(mask)
			for id, text := range pieces {
				if got, want := allows(mask, int32(id)), w.could(text); got != want {
					t.Fatalf("%s: %q allowed %v; want %v", schema, text, got, want)
				}
			}
			ids := list(mask)
			if len(ids) == 0 {
				t.Fatalf("%s: nothing is allowed", schema)
			}
			id := ids[rng.IntN(len(ids))]
			if w.Take(id); id == end {
				break
			}
		}
	}
}

func allows(mask []uint64, id int32) bool { return mask[id/64]>>(id%64)&1 == 1 }

// could reports whether text may come next, by reading it.
func (w *Walk) could(text string) bool {
	threads, whole := w.threads, false
	for i := range len(text) {
		threads, whole = w.r.step(nil, threads, text[i])
	}
	return len(threads) > 0 || whole
}

// TestDepthEndsEveryReply: at the greatest depth only what can be closed again is allowed.
func TestDepthEndsEveryReply(t *testing.T) {
	for _, schema := range []string{`{}`, `{"type":"array","items":{"$ref":"#"}}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`} {
		w := compile(t, schema).Walk(small, []int32{end}, nil)
		mask := make([]uint64, small.Words())
		deepest, text := 0, ""
		for range 2000 {
			w.Allowed(mask)
			ids := list(mask)
			if len(ids) == 0 {
				t.Fatalf("%s: nothing is allowed behind %s", schema, text)
			}
			id := ids[0]
			for _, prefer := range []string{"[[[[[[[[", "[[", "[", `{"`, `"a": `, "{", `"`, `a`, `": `} {
				if at := slices.Index(pieces, prefer); allows(mask, int32(at)) {
					id = int32(at)
					break
				}
			}
			if len(text) > 400 {
				id = closing(mask, ids)
			}
			if id == end {
				break
			}
			w.Take(id)
			text += pieces[id]
			deepest = max(deepest, strings.Count(text, "[")-strings.Count(text, "]"), strings.Count(text, "{")-strings.Count(text, "}"))
		}
		if !w.whole || deepest < MaxDepth-2 {
			t.Errorf("%s: deepest %d, whole %v: %s", schema, deepest, w.whole, text)
		}
	}
}

// closing prefers what ends a text.
func closing(mask []uint64, ids []int32) int32 {
	if allows(mask, end) {
		return end
	}
	order := `}]"nul`
	if allows(mask, '~') { // inside a string
		order = `"`
	}
	for _, b := range []byte(order) {
		if allows(mask, int32(b)) {
			return int32(b)
		}
	}
	return ids[0]
}

// TestEnds: a text that conforms may end, and nothing comes behind it.
func TestEnds(t *testing.T) {
	mask := make([]uint64, small.Words())
	w := Object().Walk(small, []int32{end}, nil)
	w.Allowed(mask)
	if got := list(mask); !slices.Contains(got, '{') || slices.Contains(got, end) || slices.Contains(got, open) || slices.Contains(got, 'x') {
		t.Errorf("at first %v", got)
	}
	w.Take('{')
	w.Take('}')
	if w.Allowed(mask); !slices.Equal(list(mask), []int32{end}) {
		t.Errorf("behind the object %v", list(mask))
	}
	w.Take(end)
	if w.Allowed(mask); len(list(mask)) != 0 {
		t.Errorf("behind the end %v", list(mask))
	}
}

func TestTakingWhatIsNotAllowedPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Object().Walk(small, nil, nil).Take('x')
}
