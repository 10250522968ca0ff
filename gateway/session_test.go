package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/capture"
	"molt/tokenizer"
	"molt/traj"
)

var _ agent.Policy = (*Session)(nil)

var testTokenizer = sync.OnceValue(func() *tokenizer.Tokenizer {
	texts := []string{"user assistant What do 3 pens and 2 cups cost?", `{"name": "lookup", "arguments": {"item": "pen"}}`}
	t, err := tokenizer.Train(slices.Values(slices.Concat(texts, texts, texts)), 360, chat.BuiltinSpecials(), tokenizer.TrainOptions{Visible: chat.BuiltinMarkup()})
	if err != nil {
		panic(err)
	}
	return t
})

func id(t testing.TB, token string) int32 {
	t.Helper()
	n, ok := testTokenizer().ID(token)
	if !ok {
		t.Fatalf("no token %s", token)
	}
	return n
}

var testRenderer = sync.OnceValue(func() *chat.Renderer {
	r, err := chat.NewRenderer(chat.Builtin(), testTokenizer())
	if err != nil {
		panic(err)
	}
	return r.WithReader(parse.Hermes())
})

func hermes(t testing.TB) *parse.Family {
	t.Helper()
	f, err := parse.Named("hermes")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const lookup = "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"item\": \"pen\"}}\n</tool_call>"

// scripted replies with these texts, one for each turn, ended by <|im_end|> unless the text ends with "…".
func scripted(t testing.TB, texts ...string) *enginetest.Script {
	end := id(t, "<|im_end|>")
	return enginetest.NewScript(enginetest.ScriptConfig{Vocab: testTokenizer().VocabSize(), Reply: func(r engine.Request) []int32 {
		if int(r.Key.Turn) >= len(texts) {
			return []int32{end}
		}
		text, open := strings.CutSuffix(texts[r.Key.Turn], "…")
		ids := testTokenizer().EncodeSpecial(text)
		if open {
			return append(ids, ids...) // more than the budget lets through
		}
		return append(ids, end)
	}})
}

func open(t testing.TB, g engine.Generator, o Options, budget int) *Session {
	t.Helper()
	gate, err := New(Config{Generator: g, Renderer: testRenderer(), Family: hermes(t), MaxTokens: budget})
	if err != nil {
		t.Fatal(err)
	}
	if o.Sampling.MaxTokens == 0 {
		o.Sampling = engine.Sampling{Temperature: 1, MaxTokens: 100}
	}
	s, err := gate.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t testing.TB, s *Session) {
	t.Helper()
	if err := s.Begin([]chat.Message{{Role: chat.User, Content: "3 pens?"}}, nil); err != nil {
		t.Fatal(err)
	}
}

func tool(content string) []chat.Message { return []chat.Message{{Role: chat.Tool, Content: content}} }

// TestARolloutIsOnePath: what the engine was given at each turn is everything before, and nothing is re-tokenised.
func TestARolloutIsOnePath(t *testing.T) {
	// The same text in other ids: "pe" + "n" where the tokenizer would say "pen".
	spelled := slices.Concat(testTokenizer().EncodeSpecial("<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"item\": \""),
		[]int32{'p', 'e', 'n'}, testTokenizer().EncodeSpecial("\"}}\n</tool_call>"), []int32{id(t, "<|im_end|>")})
	if slices.Equal(spelled[:len(spelled)-1], testTokenizer().EncodeSpecial(lookup)) {
		t.Fatal("the tokenizer spells pen in letters")
	}
	e := enginetest.NewScript(enginetest.ScriptConfig{Vocab: testTokenizer().VocabSize(), Reply: func(r engine.Request) []int32 {
		if r.Key.Turn == 0 {
			return spelled
		}
		return append(testTokenizer().EncodeSpecial("12"), id(t, "<|im_end|>"))
	}})
	s := open(t, e, Options{Seed: 7, Group: 3, Sample: 2, Attempt: 1}, 500)
	begin(t, s)
	first, err := s.Turn(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Reply{Text: lookup, Finish: traj.FinishStop, Message: chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
		{ID: "t000c0000", Name: "lookup", Arguments: chat.Object(chat.Member{Name: "item", Value: chat.String("pen")})}}}}
	if diff := cmp.Diff(want, first, cmp.Comparer(chat.Value.Equal)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Turn(t.Context(), tool("4")); err != nil {
		t.Fatal(err)
	}
	nodes := s.Nodes()
	if !slices.Equal(nodes[0].Sampled, spelled) || nodes[0].Parent != -1 || nodes[1].Parent != 0 || nodes[1].NewSegment != "" {
		t.Errorf("nodes %+v", nodes)
	}
	if got, want := testTokenizer().Decode(nodes[1].Observation), "\n<|im_start|>user\n<tool_response>\n4\n</tool_response><|im_end|>\n<|im_start|>assistant\n"; got != want {
		t.Errorf("bridge %q, want %q", got, want)
	}
	requests := e.Requests()
	if !slices.Equal(requests[1].Prompt, slices.Concat(nodes[0].Observation, nodes[0].Sampled, nodes[1].Observation)) {
		t.Error("the second prompt is not the path")
	}
	if got, want := requests[1].Key, (engine.Key{Seed: 7, Group: 3, Sample: 2, Turn: 1}); got != want {
		t.Errorf("key %+v, want %+v", got, want)
	}
	r := traj.Rollout{Outcome: traj.Completed, Nodes: nodes}
	if err := r.Validate(testTokenizer().VocabSize(), 0); err != nil {
		t.Error(err)
	}
	if err := traj.TrainedOnce(&r, r.Segments()); err != nil {
		t.Error(err)
	}
}

// TestRolloutEqualsSupervisedLayout: when the policy says what a demonstration says, in the tokenizer's own ids, both are
// the same sequence with the same mask.
func TestRolloutEqualsSupervisedLayout(t *testing.T) {
	s := open(t, scripted(t, lookup, "I think.\n"+lookup, "<think>\nhm\n</think>\n\n12"), Options{}, 1000)
	begin(t, s)
	messages := []chat.Message{{Role: chat.User, Content: "3 pens?"}}
	for _, observation := range [][]chat.Message{nil, tool("4<|im_end|>"), append(tool("a"), tool("b")...)} {
		reply, err := s.Turn(t.Context(), observation)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(append(messages, observation...), reply.Message)
	}
	layout, err := testRenderer().Layout(chat.Conversation{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	rollout := traj.Rollout{Nodes: s.Nodes()}
	segments := rollout.Segments()
	if len(segments) != 1 || !slices.Equal(segments[0].Tokens, layout.IDs) || !slices.Equal(segments[0].Action, layout.Action) {
		t.Errorf("rollout %q\n layout %q", testTokenizer().Decode(segments[0].Tokens), testTokenizer().Decode(layout.IDs))
	}
}

func TestATurnCutByLengthIsClosedForIt(t *testing.T) {
	s := open(t, scripted(t, "12345678…"), Options{Sampling: engine.Sampling{Temperature: 1, MaxTokens: 5}}, 500)
	begin(t, s)
	reply, err := s.Turn(t.Context(), nil)
	if err != nil || reply.Finish != traj.FinishLength || reply.Text != "12345" {
		t.Fatalf("reply %+v, %v", reply, err)
	}
	if _, err := s.Turn(t.Context(), []chat.Message{{Role: chat.User, Content: "go on"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := testTokenizer().Decode(s.Nodes()[1].Observation), "<|im_end|>\n<|im_start|>user\ngo on<|im_end|>\n<|im_start|>assistant\n"; got != want {
		t.Errorf("bridge %q, want %q", got, want)
	}
}

func TestBudget(t *testing.T) {
	s := open(t, scripted(t, "1234567890", "1234567890"), Options{}, 0+len(prompt(t))+11+len(bridge(t))+4)
	begin(t, s)
	if _, err := s.Turn(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	reply, err := s.Turn(t.Context(), tool("4"))
	if err != nil || reply.Finish != traj.FinishLength || reply.Text != "1234" {
		t.Errorf("what was left of the budget gave %+v, %v", reply, err)
	}
	_, err = s.Turn(t.Context(), tool("4"))
	if !errors.Is(err, chat.ErrBudget) || errors.Is(err, chat.ErrInfrastructure) || len(s.Nodes()) != 2 {
		t.Errorf("without budget: %v, %d nodes", err, len(s.Nodes()))
	}
	short := open(t, scripted(t), Options{}, len(prompt(t)))
	begin(t, short)
	if _, err := short.Turn(t.Context(), nil); err == nil || errors.Is(err, chat.ErrBudget) || !strings.Contains(err.Error(), fmt.Sprintf("the first prompt of %d tokens", len(prompt(t)))) {
		t.Errorf("a prompt that fills the budget: %v", err)
	}
}

func prompt(t testing.TB) []int32 {
	return testTokenizer().EncodeSpecial("<|im_start|>user\n3 pens?<|im_end|>\n<|im_start|>assistant\n")
}

func bridge(t testing.TB) []int32 {
	return testTokenizer().EncodeSpecial("\n<|im_start|>user\n<tool_response>\n4\n</tool_response><|im_end|>\n<|im_start|>assistant\n")
}

// TestTroubleIsTyped: what fails through the engine is infrastructure, and never an empty reply.
func TestTroubleIsTyped(t *testing.T) {
	for _, trouble := range []enginetest.Trouble{enginetest.Unavailable, enginetest.Broken, enginetest.MissingLogp, enginetest.NaNLogp} {
		e := scripted(t, "hello")
		e.Inject(enginetest.Fault{Trouble: trouble, After: 2})
		s := open(t, e, Options{}, 500)
		begin(t, s)
		if _, err := s.Turn(t.Context(), nil); !errors.Is(err, chat.ErrInfrastructure) || errors.Is(err, chat.ErrBudget) || len(s.Nodes()) != 0 {
			t.Errorf("%s: %v, %d nodes", trouble, err, len(s.Nodes()))
		}
	}
}

// liar breaks the contract in ways that a reply can.
type liar struct {
	*enginetest.Script
	change func(*engine.Reply)
}

func (l liar) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := l.Script.Generate(ctx, r, emit)
	l.change(&reply)
	return reply, err
}

func TestBrokenContracts(t *testing.T) {
	for want, change := range map[string]func(*engine.Reply){
		"outside the vocabulary":  func(r *engine.Reply) { r.Tokens[1].ID = 1 << 20 },
		"log-prob 0.5":            func(r *engine.Reply) { r.Tokens[0].Logp = 0.5 },
		"weight version -1":       func(r *engine.Reply) { r.Tokens[0].Version = -1 },
		"nothing was sampled":     func(r *engine.Reply) { r.Tokens = nil },
		`finish ""`:               func(r *engine.Reply) { r.Finish = "" },
		"105 tokens were sampled": func(r *engine.Reply) { r.Tokens = slices.Repeat(r.Tokens[:1], 105) },
	} {
		s := open(t, liar{scripted(t, "hello"), change}, Options{}, 500)
		begin(t, s)
		if _, err := s.Turn(t.Context(), nil); !errors.Is(err, chat.ErrInfrastructure) || !strings.Contains(err.Error(), want) || len(s.Nodes()) != 0 {
			t.Errorf("got %v, %d nodes; want infrastructure with %q", err, len(s.Nodes()), want)
		}
	}
}

func TestCancelKeepsWhatWasSampled(t *testing.T) {
	e := scripted(t, "hello world")
	e.Inject(enginetest.Fault{Trouble: enginetest.Hang, After: 3})
	s := open(t, e, Options{}, 500)
	begin(t, s)
	stop := errors.New("the run stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for len(e.Requests()) == 0 {
			runtime.Gosched()
		}
		cancel(stop)
	}()
	_, err := s.Turn(ctx, nil)
	if !errors.Is(err, stop) || errors.Is(err, chat.ErrInfrastructure) {
		t.Errorf("got %v", err)
	}
	if n := s.Nodes(); len(n) > 0 && (n[0].Finish != traj.FinishAbort || len(n[0].Sampled) > 3) {
		t.Errorf("kept %+v", n)
	}
	if _, err := s.Turn(t.Context(), nil); err == nil && len(s.Nodes()) > 1 {
		t.Error("a turn behind half a turn")
	}
}

func TestCounts(t *testing.T) {
	s := open(t, scripted(t, lookup+lookup, "<tool_call>{</tool_call>", "<think>hm"), Options{}, 1000)
	if err := s.Begin([]chat.Message{{Role: chat.User, Content: "<|im_end|>"}}, []chat.ToolSpec{chat.NewToolSpec("lookup", "", chat.Object())}); err != nil {
		t.Fatal(err)
	}
	malformed := 0
	for i := range 3 {
		reply, err := s.Turn(t.Context(), map[bool][]chat.Message{true: tool("x")}[i > 0])
		if err != nil {
			t.Fatal(err)
		}
		malformed += reply.Malformed
	}
	want := capture.Counts{Turns: 3, Offered: 3, Calls: 2, Malformed: 1, Unclosed: 1, Masked: 1}
	if got := s.gateway.Counts(); got != want || malformed != 1 {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestMisuse(t *testing.T) {
	s := open(t, scripted(t, "a"), Options{}, 500)
	if _, err := s.Turn(t.Context(), nil); err == nil {
		t.Error("a turn before Begin")
	}
	if err := s.Begin(nil, nil); err == nil {
		t.Error("a beginning without messages")
	}
	begin(t, s)
	if err := s.Begin([]chat.Message{{Role: chat.User}}, nil); err == nil {
		t.Error("two beginnings")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Turn(t.Context(), nil); err == nil {
		t.Error("a turn after Close")
	}
	if _, err := New(Config{Generator: enginetest.NewScript(enginetest.ScriptConfig{Vocab: 40}), Renderer: testRenderer(), Family: hermes(t), MaxTokens: 1}); err == nil ||
		!strings.Contains(err.Error(), "the tokenizer has") || !strings.Contains(err.Error(), "MaxTokens 1") {
		t.Errorf("a tokenizer of another model: %v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a gateway to nothing")
	}
}

func TestOpenRefusesSampling(t *testing.T) {
	s := open(t, scripted(t), Options{}, 500)
	if _, err := s.gateway.Open(Options{Sampling: engine.Sampling{Temperature: -1, MaxTokens: 1}}); err == nil || !strings.Contains(err.Error(), "temperature -1") {
		t.Errorf("got %v", err)
	}
}

// instant is an engine that takes no time.
type instant struct {
	engine.Generator
	reply []engine.Token
}

func (e instant) Generate(context.Context, engine.Request, func(engine.Token)) (engine.Reply, error) {
	return engine.Reply{Tokens: e.reply, Finish: traj.FinishStop}, nil
}

// BenchmarkTurn is what a turn costs besides the engine: the goal is below 1 ms.
func BenchmarkTurn(b *testing.B) {
	e := instant{Generator: scripted(b)}
	for _, id := range append(testTokenizer().EncodeSpecial(lookup), id(b, "<|im_end|>")) {
		e.reply = append(e.reply, engine.Token{ID: id, Logp: -1})
	}
	o := Options{Sampling: engine.Sampling{Temperature: 1, MaxTokens: 100}}
	first := open(b, e, o, 10_000)
	for b.Loop() {
		s, err := first.gateway.Open(o)
		if err != nil {
			b.Fatal(err)
		}
		begin(b, s)
		for i := range 4 {
			if _, err := s.Turn(b.Context(), map[bool][]chat.Message{true: tool("4")}[i > 0]); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(4*b.N), "µs/turn")
}
