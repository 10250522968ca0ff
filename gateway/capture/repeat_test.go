package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/wire"
)

// part asks, and leaves after a number of batches of deltas.
func (w *world) part(messages []chat.Message, batches int) []wire.Delta {
	w.t.Helper()
	call, p := w.session.Ask(w.t.Context(), request(messages, pens), Caller{})
	if p != nil {
		w.t.Fatal(p)
	}
	var all []wire.Delta
	for range batches {
		deltas, p := call.Next(w.t.Context(), nil)
		if p != nil || len(deltas) == 0 {
			break
		}
		all = append(all, deltas...)
	}
	call.Close(false)
	return all
}

func TestRepeats(t *testing.T) {
	question := []chat.Message{user("a")}
	t.Run("a retry of a reply that got lost is given the same one", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		call, p := w.session.Ask(t.Context(), request(question, nil), Caller{})
		if p != nil {
			t.Fatal(p)
		}
		if _, p := call.Whole(t.Context()); p != nil {
			t.Fatal(p)
		}
		call.Close(false) // sampled, but never written
		if got := w.ask(question, nil); got.Content != "one" {
			t.Errorf("got %q", got.Content)
		}
		w.wantTree("0 after -1 new_root accepted \"[user/a]/[assistant/\" -> \"one]\"\n")
		if w.gateway.Counts().Replayed != 1 {
			t.Errorf("%+v", w.gateway.Counts())
		}
	})
	t.Run("a request whose reply arrived is another sample", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		w.ask(question, nil)
		if got := w.ask(question, nil); got.Content != "two" {
			t.Errorf("got %q", got.Content)
		}
		w.wantTree(`
0 after -1 new_root superseded "[user/a]/[assistant/" -> "one]"
1 after -1 sibling accepted "[user/a]/[assistant/" -> "two]"
`)
	})
	t.Run("unless the client says that it is a retry", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		w.ask(question, nil)
		if got := w.send(request(question, nil), Caller{Retry: true}); got.Content != "one" {
			t.Errorf("got %q", got.Content)
		}
	})
	t.Run("a reply that was gone on from is never given again", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two", "three"), nil)
		w.ask(question, nil)
		w.ask(append(question, said("one"), user("b")), nil)
		if got := w.send(request(question, nil), Caller{Retry: true}); got.Content != "three" {
			t.Errorf("got %q", got.Content)
		}
	})
	t.Run("other sampling is another request", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		call, _ := w.session.Ask(t.Context(), request(question, nil), Caller{})
		_, _ = call.Whole(t.Context())
		call.Close(false)
		r := request(question, nil)
		half := 0.5
		r.Options.Temperature = &half
		if got := w.send(r, Caller{}); got.Content != "two" {
			t.Errorf("got %q", got.Content)
		}
		if n := w.session.Nodes()[1]; n.Temperature != 0.5 {
			t.Errorf("temperature %v", n.Temperature)
		}
	})
}

