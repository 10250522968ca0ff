package wire

import (
	"strings"
	"testing"

	"molt/chat"
)

func members(t testing.TB, text string) (map[string]string, error) {
	t.Helper()
	got := map[string]string{}
	err := Object([]byte(text), func(name string, span []byte) error {
		got[name] = string(span)
		return nil
	})
	return got, err
}

func TestObject(t *testing.T) {
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

func TestObjectRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1}x`, `{a:1}`, `{"a":"x}`, `{"a":"x\`,
		`{"a":1,"a":2}`, `{"a":1x}`, `{"a":[1}`, `{"a" 1}`, `{"\ud800":1}`, strings.Repeat(`{"a":`, 1<<20)} {
		if _, err := members(t, text); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

func TestArray(t *testing.T) {
	var got []string
	if err := Array([]byte(`[1, "a,]" ,[2,[3]],{"b":4} ]`), func(span []byte) error {
		got = append(got, string(span))
		return nil
	}); err != nil || strings.Join(got, ";") != `1;"a,]";[2,[3]];{"b":4}` {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "{}", "[", "[1", "[1,]", "[,1]", "[1 2]", "[1]]"} {
		if err := Array([]byte(text), func([]byte) error { return nil }); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// FuzzObject: reading by spans agrees with reading everything.
func FuzzObject(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"c\""}],"d":-1.5e3}`, `{"a":}`, `{"a":"\\"}`, `{"é":"\u00e9"}`, `{"a":1}}`, `{"a":tru}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := chat.ParseValue([]byte(text))
		valid := err == nil && whole.Kind() == chat.KindObject
		var names []string
		var values []chat.Value
		spansValid := true
		err = Object([]byte(text), func(name string, span []byte) error {
			v, err := chat.ParseValue(span)
			spansValid = spansValid && err == nil
			names, values = append(names, name), append(values, v)
			return nil
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

func BenchmarkArray(b *testing.B) {
	message := `{"role":"user","content":"` + strings.Repeat(`some text with \n an escape and a quote \" now and then; `, 60) + `"}`
	body := []byte("[" + strings.Repeat(message+",", 150) + "1]")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := Array(body, func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
