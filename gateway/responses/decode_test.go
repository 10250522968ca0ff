package responses

import (
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
	"molt/gateway/wire/wiretest"
)

const turn = "TURNTURNTURNTURNTURNTURN"

// Codex in the second turn of a tool loop, and after a stream that broke: finished items are kept, and more is asked for.
const (
	opening = `{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
		{"type":"message","id":"msg_3","role":"user","content":[{"type":"input_text","text":"say hi"}]},
		{"type":"reasoning","id":"rs_` + turn + `_0","summary":[{"type":"summary_text","text":"  thinking hard \n"}],"encrypted_content":"enc_` + turn + `_0"},
		{"type":"message","status":"completed","id":"msg_` + turn + `_1","role":"assistant","content":[{"type":"output_text","text":" Working on it.\n","annotations":[],"logprobs":[]}]}`
	codex = `{"model":"m","stream":true,"input":[` + opening + `,
		{"type":"function_call","status":"completed","id":"fc_` + turn + `_2","name":"exec_command","arguments":"{\"cmd\": \"echo  hi-\\\"q\\\" \\u00e9 <x>&y\"}","call_id":"c1"},
		{"type":"function_call","namespace":"multi","name":"spawn","arguments":"{}","call_id":"c2"},
		{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"done"}],
		"tools":[{"type":"function","name":"exec_command","description":"d","strict":false,"parameters":{"type":"object"}},
			{"type":"namespace","name":"multi","description":"agents","tools":[{"type":"function","name":"spawn","parameters":{}}]},
			{"type":"custom","name":"apply_patch","format":{"type":"grammar"}},{"type":"web_search"}],
		"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","client_metadata":{"b":"1"}}`
	broken  = `{"model":"m","stream":true,"input":[` + opening + `],"tools":[]}`
	resumed = `{"model":"m","input":[` + opening + `,
		{"type":"message","id":"msg_OTHEROTHEROTHEROTHER_0","role":"assistant","content":"And on."},
		{"type":"custom_tool_call","call_id":"c9","name":"apply_patch","input":"*** {"},{"type":"custom_tool_call_output","call_id":"c9","output":[{"type":"input_text","text":"ok"}]}]}`
	easy = `{"instructions":"be kind","input":[{"role":"user","content":"hello"},{"role":"assistant","content":"one"},{"role":"assistant","content":"two"},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`
)

func TestDecode(t *testing.T) {
	const start = "system \"a\\nb\"\nuser \"say hi\"\nassistant (  thinking hard \\n) \" Working on it.\\n\""
	const names = " = rs_" + turn + "_0 enc_" + turn + "_0 msg_" + turn + "_1"
	for name, c := range map[string]struct{ body, want string }{
		"a tool loop":        {codex, start + ` c1:exec_command{"cmd":"echo  hi-\"q\" é <x>&y"} c2:multi.spawn{}` + names + " fc_" + turn + "_2 c1 c2\ntool \"done\" <- c1\n"},
		"a broken stream":    {broken, start + names + "\n"},
		"two turns in a row": {resumed, start + names + "\nassistant \"And on.\" c9:apply_patch{\"input\":\"*** {\"} = msg_OTHEROTHEROTHEROTHER_0 c9\ntool \"ok\" <- c9\n"},
		"easy messages":      {easy, "system \"be kind\"\nuser \"hello\"\nassistant \"one\"\nassistant \"two\"\nassistant (hm) \"\"\nuser \"x\"\n"},
		"a string":           {`{"input":"hello"}`, "user \"hello\"\n"},
	} {
		r, p := Decode([]byte(c.body), nil, nil)
		if p != nil {
			t.Fatalf("%s: %v", name, p)
		}
		if got := wire.Transcript(r.Items); got != c.want {
			t.Errorf("%s:\n%s want\n%s", name, got, c.want)
		}
	}
	r, _ := Decode([]byte(codex), nil, nil)
	var shown []string
	for _, tool := range r.Tools {
		shown = append(shown, tool.Name)
	}
	if got := strings.Join(shown, " "); got != "exec_command multi.spawn apply_patch" {
		t.Errorf("tools %s", got)
	}
	if got := r.Names.Of("multi.spawn"); got != (wire.Tool{Namespace: "multi", Name: "spawn"}) || !r.Names.Of("apply_patch").Free {
		t.Errorf("names %+v", r.Names)
	}
	if r.Store || !r.Stream {
		t.Errorf("store %v, stream %v", r.Store, r.Stream)
	}
	if v, err := chat.ParseValue([]byte("{" + string(r.Echo) + "}")); err != nil || !strings.Contains(v.String(), `"reasoning":{"summary":"auto"},"store":false`) {
		t.Errorf("echo %s, %v", r.Echo, err)
	}
}

