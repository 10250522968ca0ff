package script

import (
	"errors"
	"strings"
	"testing"

	"molt/engine"
)

func play(t *testing.T, e *Engine, prompt, tag string) (string, string, error) {
	t.Helper()
	r, err := Model()
	if err != nil {
		t.Fatal(err)
	}
	reply, err := e.Generate(t.Context(), engine.Request{
		Prompt: r.Tokenizer().EncodeSpecial(prompt), Tag: tag, Sampling: engine.Sampling{Temperature: 1, MaxTokens: 20, StopTokens: []int32{e.end}},
	}, nil)
	var ids []int32
	for _, k := range reply.Tokens {
		ids = append(ids, k.ID)
	}
	return r.Tokenizer().Decode(ids), string(reply.Finish), err
}

func TestScript(t *testing.T) {
	lines, err := Read(strings.NewReader(`{"text": "one"}
{"text": "for pens", "match": "pens"}

{"text": "never ends ", "open": true}
{"text": "breaks", "trouble": "unavailable", "after": 2}
{"text": "again", "loop": true}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Model()
	if err != nil {
		t.Fatal(err)
	}
	end, _ := r.EndOfTurn()
	e := New(lines, r.Tokenizer(), end, 1000)
	for i, want := range []struct{ prompt, text, finish string }{
		{"3 pens", "for pens<|im_end|>", "stop"},
		{"3 pens", "one<|im_end|>", "stop"},
		{"x", "never ends ", "length"},
		{"x", "", ""},
		{"x", "again<|im_end|>", "stop"},
		{"x", "again<|im_end|>", "stop"},
	} {
		text, finish, err := play(t, e, want.prompt, string(rune('a'+i)))
		if (want.finish == "") != errors.Is(err, engine.ErrUnavailable) || !strings.HasPrefix(text, want.text) || finish != want.finish {
			t.Errorf("reply %d: %q, %q, %v; want %+v", i, text, finish, err, want)
		}
	}
	empty := New(nil, r.Tokenizer(), end, 1000)
	if _, _, err := play(t, empty, "x", "x"); !errors.Is(err, errSpent) || errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("at the end of a script: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"txt": "a"}`:                    "line 1",
		"{\"text\": \"a\"}\n{":            "line 2",
		`{"text": "a", "ids": [1]}`:       "want one of them",
		`{"trouble": "fire"}`:             `trouble "fire"`,
		`{"text": "a", "after": -1}`:      "after -1",
		`{"text": "a", "trouble":"slow"}`: "pause_ms",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
