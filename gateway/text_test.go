package gateway

import (
	"slices"
	"strings"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/engine"
	"molt/traj"
)

var _ agent.Policy = (*Text)(nil)

func say(text string) []chat.Message { return []chat.Message{{Role: chat.User, Content: text}} }

// Every id of a literal session is what the text says, or what was sampled; markers come back as text.
func TestLiteralText(t *testing.T) {
	gate, err := New(Config{Generator: scripted(t, "Hi", "pens pens pens…", "done"), Renderer: testRenderer(), Family: hermes(t), MaxTokens: 400})
	if err != nil {
		t.Fatal(err)
	}
	s, err := gate.OpenText(Options{Sampling: engine.Sampling{Temperature: 1, MaxTokens: 6}})
	if err != nil {
		t.Fatal(err)
	}
	tok, prompt := testTokenizer(), "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
	if err := s.Begin(say(prompt), nil); err != nil {
		t.Fatal(err)
	}
	want := tok.EncodeSpecial(prompt)
	for i, turn := range []struct {
		shown, said string
		finish      traj.Finish
	}{{"", "Hi<|im_end|>", traj.FinishStop}, {"\n<|im_start|>user\nMore<|im_end|>\n", "", traj.FinishLength}, {"", "done<|im_end|>", traj.FinishStop}} {
		if i == 2 {
			to := s.Sampling()
			to.Temperature, to.MaxTokens = 0.5, 50
			if err := s.Resample(to); err != nil {
				t.Fatal(err)
			}
		}
		reply, err := s.Turn(t.Context(), say(turn.shown))
		if err != nil {
			t.Fatal(err)
		}
		if turn.said != "" && reply.Text != turn.said || reply.Finish != turn.finish {
			t.Errorf("turn %d: %q, %s", i, reply.Text, reply.Finish)
		}
		want = append(append(want, tok.EncodeSpecial(turn.shown)...), s.Nodes()[i].Sampled...)
	}
	nodes := s.Nodes()
	var got []int32
	for i, n := range nodes {
		got = append(append(got, n.Observation...), n.Sampled...)
		if n.Parent != i-1 || n.NewSegment != "" {
			t.Errorf("node %d: parent %d, new segment %q", i, n.Parent, n.NewSegment)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if nodes[1].Temperature != 1 || nodes[2].Temperature != 0.5 {
		t.Errorf("temperatures %v and %v", nodes[1].Temperature, nodes[2].Temperature)
	}
	r := traj.Rollout{Outcome: traj.Completed, Nodes: nodes}
	if err := r.Validate(tok.VocabSize(), 0); err != nil {
		t.Error(err)
	}
}

func TestLiteralTextRefuses(t *testing.T) {
	gate, err := New(Config{Generator: scripted(t, "Hi"), Renderer: testRenderer(), Family: hermes(t), MaxTokens: 400})
	if err != nil {
		t.Fatal(err)
	}
	s, err := gate.OpenText(Options{Sampling: engine.Sampling{Temperature: 1, MaxTokens: 6}})
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"must see something first": s.Begin(say(""), nil),
		"offers no tools":          s.Begin(say("a"), []chat.ToolSpec{chat.NewToolSpec("f", "", chat.Object())}),
		"top_p 7":                  s.Resample(engine.Sampling{TopP: 7, MaxTokens: 1}),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v; want %q", err, what)
		}
	}
	if err := s.Begin(say("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(say("a"), nil); err == nil {
		t.Error("it began twice")
	}
	s.Close()
	if _, err := s.Turn(t.Context(), nil); err == nil {
		t.Error("a closed session sampled")
	}
}