// TestBrokenStreams: what a client has of a reply when its stream breaks decides what becomes of it.
func TestBrokenStreams(t *testing.T) {
	question := []chat.Message{user("a")}
	whole := "<think>\nhm\n</think>\n\nI look." + lookup("pen") + lookup("cup")
	stuck := func(t *testing.T) *world {
		w := newWorld(t, inOrder(whole, "two", "three"), nil)
		n := len(speak(whole)) - 2
		w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: n})
		return w
	}
	t.Run("items that are whole stay, and the rest is gone", func(t *testing.T) {
		w := stuck(t)
		deltas := w.part(question, 1000)
		var kept chat.Message
		for _, d := range deltas {
			if kept.Role = chat.Assistant; d.Kind == wire.Reasoning {
				kept.Reasoning += d.Text
			} else if d.Kind == wire.Content {
				kept.Content += d.Text
			}
		}
		if kept.Reasoning != "hm" || kept.Content != "I look." {
			t.Fatalf("kept %+v of %+v", kept, deltas)
		}
		next := w.ask(append(question, kept), pens)
		if next.Content != "two" {
			t.Errorf("got %+v", next)
		}
		tree := w.session.Export().Tree
		if got := testTokenizer().Decode(tree[0].Sampled); got != "<think>\nhm\n</think>\n\nI look." || len(tree) != 2 {
			t.Errorf("the turn is %q", got)
		}
		if got := brief(testTokenizer().Decode(tree[1].Observation)); got != "]/[assistant/" || tree[1].Parent != 0 {
			t.Errorf("the next one is shown %q", got)
		}
		w.sound()
		if c := w.gateway.Counts(); c.Cut != 1 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("one that had nothing whole asks again", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: 1})
		w.part(question, 1000)
		if got := w.ask(question, pens); got.Content != "two" {
			t.Errorf("got %+v", got)
		}
		if n := len(w.session.Nodes()); n != 1 {
			t.Errorf("%d nodes", n)
		}
	})
	t.Run("a client that leaves ends the turn", func(t *testing.T) {
		w := newWorld(t, inOrder("one"), nil)
		w.engine.Inject(enginetest.Fault{Trouble: enginetest.Hang, After: 2})
		w.part(question, 1)
		w.session.running.Wait()
		if n := len(w.session.Nodes()); n != 0 {
			t.Errorf("%d nodes", n)
		}
		if err := w.session.Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("somebody who asks the same takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, inOrder("one two three", "four"), func(c *Config) { c.Linger = time.Minute })
			w.engine.Inject(enginetest.Fault{Trouble: enginetest.Slow, After: 2, Pause: time.Second})
			w.part(question, 1)
			if got := w.ask(question, pens); got.Content != "one two three" {
				t.Errorf("got %+v", got)
			}
			if n := len(w.session.Nodes()); n != 1 {
				t.Errorf("%d nodes", n)
			}
		})
	})
	t.Run("somebody who goes on from it ends it first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, inOrder("<think>\nhm\n</think>\n\nI look."+lookup("pen"), "two"), func(c *Config) { c.Linger = time.Minute })
			w.engine.Inject(enginetest.Fault{Trouble: enginetest.Slow, After: len(testTokenizer().EncodeSpecial("<think>\nhm\n</think>\n\nI look.")), Pause: time.Second})
			var kept chat.Message
			call, p := w.session.Ask(t.Context(), request(question, pens), Caller{})
			if p != nil {
				t.Fatal(p)
			}
			for kept.Content == "" {
				deltas, p := call.Next(t.Context(), nil)
				if p != nil {
					t.Fatal(p)
				}
				for _, d := range deltas {
					if d.Kind == wire.Content {
						kept.Content += d.Text[:1]
					} else {
						kept.Reasoning += d.Text
					}
				}
			}
			_, _ = call.Next(t.Context(), nil) // what was before is written
			call.Close(false)
			if got := w.ask(append(question, chat.Message{Role: chat.Assistant, Reasoning: kept.Reasoning}), pens); got.Content != "two" {
				t.Errorf("got %+v", got)
			}
			if got := testTokenizer().Decode(w.session.Nodes()[0].Sampled); !strings.HasPrefix(got, "<think>\nhm\n</think>") || strings.Contains(got, "look") {
				t.Errorf("the turn is %q", got)
			}
			w.sound()
		})
	})
}

