package capture

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/wire"
)

const priced = `{"type":"object","properties":{"item":{"enum":["pen","cup"]},"cost":{"type":"integer"},"ok":{"type":"boolean"}},"required":["item","cost","ok"],"additionalProperties":false}`

func inFormat(messages []chat.Message, tools []chat.ToolSpec, schema string) *wire.Request {
	r := request(messages, tools)
	r.Options.Format = wire.Format{Param: "response_format"}
	if schema != "" {
		r.Options.Format.Schema = []byte(schema)
	}
	return r
}

// TestRepliesInAFormat: a toy that knows no JSON answers in the schema, and nothing of it trains.
func TestRepliesInAFormat(t *testing.T) {
	w := newWorld(t, nil, nil)
	seen := map[string]bool{}
	for i := range 12 {
		got := w.send(inFormat([]chat.Message{user(strings.Repeat("a", i+1))}, nil, priced), Caller{})
		var v struct {
			Item string
			Cost *int64
			Ok   *bool
		}
		if err := json.Unmarshal([]byte(got.Content), &v); err != nil || v.Item != "pen" && v.Item != "cup" || v.Cost == nil || v.Ok == nil {
			t.Errorf("%s: %v", got.Content, err)
		}
		seen[got.Content] = true
	}
	if len(seen) < 3 {
		t.Errorf("all replies are alike: %v", seen)
	}
	for _, n := range w.session.Nodes() {
		if !n.Constrained {
			t.Error("a node does not say that it was constrained")
		}
	}
	e := w.session.Export()
	for _, s := range e.Segments {
		if slices.Contains(s.Action, true) {
			t.Error("a constrained token trains")
		}
	}
	w.sound()
}

// TestFormatWithTools: a reply may be a call instead, and then it is free.
func TestFormatWithTools(t *testing.T) {
	w := newWorld(t, inOrder(lookup("pen"), `{"item": "pen", "cost": 4, "ok": true}`), nil)
	call := w.send(inFormat([]chat.Message{user("a")}, pens, priced), Caller{})
	if len(call.ToolCalls) != 1 {
		t.Fatalf("%+v", call)
	}
	got := w.send(inFormat([]chat.Message{user("a"), call, tool(call.ToolCalls[0].ID, "4")}, pens, priced), Caller{})
	if got.Content != `{"item": "pen", "cost": 4, "ok": true}` {
		t.Errorf("%+v", got)
	}
	w.sound()
}

// TestFormatResumes: behind a break the reply goes on inside its value.
func TestFormatResumes(t *testing.T) {
	w := newWorld(t, nil, func(c *Config) { c.Resume = 3 })
	for i := range 8 {
		w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: i + 1})
		got := w.send(inFormat([]chat.Message{user(strings.Repeat("a", i+1))}, nil, priced), Caller{})
		if !json.Valid([]byte(got.Content)) || !strings.HasPrefix(got.Content, `{"item":`) {
			t.Errorf("%s", got.Content)
		}
	}
	if w.gateway.Counts().Resumed != 8 {
		t.Errorf("resumed %d times", w.gateway.Counts().Resumed)
	}
	w.sound()
}

// TestFormatsThatCannotBeKept are refused by name.
func TestFormatsThatCannotBeKept(t *testing.T) {
	w := newWorld(t, nil, nil)
	for _, c := range []struct{ schema, want string }{
		{`{"type":"string","pattern":"a"}`, `"pattern" is not supported`},
		{`{"$ref":"#"}`, "without end"},
	} {
		if _, p := w.session.Ask(t.Context(), inFormat([]chat.Message{user("a")}, nil, c.schema), Caller{}); p == nil || p.Class != wire.Bad || p.Param != "response_format" || !strings.Contains(p.Message, c.want) {
			t.Errorf("%s: %+v", c.schema, p)
		}
	}
	w = newWorld(t, nil, func(c *Config) { c.Generator = plainEngine{c.Generator} })
	if _, p := w.session.Ask(t.Context(), inFormat([]chat.Message{user("a")}, nil, priced), Caller{}); p == nil || p.Param != "response_format" || !strings.Contains(p.Message, "the engine does not constrain") {
		t.Errorf("%+v", p)
	}
}

// plainEngine honours no constraints.
type plainEngine struct{ engine.Generator }

func (e plainEngine) Capabilities() engine.Capabilities {
	c := e.Generator.Capabilities()
	c.Constrained = false
	return c
}
