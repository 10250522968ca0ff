package grammar

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func build(t testing.TB, p Pattern) *Grammar {
	t.Helper()
	g, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// nothing is the pattern of no text.
var nothing = Sequence()

func TestPatterns(t *testing.T) {
	number := Value([]byte(`{"type":"integer"}`), false)
	for name, c := range map[string]struct {
		p       Pattern
		yes, no string
	}{
		"text":                {Text("ab"), "ab", "a | abc | "},
		"nothing":             {nothing, "", "a"},
		"sequence":            {Sequence(Text("a"), Text("b"), Text("")), "ab", "a | b"},
		"either":              {Either(Text("a"), Text("ab")), "a | ab", "b | "},
		"optional":            {Sequence(Optional(Text("a")), Text("b")), "b | ab", "a | aab"},
		"repeat":              {Repeat(Text("a"), Text(",")), "a | a,a | a,a,a", "aa | a, | "},
		"words":               {Words(Word{"get", Text("1")}, Word{"get_all", Text("2")}, Word{"put", nothing}), "get1 | get_all2 | put", "get | get2 | get_all1 | pu"},
		"value":               {Sequence(Text("<"), number, Text(">")), "<12>", "<a> | <12"},
		"tame":                {Tame([]byte(`{"type":"object","properties":{"a<":{"enum":["<b"]},"c":{},"d":{"type":"object"}},"required":["a<"]}`), false), `{"a\u003c": "\u003cb"} | {"a\u003c": "\u003cb","c":{"x":"\u003c>"}}`, `{"a<": "\u003cb"} | {"a\u003c": "<b"} | {"a\u003c": "\u003cb","c":["<"]} | {"a\u003c": "\u003cb","d":{"<":1}}`},
		"loose":               {Value([]byte(`{"type":"object","properties":{"a":{"type":"integer","minimum":3},"b":{"oneOf":[]}},"required":["a","c"],"patternProperties":{}}`), true), `{"a": 1} | {"a": 1, "b": [2]}`, `{} | {"a": "x"} | 1`},
		"no schema":           {Value([]byte(`3`), true), `{} | {"a": 1}`, `3`},
		"a value of anything": {Value([]byte(`{}`), true), `{}`, `3`},
		"free":                {Sequence(Free(FreeText{Stops: []Stop{{Texts: []string{"</t>"}, Then: nothing}}}), Text("!")), "</t>! | x</t>! | <</t>! | </</t>! | é\n</t>!", "x! | </t> | </t>x</t>!"},
		"free that ends":      {Free(FreeText{Ends: true, Stops: []Stop{{Texts: []string{"ab", "cc"}, Then: Text("!"), Back: true}}}), " | a | x | ab! | ab!cab! | aab! | cb | ccc", "ab | ab? | xcc | cc"},
		"free without":        {Free(FreeText{Ends: true, Stops: []Stop{{Texts: []string{"no"}}, {Texts: []string{"yes"}, Then: Text("!"), Back: true}}}), "n | o | yes!n", "no | yes!no | xno"},
		"overlapping":         {Sequence(Free(FreeText{Stops: []Stop{{Texts: []string{"abab", "bac"}, Then: nothing}}}), Text("!")), "abab! | abac! | aabab! | bbac!", "aba! | ababab!"},
		"shorter inside":      {Sequence(Free(FreeText{Stops: []Stop{{Texts: []string{"xaby"}, Then: Text("1")}, {Texts: []string{"ab"}, Then: Text("2")}}}), Text("!")), "xab2! | ab2!", "xaby1!"},
	} {
		g := build(t, c.p)
		for text := range strings.SplitSeq(c.yes, " | ") {
			if begins, conforms := g.Match(text); !begins || !conforms {
				if name == "free that ends" && text == "ccc" {
					continue
				}
				t.Errorf("%s: refuses %q", name, text)
			}
		}
		for text := range strings.SplitSeq(c.no, " | ") {
			if _, conforms := g.Match(text); conforms {
				t.Errorf("%s: accepts %q", name, text)
			}
		}
	}
}

// TestControls: a control token comes where its code stands, and in free text that lets it.
func TestControls(t *testing.T) {
	allowed := func(p Pattern, taken ...int32) []int32 {
		w := build(t, p).Walk(small, []int32{end}, nil)
		for _, id := range taken {
			w.Take(id)
		}
		mask := make([]uint64, small.Words())
		w.Allowed(mask)
		return list(mask)
	}
	has := func(ids []int32, id int32) bool { return slices.Contains(ids, id) }
	if got := allowed(Text(Control(open) + "a")); !slices.Equal(got, []int32{open}) {
		t.Errorf("a code allows %v", got)
	}
	if got := allowed(Text(Control(open)+"a"), open); !slices.Equal(got, []int32{'a'}) {
		t.Errorf("behind a code %v", got)
	}
	stop := FreeText{Ends: true, Stops: []Stop{{Texts: []string{Control(open), "<o>"}, Then: Text("{"), Back: true}}}
	if got := allowed(Free(stop)); len(got) != open+1 {
		t.Errorf("free text allows %d ids of %d", len(got), open+1)
	}
	for _, opened := range [][]int32{{open}, {'<', 'o', '>'}} {
		if got := allowed(Free(stop), opened...); has(got, 'a') || has(got, open) || has(got, end) || !has(got, '{') || !has(got, int32(slices.Index(pieces, `{"`))) {
			t.Errorf("behind a stop %v", got)
		}
	}
	if got := allowed(Free(stop), '<', 'o'); has(got, int32(slices.Index(pieces, `">`))) || !has(got, '>') || !has(got, open) {
		t.Errorf("inside a stop %v", got)
	}
	stop.Without, stop.Ends = []int32{end, 9_000}, false
	if got := allowed(Free(stop)); has(got, end) || has(got, 9_000) || !has(got, 9_001) || !has(got, 0xFF) || len(got) != open+1-2 {
		t.Errorf("without two ids %d of %d are allowed", len(got), open+1)
	}
	stop.Plain = true
	if got := allowed(Free(stop)); has(got, 9_001) || has(got, open) || has(got, 0xFF) || !has(got, 'a') {
		t.Errorf("plain text allows %v", got)
	}
}

// TestFreeIsExact compares masks of free text with reading every piece.
func TestFreeIsExact(t *testing.T) {
	g := build(t, Free(FreeText{Ends: true, Stops: []Stop{{Texts: []string{`"a"`, "12", Control(open)}, Then: Value([]byte(`{"type":"array","items":{"type":"integer"}}`), false), Back: true}, {Texts: []string{"}}"}}}}))
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := g.Walk(small, []int32{end}, nil)
		mask := make([]uint64, small.Words())
		for range 60 {
			w.Allowed(mask)
			for id := range int32(small.size) {
				want := w.could(small.texts[id]) || w.whole && id == end
				if got := allows(mask, id); got != want {
					t.Fatalf("%q allowed %v; want %v", small.texts[id], got, want)
				}
			}
			ids := list(mask)
			id := ids[rng.IntN(len(ids))]
			if rng.IntN(2) == 0 {
				if likely := ids[rng.IntN(min(len(ids), len(pieces)))]; likely != end {
					id = likely
				}
			}
			if w.Take(id); id == end {
				break
			}
		}
	}
}