func TestStops(t *testing.T) {
	for _, c := range []struct{ text, stop, content, found string }{
		{"one STOP two", "STOP", "one ", "STOP"},
		{"one two", "STOP", "one two", ""},
		{"one STO", "STOP", "one STO", ""},
		{"STOP", "STOP", "", "STOP"},
		{"a<think>b", "k>b", "a<thin", "k>b"},
	} {
		w := newWorld(t, inOrder(c.text, "next"), nil)
		r := request([]chat.Message{user("a")}, nil)
		r.Options.Stop = []string{"never", c.stop}
		call, p := w.session.Ask(t.Context(), r, Caller{})
		if p != nil {
			t.Fatal(p)
		}
		reply, p := call.Whole(t.Context())
		if p != nil {
			t.Fatal(p)
		}
		call.Close(true)
		got := message(reply)
		if got.Content != c.content || reply.Choices[0].End.Stop != c.found || reply.Choices[0].End.Finish != "stop" {
			t.Errorf("%q until %q: %q, %+v", c.text, c.stop, got.Content, reply.Choices[0].End)
		}
		w.ask([]chat.Message{user("a"), got, user("b")}, nil)
		if n := w.session.Nodes(); n[1].Parent != 0 {
			t.Errorf("%q: what follows is no continuation: %+v", c.text, n)
		}
		w.sound()
	}
}

func TestChoices(t *testing.T) {
	w := newWorld(t, inOrder("one", "two", "three", "four"), nil)
	r := request([]chat.Message{user("a")}, nil)
	r.Options.Choices, r.Options.TokenIDs = 3, true
	call, p := w.session.Ask(t.Context(), r, Caller{})
	if p != nil {
		t.Fatal(p)
	}
	reply, p := call.Whole(t.Context())
	if p != nil {
		t.Fatal(p)
	}
	call.Close(true)
	texts := map[string]bool{}
	for i := range reply.Choices {
		text := reply.Choices[i].Text(wire.Content)
		texts[text] = true
		if got := len(reply.Choices[i].Tokens); got != len(speak(text)) {
			t.Errorf("choice %d: %d tokens for %q", i, got, text)
		}
	}
	if len(texts) != 3 || len(call.Meta.IDs) != call.Meta.Prompt {
		t.Errorf("texts %v, %d ids of %d", texts, len(call.Meta.IDs), call.Meta.Prompt)
	}
	keys := map[engine.Key]bool{}
	for _, r := range w.engine.Requests() {
		keys[r.Key] = true
	}
	if len(keys) != 3 {
		t.Errorf("keys %v", keys)
	}
	for _, n := range w.session.Export().Tree {
		if n.Fate != "accepted" || n.Parent != -1 || n.Request != 0 {
			t.Errorf("%+v", n)
		}
	}
	w.sound()
}

func TestForcedCalls(t *testing.T) {
	w := newWorld(t, inOrder("{\"item\": \"pen\"}}\n</tool_call>", "lookup\", \"arguments\": {}}\n</tool_call>", "x"), func(c *Config) { c.Generator = plainEngine{c.Generator} })
	r := request([]chat.Message{user("a")}, pens)
	r.Options.Choose = wire.Choice{Mode: wire.Required, Only: []string{"lookup"}}
	got := w.send(r, Caller{})
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "lookup" || got.ToolCalls[0].Arguments.String() != `{"item":"pen"}` {
		t.Errorf("named: %+v", got)
	}
	r = request([]chat.Message{user("a"), got, tool(got.ToolCalls[0].ID, "4")}, pens)
	r.Options.Choose.Mode = wire.Required
	got = w.send(r, Caller{})
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "lookup" {
		t.Errorf("required: %+v", got)
	}
	nodes := w.session.Nodes()
	if nodes[1].Parent != 0 || !strings.HasSuffix(testTokenizer().Decode(nodes[0].Observation), "<tool_call>\n{\"name\": \"lookup\", \"arguments\": ") {
		t.Errorf("%+v", nodes)
	}
	r = request([]chat.Message{user("a")}, pens)
	r.Options.Choose.Mode = wire.None
	w.send(r, Caller{})
	if text := testTokenizer().Decode(w.session.Nodes()[2].Observation); strings.Contains(text, "lookup") {
		t.Errorf("tools that must not be called are shown: %s", text)
	}
	w.sound()
}

