package doors

import (
	"strings"
	"testing"

	"molt/gateway/capture"
	"molt/gateway/forest"
	"molt/run/recipe"
	"molt/traj"
)

// TestWhatTrains: a reply that its client accepted, unless it judges; side errands and sub-agents as the settings say.
func TestWhatTrains(t *testing.T) {
	said := func(kind capture.Kind, fate forest.Fate, agent string) *capture.Node {
		return &capture.Node{Kind: kind, Fate: fate, Agent: forest.Agent{Kind: agent}}
	}
	for name, c := range map[string]struct {
		node                 *capture.Node
		plain, subs, errands bool // with neither, with sub_agents, with background
	}{
		"a turn":            {said(capture.Main, forest.Accepted, ""), true, true, true},
		"a sub-agent":       {said(capture.SubAgent, forest.Accepted, ""), false, true, false},
		"a side errand":     {said(capture.Background, forest.Accepted, ""), false, false, true},
		"a superseded turn": {said(capture.Main, forest.Superseded, ""), false, false, false},
		"an unseen turn":    {said(capture.Main, forest.Unseen, ""), false, false, false},
		"a judge":           {said(capture.Main, forest.Accepted, forest.Judge), false, false, false},
		"a judge's errand":  {said(capture.Background, forest.Accepted, forest.Judge), false, false, false},
	} {
		for i, settings := range []recipe.CaptureConfig{{}, {SubAgents: true}, {Background: true}} {
			a := &Agent{config: Config{Agent: &recipe.AgentConfig{Capture: settings}}}
			if got, want := a.trains(c.node), []bool{c.plain, c.subs, c.errands}[i]; got != want {
				t.Errorf("%s with %+v: %v", name, settings, got)
			}
		}
	}
}

// TestPruned: what is wanted stays, and what it stands on; parents are numbered anew.
func TestPruned(t *testing.T) {
	tree := func() []traj.Node {
		return []traj.Node{
			{Parent: -1, Observation: []int32{0}},
			{Parent: 0, Observation: []int32{1}},
			{Parent: 0, Observation: []int32{2}},
			{Parent: -1, Observation: []int32{3}, NewSegment: "new root"},
			{Parent: 2, Observation: []int32{4}},
			{Parent: 3, Observation: []int32{5}},
		}
	}
	for _, c := range []struct {
		wanted  string // by number
		kept    string // observations
		parents []int
		first   string // NewSegment of the first
	}{
		{"012345", "012345", []int{-1, 0, 0, -1, 2, 3}, ""},
		{"4", "024", []int{-1, 0, 1}, ""},
		{"5", "35", []int{-1, 0}, ""},
		{"15", "0135", []int{-1, 0, -1, 2}, ""},
		{"", "", nil, ""},
	} {
		kept := pruned(tree(), func(i int) bool { return strings.Contains(c.wanted, string(rune('0'+i))) })
		got := ""
		for i, n := range kept {
			got += string(rune('0' + n.Observation[0]))
			if n.Parent != c.parents[i] {
				t.Errorf("%q: parent of %d is %d; want %d", c.wanted, i, n.Parent, c.parents[i])
			}
		}
		if got != c.kept {
			t.Errorf("%q: kept %q; want %q", c.wanted, got, c.kept)
		}
		if len(kept) > 0 && kept[0].NewSegment != "" {
			t.Errorf("%q: the first begins a new segment: %q", c.wanted, kept[0].NewSegment)
		}
	}
}
