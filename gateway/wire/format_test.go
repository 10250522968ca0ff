package wire

import (
	"testing"

	"molt/chat"
)

func TestReadFormat(t *testing.T) {
	for _, c := range []struct{ body, param, schema, problem string }{
		{`{}`, "", "", ""},
		{`{"f":null}`, "", "", ""},
		{`{"f":{"type":"text"}}`, "", "", ""},
		{`{"f":{"type":"json_object"}}`, "f", "", ""},
		{`{"f":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"null"}}}}`, "f", `{"type":"null"}`, ""},
		{`{"f":{"type":"json_schema","name":"n","schema":{"type":"null"}}}`, "f", `{"type":"null"}`, ""},
		{`{"f":{"type":"json_schema","json_schema":{"name":"n"}}}`, "f", "null", "f.json_schema.schema"},
		{`{"f":{"type":"grammar"}}`, "f", "", "f.type"},
		{`{"f":"json"}`, "f", "", "f"},
	} {
		v, err := chat.ParseValue([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		f := Read(v, "")
		got := f.ReadFormat("f")
		problem := ""
		if f.Problem != nil {
			problem = f.Problem.Param
		}
		if got.Param != c.param || (c.schema != "null" && string(compact(got.Schema)) != c.schema) || problem != c.problem {
			t.Errorf("%s: %+v, problem %q", c.body, got, problem)
		}
	}
}

// compact takes spaces away.
func compact(b []byte) (out []byte) {
	for _, c := range b {
		if c != ' ' {
			out = append(out, c)
		}
	}
	return out
}
