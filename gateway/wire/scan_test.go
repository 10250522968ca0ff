package wire

import (
	"strings"
	"testing"

	"molt/chat"
)

func members(t testing.TB, text string) (map[string]string, error) {
	t.Helper()
	got := map[string]string{}
	err := Members([]byte(text), func(name string, rest []byte) (int, error) {
		n, err := Length(rest)
		got[name] = string(rest[:n])
		return n, err
	})
	return got, err
}

func TestMembers(t *testing.T) {
	got, err := members(t, " {\"a\" : [1, {\"x\":\"]\\\"}\"}] ,\n\"\\u0062\":\"long enough for eight bytes \\\\\", \"c\":-1.5e3,\"d\":null}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": `[1, {"x":"]\"}"}]`, "b": `"long enough for eight bytes \\"`, "c": "-1.5e3", "d": "null"}
	for name, span := range want {
		if got[name] != span {
			t.Errorf("%s: %q, want %q", name, got[name], span)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d members, want %d", len(got), len(want))
	}
	if got, err := members(t, "{ }"); err != nil || len(got) != 0 {
		t.Errorf("an empty object: %v, %v", got, err)
	}
}

func TestMembersRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1}x`, `{a:1}`, `{"a":"x}`, `{"a":"x\`,
		`{"a":1,"a":2}`, `{"a":1x}`, `{"a":[1}`, `{"a" 1}`, `{"\ud800":1}`, strings.Repeat(`{"a":`, 1<<20)} {
		if _, err := members(t, text); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

func TestSpans(t *testing.T) {
	spans, n, err := Spans([]byte(`[1, "a,]" ,[2,[3]],{"b":4} ] more`))
	var got []string
	for _, span := range spans {
		got = append(got, string(span))
	}
	if err != nil || strings.Join(got, ";") != `1;"a,]";[2,[3]];{"b":4}` || n != 28 {
		t.Errorf("%q, %d, %v", got, n, err)
	}
	for _, text := range []string{"", "{}", "[", "[1", "[1,]", "[,1]", "[1 2]"} {
		if _, _, err := Spans([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// FuzzMembers: reading by spans agrees with reading everything.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"c\""}],"d":-1.5e3}`, `{"a":}`, `{"a":"\\"}`, `{"é":"\u00e9"}`, `{"a":1}}`, `{"a":tru}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := chat.ParseValue([]byte(text))
		valid := err == nil && whole.Kind() == chat.KindObject
		var names []string
		var values []chat.Value
		spansValid := true
		err = Members([]byte(text), func(name string, rest []byte) (int, error) {
			n, err := Length(rest)
			if err != nil {
				return 0, err
			}
			v, err := chat.ParseValue(rest[:n])
			spansValid = spansValid && err == nil
			names, values = append(names, name), append(values, v)
			return n, nil
		})
		if valid && (err != nil || !spansValid) {
			t.Fatalf("%q is an object, but by spans: %v", text, err)
		}
		if !valid {
			return // what is no object as a whole may have valid spans only if they nest too deep
		}
		for i, m := range whole.Members() {
			if i >= len(names) || names[i] != m.Name || !values[i].Equal(m.Value) {
				t.Fatalf("%q: member %d is not %q: %s", text, i, m.Name, m.Value)
			}
		}
		if len(names) != len(whole.Members()) {
			t.Fatalf("%q has %d members", text, len(names))
		}
	})
}

func TestRememberParsesOnce(t *testing.T) {
	var s Seen
	calls := 0
	parse := func(v chat.Value) (string, *Problem) {
		calls++
		if v.Text() == "" {
			return "", Badf("p", "no text")
		}
		return v.Text(), nil
	}
	for range 2 {
		if got, p := Remember(&s, 'm', []byte(`"x"`), parse); got != "x" || p != nil {
			t.Errorf("%q, %v", got, p)
		}
	}
	if calls != 1 {
		t.Errorf("parsed %d times", calls)
	}
	if _, p := Remember(&s, 'n', []byte(`"x"`), parse); p != nil || calls != 2 {
		t.Error("a span of another kind is another span")
	}
	for range 2 {
		if _, p := Remember(&s, 'm', []byte(`1`), parse); p == nil || p.Param != "p" {
			t.Errorf("%v", p)
		}
	}
	if _, p := Remember(&s, 'm', []byte(`{`), parse); p == nil || p.Class != Bad {
		t.Errorf("%v", p)
	}
}

// TestSeenForgets: what nobody asks for is forgotten when there is too much, and what somebody does is not.
func TestSeenForgets(t *testing.T) {
	var s Seen
	parsed := map[string]int{}
	get := func(text string) {
		t.Helper()
		if got, p := Remember(&s, 'm', []byte(`"`+text+`"`), func(v chat.Value) (string, *Problem) {
			parsed[v.Text()]++
			return v.Text(), nil
		}); got != text || p != nil {
			t.Fatalf("%q, %v", got, p)
		}
	}
	for range 4 {
		get("wanted")
		get("once")
		s.young.bytes = maxBytes // as if there were much more
		get("fresh")
		get("wanted")
		s.young.bytes = maxBytes
		get("more")
		get("fresh")
		get("wanted")
	}
	if parsed["wanted"] != 1 || parsed["once"] < 2 || parsed["fresh"] != 1 {
		t.Errorf("parsed %v", parsed)
	}
}

func BenchmarkSpans(b *testing.B) {
	message := `{"role":"user","content":"` + strings.Repeat(`some text with \n an escape and a quote \" now and then; `, 60) + `"}`
	body := []byte("[" + strings.Repeat(message+",", 150) + "1]")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, _, err := Spans(body); err != nil {
			b.Fatal(err)
		}
	}
}
