package openai

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/chat"
	"molt/gateway/wire"
	"molt/traj"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var meta = wire.Meta{Turns: []string{"TURNTURNTURNTURNTURNTURN"}, Created: 1700000000, Model: "m", Prompt: 12}

func madeCall(id, name, arguments string) chat.ToolCall {
	v, err := chat.ParseValue([]byte(arguments))
	if err != nil {
		panic(err)
	}
	return chat.ToolCall{ID: id, Name: name, Arguments: v}
}

// script is a reply that thinks, speaks, and calls two tools.
var script = []wire.Delta{
	{Kind: wire.Reasoning, Text: "hm "},
	{Kind: wire.Reasoning, Text: "ok"},
	{Kind: wire.Content, Text: "On"},
	{Kind: wire.Content, Text: " it.\n"},
	{Kind: wire.Call, Call: madeCall("abcdefgh1", "bash", `{"command": "echo \"é\" <x>&y", "n": 1.0}`)},
	{Kind: wire.Call, Call: madeCall("abcdefgh2", "ls", "{}")},
}

var called = wire.End{Finish: traj.FinishStop, Sampled: 9, Reasoning: 3, Cached: 8}

// play streams deltas.
func play(s wire.Stream, m wire.Meta, deltas []wire.Delta, e wire.End) string {
	dst := s.Start(nil, m)
	for _, d := range deltas {
		dst = s.Delta(dst, d)
	}
	return string(s.Close(s.End(dst, 0, e)))
}

func whole(deltas []wire.Delta, e wire.End) wire.Reply {
	c := wire.Chosen{End: e}
	for _, d := range deltas {
		c.Add(d)
	}
	return wire.Reply{Meta: meta, Choices: []wire.Chosen{c}}
}

// events checks that a stream is made of events whose data is JSON, and returns the data.
func events(t *testing.T, text string) []chat.Value {
	t.Helper()
	var all []chat.Value
	for _, event := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		_, data, ok := strings.Cut("\n"+event, "\ndata: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("no event: %q", event)
		}
		if data == "[DONE]" {
			continue
		}
		v, err := chat.ParseValue([]byte(data))
		if err != nil {
			t.Fatalf("%v in %q", err, data)
		}
		all = append(all, v)
	}
	return all
}

func TestStream(t *testing.T) {
	r := &wire.Request{Options: wire.Options{Usage: true}, Echo: []byte(`"store":true`)}
	text := play(NewStream(r, false), meta, script, called)
	events(t, text)
	golden(t, "stream.txt", text)
}

func TestReply(t *testing.T) {
	r := &wire.Request{Echo: []byte(`"store":true`)}
	reply := whole(script, called)
	text := Encode(r, &reply, false)
	if _, err := chat.ParseValue(text); err != nil {
		t.Fatal(err)
	}
	golden(t, "reply.json", string(text)+"\n")
}

// TestSilence: a reply that says nothing is still a reply.
func TestSilence(t *testing.T) {
	r := &wire.Request{Echo: []byte(`"store":true`)}
	silent := wire.End{Finish: traj.FinishLength, Sampled: 1}
	text := play(NewStream(r, false), meta, nil, silent)
	events(t, text)
	reply := whole(nil, silent)
	golden(t, "silence.txt", text+string(Encode(r, &reply, false))+"\n")
}

func TestErrors(t *testing.T) {
	var text strings.Builder
	for class := wire.Bad; class <= wire.Upgrade; class++ {
		p := &wire.Problem{Class: class, Param: "messages[1]", Message: "is \"wrong\"", Tokens: 2000, Limit: 1000}
		status, body := Error(p)
		if _, err := chat.ParseValue(body); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&text, "%d %s\n", status, body)
	}
	r := &wire.Request{Echo: []byte(`"store":true`)}
	s := NewStream(r, false)
	dst := s.Start(nil, meta)
	dst = s.Delta(dst, script[0])
	from := len(dst)
	dst = s.Alive(s.Fail(dst, &wire.Problem{Class: wire.Overloaded, Message: "later"}))
	golden(t, "errors.txt", text.String()+string(dst[from:]))
}
