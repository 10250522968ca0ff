package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValueKeepsOrderAndLiterals(t *testing.T) {
	const text = `{"z":1,"a":[1.50,-0,1e3,12345678901234567890],"b":{"y":null,"x":true},"é":"<&>\n\u0001"}`
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.String(); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	a, _ := v.Get("a")
	kinds := ""
	for _, item := range a.Items() {
		kinds += item.Kind().String() + " "
	}
	if kinds != "number integer number integer " {
		t.Errorf("kinds %s", kinds)
	}
	if _, fits := a.Items()[3].Int64(); fits {
		t.Error("12345678901234567890 fits into 64 bits")
	}
}

func TestParseValueRefuses(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "the text ends inside the value"},
		{"cut", `{"a": [1, 2`, "the text ends inside the value"},
		{"two values", `{} {}`, "more text after the value"},
		{"garbage behind", `{}]`, "more text after the value"},
		{"duplicate key", `{"a":1,"a":2}`, "duplicate"},
		{"not UTF-8", "\"\xff\"", "invalid UTF-8"},
		{"lone surrogate", `"\ud800"`, "surrogate"},
		{"deep", deep, "nested deeper than 128"},
		{"deep objects", strings.Repeat(`{"a":`, 1000), "nested deeper than 128"},
		{"Python", `{'a': True}`, "invalid character"},
		{"NaN", `NaN`, "invalid character"},
		{"leading zero", `01`, "more text after the value"},
		{"comment", `{} // c`, "more text after the value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseValue([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", v, err, c.want)
			}
		})
	}
}

func TestValueEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1.0`, false},
		{`1`, `"1"`, false},
		{`{"x":{"a":[{"p":1,"q":null}]}}`, `{"x":{"a":[{"q":null,"p":1}]}}`, true},
		{`null`, `false`, false},
	} {
		if got := parse(t, c.a).Equal(parse(t, c.b)); got != c.want {
			t.Errorf("%s equals %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestValueConstructors(t *testing.T) {
	v := Object(Member{"n", Int(-3)}, Member{"f", Float(2)}, Member{"s", String("x")}, Member{"l", Array(Bool(true), Value{})})
	if got, want := v.String(), `{"n":-3,"f":2.0,"s":"x","l":[true,null]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !v.Equal(parse(t, v.String())) {
		t.Error("a built value differs from the same text parsed")
	}
}

func TestMessageJSONRoundTrip(t *testing.T) {
	m := Message{Role: Assistant, Content: "c", Reasoning: "r", ToolCalls: []ToolCall{{"id1", "f", parse(t, `{"z":1.0,"a":{}}`)}}}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"role":"assistant","content":"c","reasoning_content":"r","tool_calls":[{"id":"id1","name":"f","arguments":{"z":1.0,"a":{}}}]}`
	if string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
	var back Message
	if err := json.Unmarshal(data, &back); err != nil || !back.Equal(&m) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func FuzzParseValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,null,true,"x"]}`, `[[[]]]`, `"\u00e9"`, `-0.0e-1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseValue(data)
		if err != nil {
			return
		}
		w, err := ParseValue([]byte(v.String()))
		if err != nil || !v.Equal(w) || v.String() != w.String() {
			t.Errorf("%q: printed as %s, read back as %s, %v", data, v, w, err)
		}
		if !json.Valid([]byte(v.String())) {
			t.Errorf("%q: printed as %s, which is not JSON", data, v)
		}
	})
}

func parse(t testing.TB, text string) Value {
	t.Helper()
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