func TestArguments(t *testing.T) {
	xml := Style{
		Close: "</f>", Before: func(name, _ string) string { return "<" + name + ">" }, After: "\n</p>\n", Text: true, Stops: []string{"</p>"},
		Name: func(name string) bool { return name != "<" },
	}
	python := Style{Close: ")", Between: ", ", Before: func(name, _ string) string { return name + "=" }}
	kinds := Style{Before: func(name, kind string) string { return name + ":" + kind + " " }, After: ";", Text: true, Stops: []string{";"}}
	const two = `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"}},"required":["s"],"additionalProperties":false}`
	for _, c := range []struct {
		style   Style
		schema  string
		loose   bool
		yes, no string
	}{
		{xml, two, false, "<s>a b</p>\n</f> | <s></p>\n<n>1\n</p>\n</f>", "<n>1\n</p>\n</f> | <s>a</f> | </f>"},
		{xml, `{"type":"object"}`, false, "</f>", "<s>a</p>\n</f>"},
		{xml, `{"type":"object","properties":{"e":{"enum":["a b",1]}}}`, false, "</f> | <e>a b\n</p>\n</f> | <e>1\n</p>\n</f>", "<e>\"a b\"\n</p>\n</f>"},
		{xml, `{"type":"object","properties":{"u":{"type":["string","null"]},"o":{"type":"array"}}}`, false, "<u>x</p>\n<o>[1]\n</p>\n</f>", "<o>x\n</p>\n</f>"},
		{python, two, false, `s="a") | s="a", n=1)`, `n=1) | s=a) | s="a",n=1)`},
		{kinds, two, false, `s:string a;n:integer 1;`, `s:json "a";`},
		{xml, `{"type":"object","properties":{"m":{"anyOf":[{"type":"string"},{"type":"object"}]},"p":{"type":"string","pattern":"a"}}}`, true, "<m>x</p>\n<p>x</p>\n</f>", "x"},
	} {
		g := build(t, Arguments([]byte(c.schema), &c.style, c.loose))
		for text := range strings.SplitSeq(c.yes, " | ") {
			if _, conforms := g.Match(text); !conforms {
				t.Errorf("%s: refuses %q", c.schema, text)
			}
		}
		for text := range strings.SplitSeq(c.no, " | ") {
			if _, conforms := g.Match(text); conforms {
				t.Errorf("%s: accepts %q", c.schema, text)
			}
		}
	}
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"m":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"null"}}}]}}}`: "cannot be told apart",
		`{"type":"object","properties":{"<":{"type":"null"}}}`:                                                                    "cannot be written",
		`{"type":"object","additionalProperties":{}}`:                                                                             "say false",
		`{"type":"object","properties":{"e":{"enum":["</p>"]}}}`:                                                                  "no value that can be written",
		`{"type":"string"}`: "want object",
		`[`:                 "reading the schema",
	} {
		if _, err := Build(Arguments([]byte(schema), &xml, false)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", schema, err, want)
		}
	}
}
