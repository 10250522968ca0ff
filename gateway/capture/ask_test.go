package capture

import (
	"slices"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
)

// TestAToolLoopIsOneSegment: the client sends everything again each time, in its own way.
func TestAToolLoopIsOneSegment(t *testing.T) {
	w := newWorld(t, inOrder("<think>\nhm\n</think>\n\nI look."+lookup("pen"), "12"), nil)
	start := []chat.Message{system("S"), user("3 pens?")}
	first := w.ask(start, pens)
	if first.Reasoning != "hm" || first.Content != "I look." || len(first.ToolCalls) != 1 || len(first.ToolCalls[0].ID) != 9 {
		t.Fatalf("reply %+v", first)
	}
	back := first
	back.Reasoning, back.Content = "", " I look.\n" // dropped, and not trimmed but widened
	if second := w.ask(append(start, back, tool(first.ToolCalls[0].ID, "4")), pens); second.Content != "12" {
		t.Errorf("reply %+v", second)
	}
	segments := w.session.Export().Segments
	if len(segments) != 1 || segments[0].Reason != chat.NewRoot || segments[0].Kind != Main {
		t.Errorf("segments %+v", segments)
	}
	w.sound()
}

func TestScenarios(t *testing.T) {
	t.Run("an edit of history branches", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two", "three", "four"), nil)
		w.ask([]chat.Message{user("a")}, nil)
		w.ask([]chat.Message{user("a"), said("one"), user("b")}, nil)
		w.ask([]chat.Message{user("a"), said("one"), user("c")}, nil)
		w.ask([]chat.Message{user("a"), said("ONE"), user("b")}, nil)
		w.wantTree(`
0 after -1 new_root accepted "[user/a]/[assistant/" -> "one]"
1 after 0 accepted "/[user/b]/[assistant/" -> "two]"
2 after 0 history_edit accepted "/[user/c]/[assistant/" -> "three]"
3 after -1 history_edit accepted "[user/a]/[assistant/ONE]/[user/b]/[assistant/" -> "four]"
`)
	})
	t.Run("a reply that the client drops is a leaf", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "bad", "good"), nil)
		w.ask([]chat.Message{user("a")}, nil)
		w.ask([]chat.Message{user("a"), said("one"), user("b")}, nil)
		w.ask([]chat.Message{user("a"), said("one"), user("b"), user("wrong format")}, nil)
		w.wantTree(`
0 after -1 new_root accepted "[user/a]/[assistant/" -> "one]"
1 after 0 accepted "/[user/b]/[assistant/" -> "bad]"
2 after 0 dropped_turn accepted "/[user/b]/[user/wrong format]/[assistant/" -> "good]"
`)
	})
	t.Run("compaction carries the last turn", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "<think>\nhm\n</think>\n\n"+lookup("pen"), "the summary", "12"), nil)
		w.ask([]chat.Message{user("a")}, pens)
		carried := w.ask([]chat.Message{user("a"), said("one"), user("b")}, pens)
		w.ask([]chat.Message{user("a"), said("one"), user("b"), said("summarise!")}, pens)
		carried.Reasoning = ""
		w.ask([]chat.Message{user("so far: …"), carried, tool(carried.ToolCalls[0].ID, "4")}, pens)
		tree := w.session.Export().Tree
		if last := tree[3]; last.Parent != -1 || last.Reason != chat.Compaction || len(last.Spliced) != 1 || last.Spliced[0] != 1 {
			t.Errorf("the turn after compaction: parent %d, reason %s, carries %v", last.Parent, last.Reason, last.Spliced)
		}
		sampled := tree[1].Sampled
		if !contains(tree[3].Observation, sampled) {
			t.Error("the carried turn is not shown as it was sampled")
		}
		w.sound()
	})
	t.Run("other tools are another root", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		w.ask([]chat.Message{user("a")}, pens)
		w.ask([]chat.Message{user("a"), said("one"), user("b")}, nil)
		if last := w.session.Export().Tree[1]; last.Parent != -1 || last.Reason != chat.ToolsChanged || len(last.Spliced) != 1 {
			t.Errorf("parent %d, reason %s, carries %v", last.Parent, last.Reason, last.Spliced)
		}
		w.sound()
	})
	t.Run("a prefabricated turn is nobody's", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		start := []chat.Message{user("context"), said("Got it."), user("a")}
		w.ask(start, nil)
		w.ask(append(start, said("one"), user("b")), nil)
		w.wantTree(`
0 after -1 new_root accepted "[user/context]/[assistant/Got it.]/[user/a]/[assistant/" -> "one]"
1 after 0 accepted "/[user/b]/[assistant/" -> "two]"
`)
	})
	t.Run("a system message in the middle stays where it is", func(t *testing.T) {
		w := newWorld(t, inOrder("one", "two"), nil)
		w.ask([]chat.Message{system("S"), user("a"), system("agents")}, nil)
		w.ask([]chat.Message{system("S"), user("a"), system("agents"), said("one"), user("b"), system("remember")}, nil)
		w.wantTree(`
0 after -1 new_root accepted "[system/S]/[user/a]/[system/agents]/[assistant/" -> "one]"
1 after 0 accepted "/[user/b]/[system/remember]/[assistant/" -> "two]"
`)
	})
	t.Run("a turn that was cut by length goes on", func(t *testing.T) {
		w := newWorld(t, inOrder("one two three four five six seven eight", "nine"), nil)
		r := request([]chat.Message{user("a")}, nil)
		r.Options.MaxTokens = 5
		first := w.send(r, Caller{})
		w.ask([]chat.Message{user("a"), first, user("go on")}, nil)
		tree := w.session.Export().Tree
		if tree[0].Finish != "length" || len(tree[0].Sampled) != 5 || tree[1].Parent != 0 || tree[1].Observation[0] != endID() {
			t.Errorf("%+v", tree)
		}
		w.sound()
	})
}

func contains(ids, part []int32) bool {
	for i := range len(ids) - len(part) + 1 {
		if slices.Equal(ids[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// TestRawCompletions: a prompt of ids that begins with a whole completion continues it.
func TestRawCompletions(t *testing.T) {
	w := newWorld(t, inOrder("one", "two", "three"), nil)
	ask := func(ids []int32) []int32 {
		r := &wire.Request{Prompt: ids, ToolsKey: chat.ToolsKey(nil, nil), Options: wire.Options{Choices: 1, TokenIDs: true}}
		call, p := w.session.Ask(t.Context(), r, Caller{})
		if p != nil {
			t.Fatal(p)
		}
		reply, p := call.Whole(t.Context())
		if p != nil {
			t.Fatal(p)
		}
		call.Close(true)
		for _, k := range reply.Choices[0].Tokens {
			ids = append(ids, k.ID)
		}
		return ids
	}
	first := ask([]int32{65, 66})
	ask(append(slices.Clone(first), 67))
	ask([]int32{65, 67})
	var parents []int
	for _, n := range w.session.Nodes() {
		parents = append(parents, n.Parent)
	}
	if !slices.Equal(parents, []int{-1, 0, -1}) || !slices.Equal(w.session.Nodes()[1].Observation, []int32{67}) {
		t.Errorf("parents %v, %+v", parents, w.session.Nodes())
	}
	w.sound()
}
