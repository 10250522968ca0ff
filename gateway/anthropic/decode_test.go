package anthropic

import (
	"strings"
	"testing"

	"molt/gateway/wire"
	"molt/gateway/wire/wiretest"
)

// What Claude Code sends in its first turn, and in the second one of a tool loop: the cache mark has moved, the billing
// header has changed, and there is a system message behind the first user's.
const (
	claude1 = `{"model":"claude-opus-4-8","messages":[{"role":"user","content":[{"type":"text","text":"remind"},{"type":"text","text":"say hi using bash\n","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"agents"}],
		"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.abc; cc_entrypoint=sdk-cli;"},{"type":"text","text":"You are","cache_control":{"type":"ephemeral"}},{"type":"text","text":"careful","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"Bash","description":"runs","input_schema":{"$schema":"x","type":"object"}},{"type":"web_search_20250305","name":"web_search"}],"metadata":{"user_id":"{}"},"max_tokens":64000,"thinking":{"type":"adaptive"},
		"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"stream":true}`
	claude2 = `{"model":"claude-opus-4-8","messages":[{"role":"user","content":[{"type":"text","text":"remind"},{"type":"text","text":"say hi using bash\n"}]},{"role":"system","content":"agents"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"  let me think \n","signature":"c2ln"},{"type":"text","text":" Working on it.\n"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"echo  hi-\"q\" é <x>&y","description":"say hi"}}]},
		{"role":"user","content":[{"type":"tool_result","content":"no","is_error":true,"tool_use_id":"toolu_1","cache_control":{"type":"ephemeral"}},{"type":"tool_result","content":[{"type":"text","text":"two"}],"tool_use_id":"toolu_2"},{"type":"text","text":"and?"}]}],
		"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.def; cc_entrypoint=sdk-cli;"},{"type":"text","text":"You are"},{"type":"text","text":"careful","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"Bash","description":"runs","input_schema":{"$schema":"x","type":"object"},"cache_control":{"type":"ephemeral"}}],"max_tokens":64000,"thinking":{"type":"disabled"}}`
)

func TestDecode(t *testing.T) {
	first, p := Decode([]byte(claude1), nil)
	if p != nil {
		t.Fatal(p)
	}
	second, p := Decode([]byte(claude2), nil)
	if p != nil {
		t.Fatal(p)
	}
	want := `system "You are\ncareful"
user "remind\nsay hi using bash\n"
system "agents"
`
	if got := wire.Transcript(first.Items); got != want {
		t.Errorf("first\n%s want\n%s", got, want)
	}
	want += `assistant (  let me think \n) " Working on it.\n" toolu_1:Bash{"command":"echo  hi-\"q\" é <x>&y","description":"say hi"} = c2ln toolu_1
tool "no" <- toolu_1
tool "two" <- toolu_2
user "and?"
`
	if got := wire.Transcript(second.Items); got != want {
		t.Errorf("second\n%s want\n%s", got, want)
	}
	for i := range first.Items {
		if first.Items[i].Exact != second.Items[i].Exact {
			t.Errorf("message %d changed", i)
		}
	}
	if first.ToolsKey != second.ToolsKey {
		t.Error("the tools changed")
	}
	if !first.Stream || second.Stream || first.Options.Hidden || !second.Options.Hidden || first.Options.MaxTokens != 64000 {
		t.Errorf("options %+v, %+v", first.Options, second.Options)
	}
}

// claudeRead is what Claude Code sends behind a call of its tool Read on a picture.
const claudeRead = `{"messages":[{"role":"user","content":"what is on a.png?"},
	{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/w/a.png"}}]},
	{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"image","source":{"type":"base64","data":"` + wiretest.PNG + `","media_type":"image/png"}}],
		"cache_control":{"type":"ephemeral"}}]}],"max_tokens":32000,"stream":true}`

