package capture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine/enginetest"
	"molt/gateway/wire"
)

// shelf are two tools, the second of which is strict.
func shelf(t testing.TB) ([]chat.ToolSpec, wire.Names) {
	t.Helper()
	schema := func(text string) chat.Value {
		v, err := chat.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	names := wire.Names{}
	names.Add(wire.Tool{Name: "look"})
	names.Add(wire.Tool{Name: "price", Strict: true})
	return []chat.ToolSpec{
		chat.NewToolSpec("look", "", schema(`{"type":"object","properties":{"at":{"type":"string","minLength":1}}}`)),
		chat.NewToolSpec("price", "", schema(`{"type":"object","properties":{"item":{"enum":["pen","cup"]},"n":{"type":"integer"}},"required":["item","n"],"additionalProperties":false}`)),
	}, names
}

func demanding(t testing.TB, text string, change func(*wire.Options)) *wire.Request {
	tools, names := shelf(t)
	r := request([]chat.Message{user(text)}, tools)
	r.Names = names
	change(&r.Options)
	return r
}

// TestCallsAreDemanded: a toy that knows no calls makes them, of the tools that it may, and none of it trains.
func TestCallsAreDemanded(t *testing.T) {
	for _, c := range []struct {
		name   string
		only   []string
		single bool
	}{{"required", nil, false}, {"single", nil, true}, {"named", []string{"price"}, false}, {"allowed", []string{"look", "price"}, false}} {
		w := newWorld(t, nil, nil)
		called := map[string]int{}
		for i := range 12 {
			r := demanding(t, strings.Repeat("a", i+1), func(o *wire.Options) {
				o.Choose, o.Single, o.MaxTokens = wire.Choice{Mode: wire.Required, Only: c.only}, c.single, 400
			})
			reply, p := w.whole(r)
			if p != nil {
				t.Fatal(p)
			}
			m := message(reply)
			if reply.Choices[0].End.Finish == "length" {
				continue
			}
			if len(m.ToolCalls) == 0 || c.single && len(m.ToolCalls) != 1 || m.Content != "" {
				t.Errorf("%s: %+v", c.name, m)
			}
			for _, made := range m.ToolCalls {
				called[made.Name]++
				if made.Name == "price" {
					var v struct {
						Item string
						N    *int64
					}
					if err := json.Unmarshal([]byte(made.Arguments.String()), &v); err != nil || v.Item != "pen" && v.Item != "cup" || v.N == nil {
						t.Errorf("%s: %s: %v", c.name, made.Arguments, err)
					}
				}
			}
		}
		if called["price"] == 0 || (called["look"] == 0) != slices.Equal(c.only, []string{"price"}) {
			t.Errorf("%s: %v", c.name, called)
		}
		for _, n := range w.session.Export().Tree {
			if n.Untrained != "tool_choice" {
				t.Errorf("%s: untrained for %q", c.name, n.Untrained)
			}
		}
		w.sound()
	}
}

func called(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

// TestStrictCalls: a turn without a call is as free as ever; one with a call of a strict tool conforms, or the script that does
// not is stopped. None trains: if those without a call did, calling would never be learned, and not calling would.
func TestStrictCalls(t *testing.T) {
	for _, c := range []struct{ said, untrained, problem string }{
		{"Hello <b>there</b>.", "strict", ""},
		{"<think>\n<tool_call>?\n</think>\n\nHello.", "strict", ""},
		{"I see. " + called("price", `{"item": "pen", "n": 3}`) + "\nAnd", "strict", ""},
		{called("look", `{"at": "x"}`) + called("price", `{"item":"cup","n":-1}`), "strict", ""},
		{called("price", `{"item": "ink", "n": 3}`), "", "does not allow"},
		{called("price", `{"item": "pen"}`), "", "does not allow"},
		{called("burn", `{}`), "", "does not allow"},
	} {
		w := newWorld(t, inOrder(c.said), nil)
		_, p := w.whole(demanding(t, "q", func(*wire.Options) {}))
		if c.problem != "" {
			if p == nil || p.Class != wire.Bad || !strings.Contains(p.Message, c.problem) {
				t.Errorf("%s: %v", c.said, p)
			}
			continue
		}
		if p != nil {
			t.Errorf("%s: %v", c.said, p)
			continue
		}
		if got := w.session.Export().Tree[0].Untrained; got != c.untrained {
			t.Errorf("%s: untrained for %q", c.said, got)
		}
		w.sound()
	}
}

// TestStrictByPolicy: a run may sample strict tools freely, or refuse them.
func TestStrictByPolicy(t *testing.T) {
	w := newWorld(t, inOrder(called("price", `{"ink": 1}`)), func(c *Config) { c.Policy = Keep })
	if got := w.send(demanding(t, "q", func(*wire.Options) {}), Caller{}); len(got.ToolCalls) != 1 || w.gateway.Counts().Overridden != 1 || w.session.Export().Tree[0].Untrained != "" {
		t.Errorf("%+v", got)
	}
	w = newWorld(t, nil, func(c *Config) { c.Policy = Refuse })
	if _, p := w.session.Ask(t.Context(), demanding(t, "q", func(*wire.Options) {}), Caller{}); p == nil || p.Param != "tools" {
		t.Errorf("%v", p)
	}
}

// TestAllowedTools: of the tools that are shown, some may be called, and none must.
func TestAllowedTools(t *testing.T) {
	w := newWorld(t, inOrder("no", called("price", `{"item": "pen", "n": 1}`)), nil)
	only := func(o *wire.Options) { o.Choose.Only = []string{"look"} }
	if got := w.send(demanding(t, "q", only), Caller{}); got.Content != "no" || w.session.Export().Tree[0].Untrained != "tool_choice" {
		t.Errorf("%+v", got)
	}
	if _, p := w.whole(demanding(t, "r", only)); p == nil || !strings.Contains(p.Message, "does not allow") {
		t.Errorf("%v", p)
	}
}

// TestFormatsReason: reasoning may come before a value, unless the request wants none.
func TestFormatsReason(t *testing.T) {
	value := `{"item": "pen", "cost": 4, "ok": true}`
	thought := "<think>\nlet me see\n</think>\n\n" + value
	w := newWorld(t, inOrder(thought, thought), nil)
	got := w.send(inFormat([]chat.Message{user("a")}, nil, priced), Caller{})
	if got.Reasoning != "let me see" || got.Content != value {
		t.Errorf("%+v", got)
	}
	r := inFormat([]chat.Message{user("b")}, nil, priced)
	r.Options.Effort = "none"
	if _, p := w.whole(r); p == nil || !strings.Contains(p.Message, "does not allow") {
		t.Errorf("%v", p)
	}
}

// TestDemandsResume: behind a break a call goes on where it was.
func TestDemandsResume(t *testing.T) {
	w := newWorld(t, nil, func(c *Config) { c.Resume = 3 })
	for i := range 8 {
		w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: 2*i + 1})
		r := demanding(t, strings.Repeat("a", i+1), func(o *wire.Options) {
			o.Choose, o.Single, o.Effort = wire.Choice{Mode: wire.Required, Only: []string{"price"}}, true, "none"
		})
		if got := w.send(r, Caller{}); len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "price" {
			t.Errorf("%+v", got)
		}
	}
	w.sound()
}

