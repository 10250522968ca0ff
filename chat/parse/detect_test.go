package parse

import "testing"

func TestDetectNamesFamiliesThatExist(t *testing.T) {
	for _, row := range append(append([]evidence(nil), table...), tokens...) {
		if _, err := Named(row.family); err != nil || len(row.marks) == 0 {
			t.Errorf("%s by %q: %v", row.family, row.marks, err)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct{ template, token, want string }{
		{`{{ '<tool_call>\n{"name": "' }}`, "", "hermes"},
		{`'<tool_call>\n<function=' + name + '>\n' '<parameter='`, "", "qwen3-coder"},
		{`<tool_call>{{ tc.name }}<arg_key>{{ k }}</arg_key><arg_value>`, "", "glm"},
		{`{{ message.content }}`, "", "plain"},
		{`{{ message.content }}`, "[TOOL_CALLS]", "mistral"},
	} {
		f, why := Detect(c.template, func(token string) bool { return token == c.token })
		if f.Name != c.want || (why == "") != (c.want == "plain") {
			t.Errorf("%q with %q: %s because %q; want %s", c.template, c.token, f.Name, why, c.want)
		}
	}
}