// TestDecodeImages: images stand where they stood, in a message of a user as in the result of a tool.
func TestDecodeImages(t *testing.T) {
	r, p := Decode([]byte(claudeRead), nil)
	if p != nil {
		t.Fatal(p)
	}
	if got, want := wire.Transcript(r.Items[2:]), "tool \"\" "+wiretest.PNGShown+" <- toolu_1\n"; got != want || !r.HasImages() {
		t.Errorf("%s want %s", got, want)
	}
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + wiretest.PNG + `"}}`
	r, p = Decode([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},`+image+`,{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"b"},`+image+`,`+image+`]},{"type":"text","text":"c"}]}]}`), nil)
	if p != nil {
		t.Fatal(p)
	}
	shown := wiretest.PNGShown
	if got, want := wire.Transcript(r.Items), "user \"a\" [a] "+shown+"\ntool \"b\" [b] "+shown+" "+shown+" <- t\nuser \"c\"\n"; got != want {
		t.Errorf("%s want %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	message := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for body, want := range map[string]string{
		`{`:               "not the JSON of a request",
		`{"messages":[]}`: "at least one message",
		`{"messages":[{"role":"tool","content":"a"}]}`:                                                                                                               `messages[0].role: is "tool"`,
		`{"messages":[{"role":"user"}]}`:                                                                                                                             "messages[0].content: is of type null",
		`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`:                                                                            "prefill",
		message(`[{"type":"image","source":{"type":"url","url":"http://10.0.0.1/"}}]`):                                                                               `messages[0].content[0].source.url: is "http://10.0.0.1/"; images are not fetched`,
		message(`[{"type":"image","source":{"type":"file","file_id":"f"}}]`):                                                                                         `source.type: is "file"; images are not fetched`,
		message(`[{"type":"image","source":{"type":"base64","data":"?","media_type":"image/png"}}]`):                                                                 "messages[0].content[0].source.data: is not in standard base64",
		message(`[{"type":"image","source":{"type":"base64","data":"` + wiretest.PNG + `"}}]`):                                                                       "media_type: is missing",
		message(`[{"type":"image","source":{"type":"base64","data":"` + wiretest.PNG + `","media_type":"image/jpeg"}}]`):                                             `source.data: is image/png, although media_type says "image/jpeg"`,
		message(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"url","url":"http://127.0.0.1/"}}]}]`):                         `is "http://127.0.0.1/"; images are not fetched`,
		`{"messages":[{"role":"user","content":"a"}],"system":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + wiretest.PNG + `"}}]}`: "in the role system",
		message(`[{"type":"document"}]`):                                `messages[0].content[0].type: is "document"`,
		message(`[{"type":"tool_result","content":"a"}]`):               "messages[0].content[0].tool_use_id: is missing",
		message(`[{"type":"tool_use","id":"a","name":"b","input":{}}]`): `is "tool_use"`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":"{}"}]},{"role":"user","content":"a"}]}`: "want an object",
		`{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"bash_20250124","name":"bash"}]}`:                                      "give an input_schema",
		`{"messages":[{"role":"user","content":"a"}],"tools":[{"input_schema":{}}]}`:                                                         "tools[0].name: is missing",
		`{"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"any"}}`:                                                          "no tools are offered",
		`{"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"maybe"}}`:                                                        "tool_choice.type",
		`{"messages":[{"role":"user","content":"a"}],"system":5}`:                                                                            "system: is of type integer",
		`{"messages":[{"role":"user","content":"a"}],"max_tokens":0}`:                                                                        "max_tokens: is 0",
	} {
		r, p := Decode([]byte(body), nil)
		if p == nil || p.Class != wire.Bad || !strings.Contains(p.Error(), want) {
			t.Errorf("%.90s: %+v, %v; want %q", body, r, p, want)
		}
	}
}

// TestHidden: with thinking switched off, none is shown, and blocks are counted without it.
func TestHidden(t *testing.T) {
	r := &wire.Request{Options: wire.Options{Hidden: true}}
	text := wiretest.Play(NewStream(r), wiretest.Deltas, wiretest.End)
	reply := wiretest.Whole(wiretest.Deltas, wiretest.End)
	for _, text := range []string{text, string(Encode(r, reply))} {
		if strings.Contains(text, "thinking") || strings.Contains(text, "hm") {
			t.Errorf("thinking is shown: %s", text)
		}
	}
	if !strings.Contains(text, `{"type":"content_block_start","index":0,"content_block":{"type":"text"`) {
		t.Error("the first block is not the text")
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{claude1, claude2, claudeRead} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var seen wire.Seen
		r, p := Decode(body, &seen)
		again, problem := Decode(body, &seen)
		if (p == nil) != (problem == nil) || p == nil && wire.Transcript(r.Items) != wire.Transcript(again.Items) {
			t.Fatalf("%v, then %v", p, problem)
		}
	})
}
