package capture

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/wire"
	"molt/tokenizer"
	"molt/traj"
)

var testTokenizer = sync.OnceValue(func() *tokenizer.Tokenizer {
	texts := []string{"user assistant system What do 3 pens and 2 cups cost?", `{"name": "lookup", "arguments": {"item": "pen"}}`}
	t, err := tokenizer.Train(slices.Values(slices.Concat(texts, texts, texts)), 360, chat.BuiltinSpecials(), tokenizer.TrainOptions{Visible: chat.BuiltinMarkup()})
	if err != nil {
		panic(err)
	}
	return t
})

var testRenderer = sync.OnceValue(func() *chat.Renderer {
	r, err := chat.NewRenderer(chat.Builtin(), testTokenizer())
	if err != nil {
		panic(err)
	}
	return r
})

func hermes(t testing.TB) *parse.Family {
	t.Helper()
	f, err := parse.Named("hermes")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func endID() int32 {
	id, ok := testTokenizer().ID("<|im_end|>")
	if !ok {
		panic("no end of turn")
	}
	return id
}

// speak is a reply in ids.
func speak(text string) []int32 { return append(testTokenizer().EncodeSpecial(text), endID()) }

func lookup(item string) string {
	return "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"item\": \"" + item + "\"}}\n</tool_call>"
}

// world is a gateway on a scripted engine, with one session.
type world struct {
	t       testing.TB
	engine  *enginetest.Script
	gateway *Gateway
	session *Session
}

// inOrder replies with texts in the order of the requests.
func inOrder(texts ...string) func(engine.Request) []int32 {
	var mu sync.Mutex
	return func(engine.Request) []int32 {
		mu.Lock()
		defer mu.Unlock()
		if len(texts) == 0 {
			return speak("nothing more")
		}
		text := texts[0]
		texts = texts[1:]
		if ids, open := strings.CutSuffix(text, "…"); open {
			return testTokenizer().EncodeSpecial(ids)
		}
		return speak(text)
	}
}

func newWorld(t testing.TB, reply func(engine.Request) []int32, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t}
	w.engine = enginetest.NewScript(enginetest.ScriptConfig{Vocab: testTokenizer().VocabSize(), MaxTokens: 1 << 16, Reply: reply})
	c := Defaults()
	c.Generator, c.Renderer, c.Family, c.Linger = w.engine, testRenderer(), hermes(t), 0
	c.Resume = 0
	if change != nil {
		change(&c)
	}
	var err error
	if w.gateway, err = New(c); err != nil {
		t.Fatal(err)
	}
	if w.session, err = w.gateway.Open(Options{Seed: 7, Group: 3, Sample: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.gateway.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func user(text string) chat.Message   { return chat.Message{Role: chat.User, Content: text} }
func said(text string) chat.Message   { return chat.Message{Role: chat.Assistant, Content: text} }
func system(text string) chat.Message { return chat.Message{Role: chat.System, Content: text} }
func tool(id, text string) chat.Message {
	return chat.Message{Role: chat.Tool, Content: text, ToolCallID: id}
}

var pens = []chat.ToolSpec{chat.NewToolSpec("lookup", "finds a price", chat.Object())}

func request(messages []chat.Message, tools []chat.ToolSpec) *wire.Request {
	r := &wire.Request{Names: wire.Names{}, Tools: tools, ToolsKey: chat.ToolsKey(tools, nil), Options: wire.Options{Choices: 1}}
	for _, m := range messages {
		var handles []string
		for _, c := range m.ToolCalls {
			handles = append(handles, c.ID)
		}
		r.Items = append(r.Items, chat.NewItem(m, handles...))
	}
	return r
}

// ask asks and takes the whole reply, as a client that gets all of it.
func (w *world) ask(messages []chat.Message, tools []chat.ToolSpec) chat.Message {
	w.t.Helper()
	return w.send(request(messages, tools), Caller{})
}

func (w *world) send(r *wire.Request, who Caller) chat.Message {
	w.t.Helper()
	call, p := w.session.Ask(w.t.Context(), r, who)
	if p != nil {
		w.t.Fatal(p)
	}
	reply, p := call.Whole(w.t.Context())
	if p != nil {
		w.t.Fatal(p)
	}
	call.Close(true)
	return message(reply)
}

// whole asks and takes the whole reply, or what is wrong.
func (w *world) whole(r *wire.Request) (*wire.Reply, *wire.Problem) {
	w.t.Helper()
	call, p := w.session.Ask(w.t.Context(), r, Caller{})
	if p != nil {
		return nil, p
	}
	defer call.Close(true)
	return call.Whole(w.t.Context())
}

// message is what a client makes of a reply.
func message(r *wire.Reply) chat.Message {
	c := &r.Choices[0]
	m := chat.Message{Role: chat.Assistant, Content: c.Text(wire.Content), Reasoning: c.Text(wire.Reasoning)}
	for _, p := range c.Parts {
		if p.Kind == wire.Call {
			m.ToolCalls = append(m.ToolCalls, p.Call)
		}
	}
	return m
}

// sound checks what must hold at any time: every prompt that the engine was given is a path, every token trains once.
func (w *world) sound() {
	w.t.Helper()
	w.session.mu.Lock()
	defer w.session.mu.Unlock()
	f := w.session.forest
	given := map[string]bool{}
	for _, r := range w.engine.Requests() {
		given[fmt.Sprint(r.Prompt)] = true
	}
	for i := range int32(f.Turns()) {
		ids := f.IDs(i, 0)
		if prompt := ids[:len(ids)-len(f.Turn(i).Sampled)]; !given[fmt.Sprint(prompt)] {
			w.t.Errorf("turn %d says that the engine was given %q", i, testTokenizer().Decode(prompt))
		}
		w.pictured(i, ids)
	}
	r := traj.Rollout{Outcome: traj.Completed, Nodes: f.Nodes()}
	if len(r.Nodes) == 0 {
		return
	}
	if err := r.Validate(w.gateway.config.Renderer.Tokenizer().VocabSize(), 0); err != nil {
		w.t.Error(err)
	}
	if err := traj.TrainedOnce(&r, r.Segments()); err != nil {
		w.t.Error(err)
	}
	if w.session.met != nil {
		w.t.Error(w.session.met)
	}
}

// tree writes one line for each turn: its parent, why it branches, what became of it, what it was shown, what it said.
func (w *world) tree() string {
	w.t.Helper()
	w.sound()
	var b strings.Builder
	for i, n := range w.session.Export().Tree {
		fmt.Fprintf(&b, "%d after %d", i, n.Parent)
		if n.Reason != "" {
			fmt.Fprintf(&b, " %s", n.Reason)
		}
		fmt.Fprintf(&b, " %s %q -> %q", n.Fate, brief(testTokenizer().Decode(n.Observation)), testTokenizer().Decode(n.Sampled))
		if len(n.Spliced) > 0 {
			fmt.Fprintf(&b, " carries %v", n.Spliced)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// brief abbreviates ChatML.
func brief(text string) string {
	return strings.NewReplacer("<|im_start|>", "[", "<|im_end|>", "]", "\n", "/").Replace(text)
}

func (w *world) wantTree(want string) {
	w.t.Helper()
	got := strings.ReplaceAll(w.tree(), "<|im_end|>", "]")
	if want = strings.TrimPrefix(want, "\n"); got != want {
		w.t.Errorf("got\n%s want\n%s", got, want)
	}
}

// pictured checks that a turn was shown the images of the conversation that it answers, each at a placeholder.
func (w *world) pictured(turn int32, ids []int32) {
	w.t.Helper()
	f := w.session.forest
	placeholder, _ := w.gateway.config.Renderer.Tokenizer().ID("<|image|>")
	got, want := f.Images(turn), chat.Images(messages(f.Items(f.Turn(turn).At))...)
	same := slices.EqualFunc(got, want, func(a traj.Image, b *chat.Image) bool { return a.Digest == b.Digest && ids[a.At] == placeholder })
	if !same {
		w.t.Errorf("turn %d was shown %+v, and its conversation shows %+v", turn, got, want)
	}
}
