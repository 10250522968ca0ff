package openai

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"molt/gateway/wire"
	"molt/gateway/wire/wiretest"
)

// What opencode, pi and qwen-code send in the second turn of a tool loop.
const (
	opencode = `{"model":"m","max_tokens":8192,"messages":[{"role":"system","content":"S"},{"role":"user","content":"\"say hi\""},
		{"role":"assistant","content":" Working on it.\n","reasoning_content":"  thinking hard \n","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"echo  hi-\\\"q\\\" é <x>&y\",\"description\":\"say hi\"}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"hi"}],
		"tools":[{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object","$schema":"x"},"strict":true}}],
		"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true}}`
	pi = `{"model":"m","messages":[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"text","text":"\"say hi\""}]},
		{"role":"assistant","content":" Working on it.\n","reasoning_content":"  thinking hard \n","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{ \"description\":\"say hi\", \"command\":\"echo  hi-\\\"q\\\" \\u00e9 <x>&y\"}"}}]},
		{"role":"tool","content":[{"type":"text","text":"hi"}],"tool_call_id":"call_1"}],"stream":true,"store":false,"max_completion_tokens":8192,"reasoning_effort":"medium"}`
	qwen = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"context","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"Got it. Thanks for the context!"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}],"reasoning_content":null},{"role":"user","content":"a","name":"bob"}]}`
)

func TestDecode(t *testing.T) {
	conversation := "system \"S\"\nuser \"\\\"say hi\\\"\"\n" +
		"assistant (  thinking hard \\n) \" Working on it.\\n\" call_1:bash%s = call_1\ntool \"hi\" <- call_1\n"
	for name, c := range map[string]struct{ body, want string }{
		"opencode": {opencode, fmt.Sprintf(conversation, `{"command":"echo  hi-\"q\" é <x>&y","description":"say hi"}`)},
		"pi":       {pi, fmt.Sprintf(conversation, `{"description":"say hi","command":"echo  hi-\"q\" é <x>&y"}`)},
		"qwen":     {qwen, "user \"context\"\nassistant \"Got it. Thanks for the context!\"\nassistant \"\" c:f{} = c\nuser \"a\"\n"},
	} {
		r, p := Decode([]byte(c.body), nil)
		if p != nil {
			t.Fatalf("%s: %v", name, p)
		}
		if got := wire.Transcript(r.Items); got != c.want {
			t.Errorf("%s:\n%s want\n%s", name, got, c.want)
		}
	}
	a, _ := Decode([]byte(opencode), nil)
	b, _ := Decode([]byte(pi), nil)
	for i := range a.Items {
		if a.Items[i].Exact != b.Items[i].Exact {
			t.Errorf("message %d differs between two clients that say the same", i)
		}
	}
	if !a.Stream || !a.Options.Usage || a.Options.MaxTokens != 8192 || b.Options.MaxTokens != 8192 || b.Options.Usage || a.Options.Choices != 1 {
		t.Errorf("options %+v, %+v", a.Options, b.Options)
	}
	if got, want := a.Tools[0].Spec.String(), `{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object","$schema":"x"}}}`; got != want {
		t.Errorf("tool %s, want %s", got, want)
	}
}

func TestDecodeOptions(t *testing.T) {
	r, p := Decode([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"detail":"low","url":"data:image/png;base64,`+wiretest.PNG+`"}},{"type":"text","text":"b"}]}],
		"temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,"seed":-1,"n":3,"stop":["x","y"],"logprobs":true,"return_token_ids":true,"unheard_of":{"a":[1]},"stream":null,
		"tools":[{"type":"custom","custom":{"name":"patch","format":{}}},{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"custom","custom":{"name":"patch"}}}`), nil)
	if p != nil {
		t.Fatal(p)
	}
	o := r.Options
	if *o.Temperature != 0.5 || *o.TopP != 0.9 || *o.TopK != 0 || *o.MinP != 0.1 || *o.Seed != 1<<64-1 || o.Choices != 3 ||
		!slices.Equal(o.Stop, []string{"x", "y"}) || !o.Logprobs || !o.TokenIDs || o.Choose.Mode != wire.Required || !slices.Equal(o.Choose.Only, []string{"patch"}) {
		t.Errorf("%+v", o)
	}
	if got, want := wire.Transcript(r.Items), "user \"a\\nb\" [a] "+wiretest.PNGShown+" [b]\n"; got != want {
		t.Errorf("%s want %s", got, want)
	}
	if !r.HasImages() || !r.Names.Of("patch").Free || r.Names.Of("f").Free {
		t.Errorf("images %v, names %v", r.HasImages(), r.Names)
	}
	parameters, _ := r.Tools[0].Spec.Get("function")
	if got, want := parameters.String(), `{"name":"patch","description":"","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}`; got != want {
		t.Errorf("a tool that takes text is %s, want %s", got, want)
	}
}

