// The reply that all codecs write, and what is held against their files.

package wiretest

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

// Golden compares text with a file of testdata.
func Golden(t *testing.T, name, got string) {
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

// Meta is that of the reply.
var Meta = wire.Meta{Turns: []string{"TURNTURNTURNTURNTURNTURN"}, Created: 1700000000, Model: "m", Prompt: 12}

// Deltas are a reply that thinks, speaks, and calls two tools.
var Deltas = []wire.Delta{
	{Kind: wire.Reasoning, Text: "hm "},
	{Kind: wire.Reasoning, Text: "ok"},
	{Kind: wire.Content, Text: "On"},
	{Kind: wire.Content, Text: " it.\n"},
	{Kind: wire.Call, Call: Call("abcdefgh1", "bash", `{"command": "echo \"é\" <x>&y", "n": 1.0}`)},
	{Kind: wire.Call, Call: Call("abcdefgh2", "ls", "{}")},
}

// Call makes a call of a tool.
func Call(id, name, arguments string) chat.ToolCall {
	v, err := chat.ParseValue([]byte(arguments))
	if err != nil {
		panic(err)
	}
	return chat.ToolCall{ID: id, Name: name, Arguments: v}
}

// End is that of the reply.
var End = wire.End{Finish: traj.FinishStop, Sampled: 9, Reasoning: 3, Cached: 8}

// Play streams deltas.
func Play(s wire.Stream, deltas []wire.Delta, e wire.End) string {
	dst := s.Start(nil, Meta)
	for _, d := range deltas {
		dst = s.Delta(dst, d)
	}
	return string(s.Close(s.End(dst, 0, e)))
}

// Whole joins deltas.
func Whole(deltas []wire.Delta, e wire.End) *wire.Reply {
	c := wire.Chosen{End: e}
	for _, d := range deltas {
		c.Add(d)
	}
	return &wire.Reply{Meta: Meta, Choices: []wire.Chosen{c}}
}

// Events checks that a stream is made of events whose data is JSON, and returns the data.
func Events(t *testing.T, text string) []chat.Value {
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

// Codec is what a wire writes.
type Codec struct {
	Stream func(r *wire.Request) wire.Stream
	Encode func(r *wire.Request, reply *wire.Reply) []byte
	Error  func(p *wire.Problem) (status int, body []byte)
}

// Run compares what a codec writes with the files in testdata.
func (c Codec) Run(t *testing.T) {
	t.Run("Stream", c.stream)
	t.Run("Reply", c.reply)
	t.Run("Silence", c.silence)
	t.Run("Errors", c.errors)
	t.Run("Logprobs", c.logprobs)
}

func request() *wire.Request {
	return &wire.Request{Options: wire.Options{Usage: true}, Echo: []byte(`"store":true`)}
}

func (c Codec) stream(t *testing.T) {
	text := Play(c.Stream(request()), Deltas, End)
	Events(t, text)
	Golden(t, "stream.txt", text)
}

func (c Codec) reply(t *testing.T) {
	text := c.Encode(request(), Whole(Deltas, End))
	if _, err := chat.ParseValue(text); err != nil {
		t.Fatal(err)
	}
	Golden(t, "reply.json", string(text)+"\n")
}

// silence: a reply that says nothing is still a reply.
func (c Codec) silence(t *testing.T) {
	end := wire.End{Finish: traj.FinishLength, Sampled: 1}
	r := request()
	r.Options.Usage = false
	text := Play(c.Stream(r), nil, end)
	Events(t, text)
	Golden(t, "silence.txt", text+string(c.Encode(r, Whole(nil, end)))+"\n")
}

// Ranked are deltas with log-probs and alternatives: two tokens of text, one before them that is none, one that comes late.
var Ranked = []wire.Delta{
	{Kind: wire.Reasoning, Text: "hm", Tokens: []wire.Token{{ID: 1, Logp: -1, Text: "hm"}}},
	{Kind: wire.Content, Text: "On", Tokens: []wire.Token{{ID: 2, Logp: -0.5, Text: "On", Top: []wire.Token{{ID: 2, Logp: -0.5, Text: "On"}, {ID: 3, Logp: -1.5, Text: "\""}}}}},
	{Kind: wire.Content, Text: "é", Tokens: []wire.Token{{ID: 4, Logp: -3, Text: "é", Top: []wire.Token{{ID: 5, Logp: 0, Text: "a"}, {ID: 6, Logp: -9, Text: "a"}}}}},
	{Kind: wire.Nothing, Tokens: []wire.Token{{ID: 7, Logp: -0.25, Text: ""}}},
}

func (c Codec) logprobs(t *testing.T) {
	r := request()
	r.Options.Logprobs, r.Options.Top = true, 2
	text := Play(c.Stream(r), Ranked, End)
	Events(t, text)
	whole := c.Encode(r, Whole(Ranked, End))
	if _, err := chat.ParseValue(whole); err != nil {
		t.Fatal(err)
	}
	Golden(t, "logprobs.txt", text+string(whole)+"\n")
}

func (c Codec) errors(t *testing.T) {
	var text strings.Builder
	for class := wire.Bad; class <= wire.Upgrade; class++ {
		p := &wire.Problem{Class: class, Param: "messages[1]", Message: "is \"wrong\"", Tokens: 2000, Limit: 1000}
		status, body := c.Error(p)
		if _, err := chat.ParseValue(body); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&text, "%d %s\n", status, body)
	}
	r := request()
	r.Options.Usage = false
	s := c.Stream(r)
	dst := s.Delta(s.Start(nil, Meta), Deltas[0])
	from := len(dst)
	dst = s.Alive(s.Fail(dst, &wire.Problem{Class: wire.Overloaded, Message: "later"}))
	Golden(t, "errors.txt", text.String()+string(dst[from:]))
}