// TestReferences: an item may be named instead of sent.
func TestReferences(t *testing.T) {
	lookup := func(id string) (chat.Message, bool) {
		switch id {
		case "rs_" + turn + "_0":
			return chat.Message{Role: chat.Assistant, Reasoning: "hm"}, true
		case "fc_" + turn + "_1":
			return chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{wiretest.Call("c1", "f", "{}")}}, true
		}
		return chat.Message{}, false
	}
	body := `{"previous_response_id":"resp_x","input":[{"type":"item_reference","id":"rs_` + turn + `_0"},{"type":"item_reference","id":"fc_` + turn + `_1"},{"type":"function_call_output","call_id":"c1","output":"1"}]}`
	r, p := Decode([]byte(body), nil, lookup)
	if p != nil {
		t.Fatal(p)
	}
	if got, want := wire.Transcript(r.Items), "assistant (hm) \"\" c1:f{} = rs_"+turn+"_0 fc_"+turn+"_1\ntool \"1\" <- c1\n"; got != want {
		t.Errorf("%s want %s", got, want)
	}
	if r.Previous != "resp_x" || !r.Store {
		t.Errorf("previous %q, store %v", r.Previous, r.Store)
	}
	if _, p := Decode([]byte(`{"input":[{"type":"item_reference","id":"rs_1"}]}`), nil, lookup); p == nil || !strings.Contains(p.Error(), "not stored here") {
		t.Errorf("%v", p)
	}
}

// viewed shows a picture that a tool has looked up, as Codex does behind view_image.
const viewed = `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,` + wiretest.PNG + `"}]},
	{"type":"function_call","call_id":"c","name":"view_image","arguments":"{}"},
	{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,` + wiretest.PNG + `"}]}]}`

func TestDecodeImages(t *testing.T) {
	r, p := Decode([]byte(viewed), nil, nil)
	if p != nil {
		t.Fatal(p)
	}
	shown := wiretest.PNGShown
	if got, want := wire.Transcript(r.Items), "user \"a\" [a] "+shown+"\nassistant \"\" c:view_image{} = c\ntool \"\" "+shown+" <- c\n"; got != want {
		t.Errorf("%s want %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                              "not the JSON of a request",
		`{"input":[]}`:                   "is empty",
		`{"input":5}`:                    "want a string or an array",
		`{}`:                             "want a string or an array",
		`{"input":[{"type":"thought"}]}`: `input[0].type: is "thought"`,
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x/"}]}]}`:                                          `input[0].content[0].image_url: is "https://x/"; images are not fetched`,
		`{"input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}]}`:                                                "no files are kept here",
		`{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`:                                                                   "image_url: is missing",
		`{"input":[{"role":"assistant","content":[{"type":"input_image","image_url":"data:image/png;base64,` + wiretest.PNG + `"}]}]}`:     "in the role assistant",
		`{"input":[{"role":"developer","content":[{"type":"input_image","image_url":"data:image/png;base64,` + wiretest.PNG + `"}]}]}`:     "in the role system",
		`{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"http://localhost/a.png"}]}]}`: "input[0].output[0].image_url",
		`{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{"}]}`:                                                    "input[0].arguments",
		`{"input":[{"type":"function_call","name":"f"}]}`:                                                                                  "input[0].call_id: is missing",
		`{"input":"a","background":true}`:             "background",
		`{"input":"a","conversation":"x"}`:            "conversation",
		`{"input":"a","tool_choice":"required"}`:      "no tools are offered",
		`{"input":"a","tools":[{"type":"function"}]}`: "tools[0].name: is missing",
		`{"input":"a","tools":{}}`:                    "tools: is of type object",
	} {
		r, p := Decode([]byte(body), nil, nil)
		if p == nil || p.Class != wire.Bad || !strings.Contains(p.Error(), want) {
			t.Errorf("%.90s: %+v, %v; want %q", body, r, p, want)
		}
	}
}

func TestNamespacesAndText(t *testing.T) {
	r := &wire.Request{Names: wire.Names{}, Echo: []byte(`"store":true`)}
	r.Names.Add(wire.Tool{Namespace: "multi", Name: "spawn"})
	r.Names.Add(wire.Tool{Name: "apply_patch", Free: true})
	text := wiretest.Play(NewStream(r, false), []wire.Delta{
		{Kind: wire.Call, Call: wiretest.Call("c1", "multi.spawn", "{}")},
		{Kind: wire.Call, Call: wiretest.Call("c2", "apply_patch", `{"input":"*** {"}`)},
	}, wiretest.End)
	wiretest.Events(t, text)
	for _, want := range []string{`"name":"spawn","namespace":"multi","arguments":"{}"`, `"type":"custom_tool_call","id":"ctc_` + turn + `_1","call_id":"c2","name":"apply_patch","input":"*** {"`, "event: response.custom_tool_call_input.done"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{codex, broken, resumed, easy, viewed} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var seen wire.Seen
		r, p := Decode(body, &seen, nil)
		again, problem := Decode(body, &seen, nil)
		if (p == nil) != (problem == nil) || p == nil && wire.Transcript(r.Items) != wire.Transcript(again.Items) {
			t.Fatalf("%v, then %v", p, problem)
		}
	})
}

// TestDecodeChoice: some of the tools, by their names and those of their namespaces.
func TestDecodeChoice(t *testing.T) {
	r, p := Decode([]byte(`{"input":"a","tools":[{"type":"function","name":"f","strict":true},{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}],
		"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"function","name":"g","namespace":"n"}]}}`), nil, nil)
	if p != nil {
		t.Fatal(p)
	}
	if c := r.Options.Choose; c.Mode != wire.Required || strings.Join(c.Only, " ") != "f n.g" || !r.Names.Of("f").Strict || r.Names.Of("n.g").Strict {
		t.Errorf("%+v, %+v", c, r.Names)
	}
}