// TestDemandsThatCannotBeKept are a 400 that names the field.
func TestDemandsThatCannotBeKept(t *testing.T) {
	plain := func(c *Config) { c.Generator = plainEngine{c.Generator} }
	unknown := func(c *Config) { c.Family, _ = parse.Named("plain") }
	for i, c := range []struct {
		world       func(*Config)
		change      func(*wire.Request)
		param, want string
	}{
		{plain, func(*wire.Request) {}, "tools", "the engine does not constrain"},
		{plain, func(r *wire.Request) {
			r.Options.Choose = wire.Choice{Mode: wire.Required, Only: []string{"look", "price"}}
		}, "tool_choice", "the engine does not constrain"},
		{unknown, func(*wire.Request) {}, "tools", "cannot be demanded"},
		{unknown, func(r *wire.Request) { r.Options.Choose.Mode = wire.Required }, "tool_choice", "cannot be demanded"},
		{nil, func(r *wire.Request) { r.Options.Choose.Mode, r.Options.IgnoreEnd = wire.Required, true }, "ignore_eos", "demands an end"},
		{nil, func(r *wire.Request) { r.Names["look"] = wire.Tool{Name: "look", Strict: true} }, "tools", `the tool "look"`},
	} {
		w := newWorld(t, nil, c.world)
		r := demanding(t, fmt.Sprint(i), func(*wire.Options) {})
		c.change(r)
		if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || p.Class != wire.Bad || p.Param != c.param || !strings.Contains(p.Message, c.want) {
			t.Errorf("%d: %v; want %s: %s", i, p, c.param, c.want)
		}
		w.sound()
	}
}
