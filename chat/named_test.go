package chat

import (
	"strings"
	"testing"
)

func TestTemplatesChooseAsTransformersDoes(t *testing.T) {
	sources, err := DecodeSources(parse(t, `[{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"}]`))
	if err != nil {
		t.Fatal(err)
	}
	tools := []ToolSpec{NewToolSpec("f", "", Object())}
	for _, c := range []struct {
		sources []Source
		chosen  string
		tools   []ToolSpec
		want    string
	}{
		{sources, "", nil, "d"}, {sources, "", tools, "t"}, {sources, "rag", tools, "r"}, {sources, "default", tools, "d"},
		{sources[:1], "", tools, "d"}, {[]Source{{"tool_use", "t"}, {"default", "d"}}, "tool_use", nil, "t"},
	} {
		all, err := NewTemplates(c.sources, c.chosen, JinjaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := all.Render(Conversation{Tools: c.tools}, true); got != c.want || err != nil {
			t.Errorf("%q with %d tools: got %q, %v; want %q", c.chosen, len(c.tools), got, err, c.want)
		}
	}
	for _, c := range []struct {
		sources []Source
		chosen  string
		want    string
	}{
		{sources[1:], "", `no chat template is called "default"; there are tool_use, rag`},
		{sources, "nope", `no chat template is called "nope"; there are default, tool_use, rag`},
		{[]Source{{"default", "{{"}}, "", `the template "default"`},
	} {
		if _, err := NewTemplates(c.sources, c.chosen, JinjaOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v; want %q", err, c.want)
		}
	}
}

func TestDecodeSources(t *testing.T) {
	if got, err := DecodeSources(String("x")); err != nil || len(got) != 1 || got[0] != (Source{"default", "x"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := DecodeSources(Value{}); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		`1`:                              "of type integer",
		`[{"name": "a"}]`:                "chat_template 0 is",
		`[{"name": "", "template": ""}]`: "chat_template 0 is",
		`[{"name": "a", "template": ""}, {"name": "a", "template": ""}]`: `two chat templates are called "a"`,
	} {
		if _, err := DecodeSources(parse(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