// image is a request that shows an image, or many.
func image(role, url string, times ...int) string {
	part := `{"type":"image_url","image_url":{"url":"` + url + `"}}`
	for _, n := range times {
		part = strings.Repeat(part+",", n-1) + part
	}
	return `{"messages":[{"role":"` + role + `","content":[` + part + `]}]}`
}

// TestDecodeSampling: everything that vLLM and the vendors let a request ask of sampling.
func TestDecodeSampling(t *testing.T) {
	r, p := Decode([]byte(`{"messages":[{"role":"user","content":"a"}],"logprobs":true,"top_logprobs":20,"frequency_penalty":-1.5,"presence_penalty":2,
		"repetition_penalty":1.1,"logit_bias":{"50":-100,"7":0.5},"min_tokens":3,"ignore_eos":true,"stop_token_ids":[9,8],"reasoning_effort":"low",
		"chat_template_kwargs":{"enable_thinking":false,"date":"1 May 2026"}}`), nil)
	if p != nil {
		t.Fatal(p)
	}
	o := r.Options
	if o.Top != 20 || *o.Frequency != -1.5 || *o.Presence != 2 || *o.Repetition != 1.1 || !slices.Equal(o.Bias, []wire.Bias{{ID: 7, Value: 0.5}, {ID: 50, Value: -100}}) ||
		o.MinTokens != 3 || !o.IgnoreEnd || !slices.Equal(o.StopTokens, []int32{9, 8}) || o.Effort != "low" || len(o.Variables) != 2 || o.Variables[0].Name != "enable_thinking" {
		t.Errorf("%+v", o)
	}
}

func TestDecodeRefuses(t *testing.T) {
	with := func(rest string) string { return `{"messages":[{"role":"user","content":"a"}],` + rest + `}` }
	for body, want := range map[string]string{
		``:   "not the JSON of a request",
		`[]`: "not the JSON of a request",
		`{"messages":[{"role":"user","content":"a"}`: "not the JSON of a request",
		`{"messages":[]}`:                                                 "at least one message",
		`{}`:                                                              "at least one message",
		`{"messages":{"role":"user"}}`:                                    "at least one message",
		`{"messages":["a"]}`:                                              "messages[0]: is of type string",
		`{"messages":[{"role":"judge"}]}`:                                 `messages[0].role: is "judge"`,
		`{"messages":[{"content":"a"}]}`:                                  "messages[0].role: is missing",
		`{"messages":[{"role":"user","content":5}]}`:                      "messages[0].content: is of type integer",
		image("user", "http://169.254.169.254/x.png"):                     "messages[0].content[0].image_url.url: is \"http://169.254.169.254/x.png\"; images are not fetched",
		image("user", "file:///etc/passwd"):                               "images are not fetched",
		image("user", "data:text/html;base64,PGI+"):                       "images are not fetched",
		image("user", "data:image/png;base64,aGk="):                       "messages[0].content[0].image_url.url: is no image in PNG, JPEG, GIF or WebP",
		image("assistant", "data:image/png;base64,"+wiretest.PNG):         "messages[0].content: shows an image in the role assistant",
		image("developer", "data:image/png;base64,"+wiretest.PNG):         "in the role system",
		strings.Replace(image("user", ""), `"url":""`, `"detail":"x"`, 1): `detail: is "x"`,
		strings.Replace(image("user", ""), `"url":""`, ``, 1):             "url: is missing",
		image("user", "data:image/png;base64,"+wiretest.PNG, 513):         "shows more than 512 images",
		`{"messages":[{"role":"user","content":[{"type":"video"}]}]}`:     `messages[0].content[0].type: is "video"`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\""}}]}]}`: "messages[0].tool_calls[0].function.arguments",
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"[]"}}]}]}`:     "want an object",
		`{"messages":[{"role":"user","content":"\ud800"}]}`:                                                          "messages[0]",
		"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}":                                                  "messages[0]",
		`{"messages":[{"role":"user","content":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}]}`:     "nested deeper",
		with(`"temperature":-1`):                  "temperature: is -1",
		with(`"temperature":1e-300`):              "temperature: is 1e-300; want 0, or a number from 0.0001",
		with(`"temperature":1e-40`):               "temperature: is 1e-40",
		with(`"temperature":10001`):               "temperature: is 10001",
		with(`"n":0`):                             "n: is 0",
		with(`"n":1000`):                          "n: is 1000",
		with(`"stop":[""]`):                       "stop",
		with(`"top_logprobs":5`):                  "top_logprobs",
		with(`"logprobs":true,"top_logprobs":21`): "top_logprobs",
		with(`"frequency_penalty":2.5`):           "frequency_penalty: is 2.5; want a number from -2 to 2",
		with(`"repetition_penalty":0`):            "repetition_penalty",
		with(`"min_tokens":-1`):                   "min_tokens",
		with(`"stop_token_ids":["a"]`):            "stop_token_ids",
		with(`"logit_bias":{"a":5}`):              `logit_bias: names "a"`,
		with(`"logit_bias":{"1":101}`):            "logit_bias.1: is 101",
		with(`"logit_bias":[1]`):                  "logit_bias: is of type array",
		with(`"functions":[]`):                    "functions",
		with(`"tool_choice":"required"`):          "no tools are offered",
		with(`"tool_choice":{"type":"function","function":{"name":"g"}},"tools":[{"type":"function","function":{"name":"f"}}]`): `names "g"`,
		with(`"tools":[{"type":"function","function":{}}]`):                                                                     "tools[0].function.name: is missing",
		with(`"chat_template_kwargs":{"messages":[]}`):                                                                          `chat_template_kwargs: sets "messages"`,
		with(`"chat_template_kwargs":{"a b":1}`):                                                                                `chat_template_kwargs: sets "a b"`,
		with(`"chat_template_kwargs":{"a":"<|im_start|>"}`):                                                                     "chat_template_kwargs.a: is",
		with(`"chat_template_kwargs":{"a":{}}`):                                                                                 "chat_template_kwargs.a: is",
		with(`"stream":"yes"`):                                                                                                  "stream: is of type string",
	} {
		r, p := Decode([]byte(body), nil)
		if p == nil || p.Class != wire.Bad || !strings.Contains(p.Error(), want) {
			t.Errorf("%.80s: %+v, %v; want %q", body, r, p, want)
		}
	}
}

