package doors

import (
	"testing"

	"molt/gateway/capture"
	"molt/gateway/forest"
	"molt/run/recipe"
)

// TestWhatTrains: a reply that its client accepted, unless it judges; side errands and sub-agents as the settings say.
func TestWhatTrains(t *testing.T) {
	said := func(kind capture.Kind, fate forest.Fate, agent string) capture.Node {
		return capture.Node{Kind: kind, Fate: fate, Agent: forest.Agent{Kind: agent}}
	}
	for name, c := range map[string]struct {
		node                 capture.Node
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
