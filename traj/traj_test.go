package traj

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// fork is a rollout of three turns: a root whose reply was continued in two ways.
//
//	node 0   shown 1 2   sampled 3 4
//	node 1   child of 0, shown 5, sampled 6
//	node 2   child of 0, shown 7, sampled 8 9
func fork() *Rollout {
	return &Rollout{Group: 7, Sample: 1, Outcome: Completed, Reward: 1, Score: 1, Nodes: []Node{
		node(-1, []int32{1, 2}, 3, 4),
		node(0, []int32{5}, 6),
		node(0, []int32{7}, 8, 9),
	}}
}

// node samples each id with log-prob -id/10 under version 2.
func node(parent int, observation []int32, sampled ...int32) Node {
	n := Node{Parent: parent, Observation: observation, Sampled: sampled, Temperature: 0.5, Finish: FinishStop}
	for _, id := range sampled {
		n.LogpGen = append(n.LogpGen, -float32(id)/10)
		n.Version = append(n.Version, 2)
	}
	return n
}

// TestSegmentsOfAFork: both leaves carry the shared turn, and only the first trains on it.
func TestSegmentsOfAFork(t *testing.T) {
	r := fork()
	got := r.Segments()
	want := []string{
		"leaf 1 tokens [1 2 3 4 5 6] action [F F T T F T] logp [0 0 -0.3 -0.4 0 -0.6] version [0 0 2 2 0 2] temp [1 1 0.5 0.5 1 0.5] node [0 0 0 0 1 1]",
		"leaf 2 tokens [1 2 3 4 7 8 9] action [F F F F F T T] logp [0 0 0 0 0 -0.8 -0.9] version [0 0 0 0 0 2 2] temp [1 1 1 1 1 0.5 0.5] node [0 0 0 0 2 2 2]",
	}
	for i, s := range got {
		var action []string
		for _, a := range s.Action {
			action = append(action, map[bool]string{true: "T", false: "F"}[a])
		}
		text := fmt.Sprintf("leaf %d tokens %v action %v logp %v version %v temp %v node %v", s.Leaf, s.Tokens, action, s.LogpGen, s.Version, s.Temp, s.Node)
		if i >= len(want) || text != want[i] {
			t.Errorf("segment %d:\n got %s\nwant %s", i, text, want[min(i, len(want)-1)])
		}
	}
	if len(got) != 2 || got[0].Actions() != 3 || got[1].Actions() != 2 {
		t.Errorf("%d segments with %d and %d actions; want 2 with 3 and 2", len(got), got[0].Actions(), got[1].Actions())
	}
	if err := TrainedOnce(r, got); err != nil {
		t.Error(err)
	}
	if r.Turns() != 3 || r.Sampled() != 5 || r.Tokens() != 9 {
		t.Errorf("turns %d, sampled %d, tokens %d; want 3, 5, 9: each token once", r.Turns(), r.Sampled(), r.Tokens())
	}
	if lag := r.Lag(5); lag != 3 {
		t.Errorf("lag %d; version 2 is 3 behind 5", lag)
	}
}

func TestSegmentsOfTwoRoots(t *testing.T) {
	r := &Rollout{Nodes: []Node{node(-1, []int32{1}, 2), node(-1, []int32{3}, 4)}}
	if got := r.Segments(); len(got) != 2 || got[0].Leaf != 0 || got[1].Leaf != 1 {
		t.Errorf("got %d segments; want one for each root", len(got))
	}
}