func TestDecodeRaw(t *testing.T) {
	for body, want := range map[string]string{
		`{"prompt":"a b","max_tokens":5,"logprobs":1}`: "a b [] true",
		`{"prompt":["a"]}`:                "a [] false",
		`{"prompt":[1,2]}`:                " [1 2] false",
		`{"prompt":[[1,2]],"echo":false}`: " [1 2] false",
	} {
		r, p := DecodeRaw([]byte(body))
		if p != nil {
			t.Errorf("%s: %v", body, p)
			continue
		}
		if got := fmt.Sprint(r.Text, " ", r.Prompt, " ", r.Options.Logprobs); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for _, body := range []string{``, `{}`, `{"prompt":[]}`, `{"prompt":[1,"a"]}`, `{"prompt":[-1]}`, `{"prompt":["a","b"]}`, `{"prompt":"a","echo":true}`, `{"prompt":"a","logprobs":21}`, `{"prompt":"a","best_of":2}`, `{"prompt":"a","chat_template_kwargs":{"a":1}}`} {
		if _, p := DecodeRaw([]byte(body)); p == nil {
			t.Errorf("%s was read", body)
		}
	}
}

// FuzzDecode: what was seen before changes nothing, and nothing panics.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{opencode, pi, qwen, image("user", "data:image/png;base64,"+wiretest.PNG), image("tool", "data:image/gif;base64,"+wiretest.GIF), image("user", "http://[::1]/")} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = DecodeRaw(body)
		var seen wire.Seen
		r, p := Decode(body, &seen)
		again, problem := Decode(body, &seen)
		if (p == nil) != (problem == nil) || p == nil && wire.Transcript(r.Items) != wire.Transcript(again.Items) {
			t.Fatalf("%v, then %v", p, problem)
		}
		if p == nil {
			dst := NewStream(r, false).Start(nil, wire.Meta{Turns: make([]string, r.Options.Choices)})
			wiretest.Events(t, string(dst))
		}
	})
}

// TestDecodeChoice: which tools may or must be called, and which are strict.
func TestDecodeChoice(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"f","strict":true}},{"type":"function","function":{"name":"g"}}]`
	for choice, want := range map[string]wire.Choice{
		`"auto"`:     {},
		`"none"`:     {Mode: wire.None},
		`"required"`: {Mode: wire.Required},
		`{"type":"function","function":{"name":"g"}}`:                                                                        {Mode: wire.Required, Only: []string{"g"}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`:     {Only: []string{"f"}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`: {Mode: wire.Required, Only: []string{"f"}},
	} {
		r, p := Decode([]byte(`{"messages":[{"role":"user","content":"a"}],`+tools+`,"tool_choice":`+choice+`}`), nil)
		if p != nil || r.Options.Choose.Mode != want.Mode || !slices.Equal(r.Options.Choose.Only, want.Only) || !r.Names.Of("f").Strict || r.Names.Of("g").Strict {
			t.Errorf("%s: %v", choice, p)
		}
	}
	for choice, want := range map[string]string{
		`"any"`: "want auto, none, required",
		`{"type":"allowed_tools","allowed_tools":{"mode":"must","tools":[]}}`:                                            `tool_choice.allowed_tools.mode: is "must"`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`:                                            "has 0 entries",
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"h"}}]}}`: `names "h"`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[1]}}`:                                           "want an object",
	} {
		if _, p := Decode([]byte(`{"messages":[{"role":"user","content":"a"}],`+tools+`,"tool_choice":`+choice+`}`), nil); p == nil || !strings.Contains(p.Error(), want) {
			t.Errorf("%s: %v; want %q", choice, p, want)
		}
	}
}
