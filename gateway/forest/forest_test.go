package forest

import (
	"fmt"
	"slices"
	"testing"

	"molt/chat"
	"molt/traj"
)

var tools = chat.ToolsKey(nil, nil)

func user(text string) *chat.Item { return chat.NewItem(chat.Message{Role: chat.User, Content: text}) }
func said(text string, handles ...string) *chat.Item {
	return chat.NewItem(chat.Message{Role: chat.Assistant, Content: text}, handles...)
}

// answer enters a request and commits a turn, whose ids are made of its number.
func answer(f *Forest, text string, state State, items ...*chat.Item) int32 {
	p := f.Plan(tools, items)
	if p.Cut != nil {
		f.Cut(*p.Cut)
	}
	at := f.Enter(p.Point, tools, items[p.Matched:])
	f.Follow(p.Turn)
	n := int32(f.Turns())
	return f.Commit(Turn{
		Name: fmt.Sprintf("NAMENAMENAMENAMENAME%02d", n), At: at, Parent: p.Turn, Item: said(text), Observation: []int32{n * 10}, Sampled: []int32{n*10 + 1, n*10 + 2},
		Logp: []float32{-1, -1}, Version: []traj.Version{0, 0}, Finish: traj.FinishStop, State: state, Reason: p.Reason, Request: int64(n),
	})
}