func TestTrainedOnceNotices(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(s []Segment) []Segment
		want  string
	}{
		{"a shared turn that trains twice", func(s []Segment) []Segment { s[1].Action[2] = true; return s }, "node 0 sampled token 0 trains 2 times"},
		{"a sampled token that never trains", func(s []Segment) []Segment { s[0].Action[5] = false; return s }, "node 1 sampled token 0 trains 0 times"},
		{"an observation that trains", func(s []Segment) []Segment { s[0].Action[4] = true; return s }, "observation token 0 of node 1 trains"},
		{"a mask that slipped by one", func(s []Segment) []Segment { s[0].Action[4], s[0].Action[5] = true, false; return s }, "observation token 0 of node 1 trains"},
		{"a leaf that is missing", func(s []Segment) []Segment { return s[:1] }, "node 2 sampled token 0 trains 0 times"},
		{"a leaf that is there twice", func(s []Segment) []Segment { return append(s, s[1]) }, "node 2 sampled token 0 trains 2 times"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := fork()
			err := TrainedOnce(r, c.spoil(r.Segments()))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "group 7 sample 1") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestConstrainedTurnsDoNotTrain: they are shown to what follows, and stay observation.
func TestConstrainedTurnsDoNotTrain(t *testing.T) {
	r := &Rollout{Nodes: []Node{
		{Parent: -1, Observation: []int32{1}, Sampled: []int32{2, 3}, LogpGen: []float32{-1, -2}, Version: []Version{0, 0}, Temperature: 1, Constrained: true},
		{Parent: 0, Observation: []int32{4}, Sampled: []int32{5}, LogpGen: []float32{-1}, Version: []Version{0}, Temperature: 1},
	}}
	s := r.Segments()
	if len(s) != 1 || !slices.Equal(s[0].Tokens, []int32{1, 2, 3, 4, 5}) || !slices.Equal(s[0].Action, []bool{false, false, false, false, true}) {
		t.Errorf("%+v", s)
	}
	if err := TrainedOnce(r, s); err != nil {
		t.Error(err)
	}
	s[0].Action[1] = true
	if err := TrainedOnce(r, s); err == nil || !strings.Contains(err.Error(), "node 0 sampled token 0 trains, and was sampled under a constraint") {
		t.Errorf("a constrained token that trains: %v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := fork().Validate(10, 2); err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	cases := []struct {
		name  string
		spoil func(r *Rollout)
		want  string
	}{
		{"child before parent", func(r *Rollout) { r.Nodes[1].Parent = 1 }, "node 1: parent 1 does not come before it"},
		{"root shown nothing", func(r *Rollout) { r.Nodes[0].Observation = nil }, "node 0: a root without observation"},
		{"missing log-prob", func(r *Rollout) { r.Nodes[2].LogpGen = r.Nodes[2].LogpGen[:1] }, "node 2: 2 sampled ids with 1 log-probs"},
		{"missing version", func(r *Rollout) { r.Nodes[2].Version = nil }, "node 2: 2 sampled ids with 0 weight versions"},
		{"log-prob above 0", func(r *Rollout) { r.Nodes[0].LogpGen[1] = 0.1 }, "log-prob 0.1 of sampled token 1"},
		{"log-prob NaN", func(r *Rollout) { r.Nodes[0].LogpGen[0] = nan }, "log-prob NaN of sampled token 0"},
		{"log-prob -Inf", func(r *Rollout) { r.Nodes[0].LogpGen[0] = inf }, "log-prob -Inf of sampled token 0"},
		{"version from the future", func(r *Rollout) { r.Nodes[1].Version[0] = 3 }, "version 3 of sampled token 0; the newest is 2"},
		{"negative version", func(r *Rollout) { r.Nodes[1].Version[0] = -1 }, "version -1 of sampled token 0"},
		{"sampled id outside", func(r *Rollout) { r.Nodes[1].Sampled[0] = 10 }, "sampled id 10 at 0 is outside the vocabulary of 10"},
		{"shown id outside", func(r *Rollout) { r.Nodes[1].Observation[0] = -1 }, "observation id -1 at 0 is outside"},
		{"temperature NaN", func(r *Rollout) { r.Nodes[0].Temperature = nan }, "sampling temperature NaN"},
		{"turn reward NaN", func(r *Rollout) { r.Nodes[0].Reward = math.NaN() }, "reward NaN is not a number"},
		{"reward infinite", func(r *Rollout) { r.Reward = math.Inf(1) }, "reward +Inf is not a number"},
		{"score NaN", func(r *Rollout) { r.Score = math.NaN() }, "score NaN is not a number"},
		{"a failure that is graded", func(r *Rollout) { r.Outcome = Harness }, "outcome harness carries reward 1"},
		{"graded without a turn", func(r *Rollout) { r.Nodes = nil }, "outcome completed without a single turn"},
		{"unknown outcome", func(r *Rollout) { r.Outcome, r.Reward, r.Score = "won", 0, 0 }, `unknown outcome "won"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := fork()
			c.spoil(r)
			if err := r.Validate(10, 2); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestGraded(t *testing.T) {
	for outcome, want := range map[Outcome]bool{Completed: true, Truncated: true, Infrastructure: false, Grader: false, Harness: false, Timeout: false, Cancelled: false} {
		if outcome.Graded() != want {
			t.Errorf("%s graded: %v", outcome, !want)
		}
	}
	g := Group{Rollouts: []*Rollout{{Outcome: Completed}, nil, {Outcome: Timeout}, {Outcome: Truncated}}}
	if got := g.Graded(); len(got) != 2 {
		t.Errorf("%d graded rollouts; want 2", len(got))
	}
}
