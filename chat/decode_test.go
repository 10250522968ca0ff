package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeMessages(t *testing.T) {
	got, err := DecodeMessages(parse(t, `[
		{"role": "system", "content": [{"type": "text", "text": "be "}, {"type": "text", "text": "brief"}]},
		{"role": "user", "content": "2+2?", "name": "kim", "refusal": null},
		{"role": "assistant", "content": null, "reasoning_content": "easy",
		 "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "calc", "arguments": "{\"b\": 1, \"a\": 2.0}"}},
		                {"name": "noop", "arguments": {}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "4"}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Message{
		{Role: System, Content: "be brief"},
		{Role: User, Content: "2+2?", Name: "kim"},
		{Role: Assistant, Reasoning: "easy", ToolCalls: []ToolCall{
			{ID: "c1", Name: "calc", Arguments: parse(t, `{"b":1,"a":2.0}`)}, {Name: "noop", Arguments: parse(t, `{}`)}}},
		{Role: Tool, ToolCallID: "c1", Content: "4"},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(Value.Equal)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeMessagesRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, "messages are of type object; want an array"},
		{`["hi"]`, "message 0: it is of type string; want an object"},
		{`[{"content":"x"}]`, `message 0: role ""`},
		{`[{"role":"user","content":7}]`, "content is of type integer"},
		{`[{"role":"user","content":[{"type":"image_url","image_url":"x"}]}]`, "content part 0"},
		{`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + (&Image{Media: "image/png", data: encoded(t, "png")}).DataURL() + `"}}]}]`, "content part 0"},
		{`[{"role":"user","content":"x","weight":1}]`, `key "weight" is not understood; remove it`},
		{`[{"role":"user","content":"x","tool_calls":[{"name":"f","arguments":{}}]}]`, "only an assistant"},
		{`[{"role":"assistant","tool_calls":[{"name":"f","arguments":"{"}]}]`, "tool call 0: arguments"},
		{`[{"role":"assistant","tool_calls":[{"name":"f","arguments":"[1]"}]}]`, "arguments of type array"},
		{`[{"role":"assistant","tool_calls":[{"arguments":{}}]}]`, `name ""`},
	} {
		if _, err := DecodeMessages(parse(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.text, err, c.want)
		}
	}
}

func TestDecodeTools(t *testing.T) {
	tools, err := DecodeTools(parse(t, `[{"type":"function","function":{"name":"a","x":1}},{"name":"b","parameters":{}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || tools[0].Name != "a" || tools[1].Spec.String() != `{"type":"function","function":{"name":"b","parameters":{}}}` {
		t.Errorf("got %v", tools)
	}
	if _, err := DecodeTools(parse(t, `[{"type":"function","function":{}}]`)); err == nil {
		t.Error("a tool without a name was accepted")
	}
}

func TestDecodeShown(t *testing.T) {
	row := func(url string) Value {
		return parse(t, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"`+url+`"}},{"type":"text","text":"b"}]}]`)
	}
	picture := testImage(t)
	messages, err := DecodeShown(row(picture.DataURL()))
	want := NewMessage(User, Part{Text: "a"}, Part{Image: picture}, Part{Text: "b"})
	if err != nil || len(messages) != 1 || !messages[0].Equal(&want) {
		t.Errorf("%+v, %v", messages, err)
	}
	if _, err := DecodeShown(row("http://10.0.0.1/a.png")); err == nil || !strings.Contains(err.Error(), `message 0: content part 1 is "http://10.0.0.1/a.png"; images are not fetched`) {
		t.Errorf("%v", err)
	}
}