func TestPlan(t *testing.T) {
	f := New()
	a := answer(f, "one", Delivered, user("a"))
	b := answer(f, "two", Delivered, user("a"), said("one"), user("b"))
	for _, c := range []struct {
		name    string
		items   []*chat.Item
		turn    int32
		from    int
		matched int
		reason  chat.Reason
		splices []Splice
	}{
		{"first request again", []*chat.Item{user("a")}, -1, 0, 1, Sibling, nil},
		{"what follows the leaf", []*chat.Item{user("a"), said("one"), user("b"), said("two"), user("c")}, b, 4, 4, "", nil},
		{"the leaf, trimmed", []*chat.Item{user("a"), said("one"), user("b"), said(" two\n")}, b, 4, 4, "", nil},
		{"a branch", []*chat.Item{user("a"), said("one"), user("c")}, a, 2, 2, chat.HistoryEdit, nil},
		{"a dropped turn", []*chat.Item{user("a"), user("c")}, -1, 0, 1, Dropped, nil},
		{"an edited turn", []*chat.Item{user("a"), said("won"), user("b")}, -1, 0, 1, chat.HistoryEdit, nil},
		{"an edited turn that carries its name", []*chat.Item{user("a"), said("won", "msg_NAMENAMENAMENAMENAME00_0"), user("b")}, -1, 0, 1, chat.HistoryEdit, nil},
		{"something new", []*chat.Item{user("z")}, -1, 0, 0, chat.NewRoot, nil},
		{"a summary and the last turn", []*chat.Item{user("summary"), said("two"), user("c")}, -1, 0, 0, chat.Compaction, []Splice{{1, b}}},
		{"a longer history with the last turn", []*chat.Item{user("summary"), user("x"), user("y"), said("two"), user("c")}, -1, 0, 0, chat.HistoryEdit, []Splice{{3, b}}},
	} {
		p := f.Plan(tools, c.items)
		if p.Turn != c.turn || p.From != c.from || p.Matched != c.matched || p.Reason != c.reason || !slices.Equal(p.Splices, c.splices) || p.Cut != nil {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	if p := f.Plan(chat.Key{1}, []*chat.Item{user("a"), said("one"), user("b")}); p.Reason != chat.ToolsChanged || p.Turn != -1 || len(p.Splices) != 1 {
		t.Errorf("other tools: %+v", p)
	}
	if got := f.IDs(b, 0); !slices.Equal(got, []int32{0, 1, 2, 10, 11, 12}) {
		t.Errorf("ids %v", got)
	}
	if !f.Follows(b, []int32{0, 1, 2, 10}) || f.Follows(b, []int32{0, 1, 3, 10}) || f.Follows(b, []int32{1, 2, 10}) || f.Follows(b, []int32{9, 0, 1, 2, 10}) {
		t.Error("token identity is not seen")
	}
}

// TestEqualTurns: of two answers that say the same, the one that the client names is continued; else the one that it got.
func TestEqualTurns(t *testing.T) {
	f := New()
	first := answer(f, "same", Delivered, user("a"))
	second := answer(f, "same", Lost, user("a"))
	third := answer(f, "same", Delivered, user("a"))
	for name, want := range map[string]int32{"": third, f.Turn(first).Name: first, "sig_" + f.Turn(second).Name + "_0": second} {
		item := said("same")
		if name != "" {
			item = said("same", name)
		}
		if p := f.Plan(tools, []*chat.Item{user("a"), item, user("b")}); p.Turn != want {
			t.Errorf("named %q: turn %d, want %d", name, p.Turn, want)
		}
	}
	below := answer(f, "more", Delivered, user("a"), said("same", f.Turn(first).Name), user("b"))
	if p := f.Plan(tools, []*chat.Item{user("a"), said("same"), user("b"), said("more"), user("c")}); p.Turn != below {
		t.Errorf("the deepest match is %d, not %d", p.Turn, below)
	}
}

// TestManyEqualTurns: neither the named one nor the newest is lost among many.
func TestManyEqualTurns(t *testing.T) {
	f := New()
	var last int32
	for range 2 * maxFront {
		last = answer(f, "same", Delivered, user("a"))
	}
	if p := f.Plan(tools, []*chat.Item{user("a"), said("same"), user("b")}); p.Turn != last {
		t.Errorf("turn %d, want the newest, %d", p.Turn, last)
	}
	for _, turn := range []int32{0, maxFront, last} {
		if p := f.Plan(tools, []*chat.Item{user("a"), said("same", f.Turn(turn).Name), user("b")}); p.Turn != turn {
			t.Errorf("turn %d, want %d", p.Turn, turn)
		}
	}
}

func TestCut(t *testing.T) {
	f := New()
	i := answer(f, "one two", Lost, user("a"))
	f.turns[i].Checkpoints = []Checkpoint{{1, said("one ")}}
	items := []*chat.Item{user("a"), said("one"), user("b")}
	p := f.Plan(tools, items)
	if p.Cut == nil || *p.Cut != (Cut{i, 0}) || p.Turn != i || p.From != 2 || p.Reason != "" {
		t.Fatalf("%+v", p)
	}
	next := answer(f, "three", Delivered, items...)
	if got := f.IDs(next, 0); !slices.Equal(got, []int32{0, 1, 10, 11, 12}) || f.Turn(i).State != Delivered {
		t.Errorf("ids %v, %+v", got, f.Turn(i))
	}
	if p := f.Plan(tools, []*chat.Item{user("a"), said("one two"), user("b")}); p.Turn != -1 {
		t.Errorf("what was cut off is still there: %+v", p)
	}
	if p := f.Plan(tools, []*chat.Item{user("a"), said("one"), user("b"), said("three")}); p.Turn != next {
		t.Errorf("%+v", p)
	}
}

func TestFates(t *testing.T) {
	f := New()
	first, second := answer(f, "one", Delivered, user("a")), answer(f, "two", Delivered, user("a"))
	lost := answer(f, "three", Lost, user("z"))
	answer(f, "four", Delivered, user("a"), said("one"), user("b"))
	for turn, want := range map[int32]Fate{first: Accepted, second: Accepted, lost: Unseen} {
		if got := f.Fate(turn); got != want {
			t.Errorf("turn %d is %s, want %s", turn, got, want)
		}
	}
	third := answer(f, "five", Delivered, user("a"))
	if f.Fate(second) != Superseded || f.Fate(third) != Accepted {
		t.Errorf("%s, %s", f.Fate(second), f.Fate(third))
	}
}