func TestLimits(t *testing.T) {
	w := newWorld(t, inOrder("one", "two"), func(c *Config) { c.MaxTokens = 80 })
	for i := range 3 {
		call, p := w.session.Ask(t.Context(), request([]chat.Message{user(fmt.Sprint("question ", i, " of some length"))}, nil), Caller{})
		if p == nil {
			_, p = call.Whole(t.Context())
			call.Close(true)
		}
		if (p != nil) != (i == 2) {
			t.Fatalf("request %d: %v; %d tokens used", i, p, w.session.used)
		}
		if i == 2 && (p.Class != wire.Bad || !strings.Contains(p.Message, "budget") || !errors.Is(w.session.Err(), chat.ErrBudget)) {
			t.Errorf("%+v, %v", p, w.session.Err())
		}
	}
	w = newWorld(t, nil, func(c *Config) {
		c.Model = "small"
		c.Generator = enginetest.NewScript(enginetest.ScriptConfig{Vocab: testTokenizer().VocabSize(), MaxTokens: 1 << 16, TextOnly: true})
	})
	long := strings.Repeat("word ", 1<<16)
	_, p := w.session.Ask(t.Context(), request([]chat.Message{user(long)}, nil), Caller{})
	if p == nil || p.Class != wire.Overflow || p.Tokens <= 1<<16 || p.Limit != 1<<16 {
		t.Errorf("too long: %+v", p)
	}
	image := request([]chat.Message{{Role: chat.User, Parts: []chat.Part{{Image: &chat.Image{Digest: "sha256:1"}}}}}, nil)
	if _, p := w.session.Ask(t.Context(), image, Caller{}); p == nil || p.Class != wire.Bad || p.Message != "small is a text-only model: leave images out" {
		t.Errorf("image: %+v", p)
	}
	if err := w.session.Close(); err != nil {
		t.Error(err)
	}
	if _, p := w.session.Ask(t.Context(), request([]chat.Message{user("a")}, nil), Caller{}); p == nil || p.Class != wire.Missing {
		t.Errorf("closed: %+v", p)
	}
	if _, ok := w.gateway.Find(w.session.Key); ok {
		t.Error("a closed session is found")
	}
}

func TestPolicies(t *testing.T) {
	two := 2.0
	for _, c := range []struct {
		policy      Policy
		temperature float32
		refused     bool
	}{{Honour, 2, false}, {Keep, 1, false}, {Refuse, 0, true}} {
		w := newWorld(t, inOrder("one"), func(k *Config) { k.Policy = c.policy })
		r := request([]chat.Message{user("a")}, nil)
		r.Options.Temperature = &two
		call, p := w.session.Ask(t.Context(), r, Caller{})
		if (p != nil) != c.refused {
			t.Fatalf("%s: %v", c.policy, p)
		}
		if p != nil {
			if p.Param != "temperature" {
				t.Errorf("%+v", p)
			}
			continue
		}
		_, _ = call.Whole(t.Context())
		call.Close(true)
		if got := w.session.Nodes()[0].Temperature; got != c.temperature || w.engine.Requests()[0].Sampling.Temperature != c.temperature {
			t.Errorf("%s: temperature %v", c.policy, got)
		}
		if got := w.gateway.Counts().Overridden; got != one(c.policy == Keep) {
			t.Errorf("%s: %d overridden", c.policy, got)
		}
	}
}

