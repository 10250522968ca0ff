package capture

import (
	"fmt"
	"testing"

	"molt/chat"
	"molt/gateway/forest"
	"molt/traj"
)

// earned is what led to a rollout's result.
func earned(n Node) bool { return n.Fate == forest.Accepted && n.Kind != Background }

// TestSelect: one role of several is trained alone, and what it was sampled behind stays where it was.
func TestSelect(t *testing.T) {
	w := newWorld(t, inOrder("a title", "one", "two", "sub", "three", "three again"), nil)
	w.ask([]chat.Message{user("name this")}, nil)
	w.ask([]chat.Message{user("a")}, pens)
	w.ask([]chat.Message{user("a"), said("one"), user("b")}, pens)
	w.send(request([]chat.Message{user("task")}, pens), Caller{Agent: forest.Agent{ID: "s1"}})
	last := []chat.Message{user("a"), said("one"), user("b"), said("two"), user("c")}
	w.ask(last, pens)
	w.ask(last, pens)

	for name, c := range map[string]struct {
		keep func(Node) bool
		want string
	}{
		"everything": {func(Node) bool { return true }, "[-1 a title] [-1 one] [1 two] [-1 sub] [2 three] [2 three again] "},
		"earned":     {earned, "[-1 one] [0 two] [-1 sub] [1 three again] "},
		"sub-agents": {func(n Node) bool { return n.Kind == SubAgent }, "[-1 sub] "},
		"a late one": {func(n Node) bool { return n.Message.Content == "two" }, "[-1 ] [0 two] "},
		"nothing":    {func(Node) bool { return false }, ""},
	} {
		r := traj.Rollout{Outcome: traj.Completed, Nodes: w.session.Select(c.keep)}
		got := ""
		for _, n := range r.Nodes {
			text := testTokenizer().DecodeVisible(n.Sampled)
			got += fmt.Sprintf("[%d %s] ", n.Parent, text)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if len(r.Nodes) == 0 {
			continue
		}
		if err := r.Validate(testTokenizer().VocabSize(), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := traj.TrainedOnce(&r, r.Segments()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole, part := w.session.Nodes(), w.session.Select(func(n Node) bool { return n.Message.Content == "two" })
	if len(part[0].Observation) != len(whole[1].Observation)+len(whole[1].Sampled) {
		t.Error("what comes before is not shown whole")
	}
}