// TestInParallel: the requests of a session run at the same time.
func TestInParallel(t *testing.T) {
	const n = 8
	arrived := make(chan struct{}, n)
	release := make(chan struct{})
	w := newWorld(t, func(r engine.Request) []int32 {
		arrived <- struct{}{}
		<-release
		return speak("ok")
	}, nil)
	done := make(chan string, n)
	for i := range n {
		go func() {
			call, p := w.session.Ask(context.Background(), request([]chat.Message{user(fmt.Sprint("task ", i))}, nil), Caller{})
			if p != nil {
				done <- p.Error()
				return
			}
			_, p = call.Whole(context.Background())
			call.Close(true)
			if p != nil {
				done <- p.Error()
				return
			}
			done <- ""
		}()
	}
	for range n {
		<-arrived // all of them, before one is answered
	}
	close(release)
	for range n {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
	w.sound()
}

// TestBrokenEngines: tokens that break the engine's contract are never kept, whatever a client got to see of them.
func TestBrokenEngines(t *testing.T) {
	for _, trouble := range []enginetest.Trouble{enginetest.NaNLogp, enginetest.MissingLogp, enginetest.Broken} {
		w := newWorld(t, inOrder("<think>\nhm\n</think>\n\nI look."), nil)
		w.engine.Inject(enginetest.Fault{Trouble: trouble, After: 1})
		w.part([]chat.Message{user("a")}, 1000)
		w.session.running.Wait()
		if n := len(w.session.Nodes()); n != 0 || !errors.Is(w.session.Err(), chat.ErrInfrastructure) {
			t.Errorf("%s: %d nodes, %v", trouble, n, w.session.Err())
		}
	}
}

// TestResume: a turn whose engine goes away in the middle goes on from what was sampled, on the same path.
func TestResume(t *testing.T) {
	w := newWorld(t, func(r engine.Request) []int32 {
		if strings.HasSuffix(testTokenizer().Decode(r.Prompt), "hello") {
			return speak(" world")
		}
		return append(testTokenizer().EncodeSpecial("hello"), testTokenizer().EncodeSpecial(" never")...)
	}, func(c *Config) { c.Resume = 2 })
	w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: len(testTokenizer().EncodeSpecial("hello"))})
	w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable})
	if got := w.ask([]chat.Message{user("a")}, nil); got.Content != "hello world" {
		t.Errorf("got %q", got.Content)
	}
	if c := w.gateway.Counts(); c.Resumed != 2 || c.Turns != 1 {
		t.Errorf("%+v", c)
	}
	w.sound()
}

func TestParallelIsBounded(t *testing.T) {
	w := newWorld(t, inOrder("one"), func(c *Config) { c.Parallel = 2 })
	r := request([]chat.Message{user("a")}, nil)
	r.Options.Choices = 3
	if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || p.Class != wire.Limited || p.Retry == 0 {
		t.Errorf("%+v", p)
	}
}

// TestOnlyOneCall: a client that can run one tool at a time gets one call, and the turn ends there.
func TestOnlyOneCall(t *testing.T) {
	w := newWorld(t, inOrder("I look."+lookup("pen")+lookup("cup")+" and more", "12"), nil)
	r := request([]chat.Message{user("a")}, pens)
	r.Options.Single = true
	got := w.send(r, Caller{})
	if len(got.ToolCalls) != 1 || got.Content != "I look." {
		t.Errorf("%+v", got)
	}
	next := request([]chat.Message{user("a"), got, tool(got.ToolCalls[0].ID, "4")}, pens)
	w.send(next, Caller{})
	n := w.session.Nodes()
	if text := testTokenizer().Decode(n[0].Sampled); text != "I look."+lookup("pen") || n[0].Finish != "stop" || n[1].Parent != 0 {
		t.Errorf("%q, %s, then after %d", text, n[0].Finish, n[1].Parent)
	}
	w.sound()
}

// TestDrawsDoNotDependOnOrder: the random numbers of a turn follow from its conversation, not from when it was asked for.
func TestDrawsDoNotDependOnOrder(t *testing.T) {
	draws := func(order ...string) map[string]engine.Key {
		w := newWorld(t, inOrder("ok", "ok", "ok", "ok"), nil)
		for _, question := range order {
			w.ask([]chat.Message{user(question)}, nil)
		}
		keys := map[string]engine.Key{}
		for i, r := range w.engine.Requests() {
			keys[fmt.Sprint(order[i], len(keys) > 0 && slices.Contains(order[:i], order[i]))] = r.Key
		}
		return keys
	}
	a, b := draws("a", "b", "a", "c"), draws("c", "b", "a", "a")
	if fmt.Sprint(a) != fmt.Sprint(b) || len(a) != 4 || a["atrue"] == a["afalse"] {
		t.Errorf("%v, then %v", a, b)
	}
}
