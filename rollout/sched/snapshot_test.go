package sched

import (
	"encoding/json"
	"strings"
	"testing"

	"molt/traj"
)

// midway is a one-step-ahead run with a batch ready, an open batch partly done, a retry pending and a drop behind it.
func midway(t testing.TB) (Config, Snapshot) {
	t.Helper()
	w := &world{}
	out := w.play(`config n=2 batch=2 lag=1 filter budget=3
data a b c d e f
tick 0
done 0/0, 0/1 reward=1, 1/0 reward=1, 1/1
done 2/0, 2/1, 3/1 infrastructure, 3/0`)
	if strings.Contains(out, "error") {
		t.Fatal(out)
	}
	snap, err := w.s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return w.c, snap
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(*Config, *Snapshot)
		want   string
	}{
		{"other group size", func(c *Config, _ *Snapshot) { c.GroupSize = 3 }, "group 0 has 2 rollouts; the run is configured for groups of 3"},
		{"smaller batch", func(c *Config, _ *Snapshot) { c.BatchGroups = 1 }, "2 groups in a batch of 1"},
		{"fewer attempts", func(c *Config, _ *Snapshot) { c.Limits.Attempts = 1 }, "group 3 sample 1 is at attempt 1 of 1"},
		{"a lost batch", func(_ *Config, s *Snapshot) { s.Ready = nil }, "1 batches made, 0 taken, 0 waiting"},
		{"a batch twice", func(_ *Config, s *Snapshot) { s.Ready = append(s.Ready, s.Ready[0]); s.Sealed++ }, "batch 0 where batch 1 belongs"},
		{"published too often", func(_ *Config, s *Snapshot) { s.Published = 1 }, "weights published 1 times"},
		{"a group twice", func(_ *Config, s *Snapshot) { s.Open[1] = s.Open[0] }, "group 3 after group 3"},
		{"a group from the future", func(_ *Config, s *Snapshot) { s.Next = 3 }, "group 3 of 3 dispatched"},
		{"a missing group", func(_ *Config, s *Snapshot) { s.Open[0].Group = nil }, "a group is missing"},
		{"a missing rollout", func(_ *Config, s *Snapshot) { s.Ready[0].Groups[0].Rollouts[1] = nil }, "group 0 sample 1 is missing from a batch that was made"},
		{"a rollout in the wrong place", func(_ *Config, s *Snapshot) { s.Ready[0].Groups[0].Rollouts[1].Sample = 0 }, "group 0 sample 1 holds group 0 sample 0"},
		{"missing attempts", func(_ *Config, s *Snapshot) { s.Open[0].Attempts = nil }, "group 3 has 0 attempts for 2 samples"},
		{"tokens of other weights", func(_ *Config, s *Snapshot) { s.Ready[0].Version = 1 }, "token 0 was sampled by version 0 while version 1 served"},
		{"no outcomes", func(_ *Config, s *Snapshot) { s.Counts.Outcomes = nil }, "the counts are missing"},
		{"no counts", func(_ *Config, s *Snapshot) { s.Counts = Counts{} }, "the counts are missing"},
		{"a negative count", func(_ *Config, s *Snapshot) { s.Counts.Trained = -1 }, "a count is -1"},
		{"a rollout too many", func(_ *Config, s *Snapshot) { s.Counts.Dispatched++ }, "11 rollouts dispatched, but 2 trained, dropped or evaluated and 8 in flight"},
		{"more drops than groups", func(_ *Config, s *Snapshot) { s.Dropped["same_reward"] = 1 << 40 }, `of 5 groups dropped for "same_reward"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, snap := midway(t)
			tc.damage(&c, &snap)
			if _, err := Restore(c, snap); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestSnapshotStandsStill: what happens after a snapshot does not change it.
func TestSnapshotStandsStill(t *testing.T) {
	w := &world{}
	w.play("config n=2\ndata a b\ntick 0\ndone 0/0")
	snap, err := w.s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	w.play("done 0/1 harness")
	if open := snap.Open[0]; open.Group.Rollouts[1] != nil || open.Group.Filtered != "" || snap.Counts.Dropped["harness"] != 0 {
		t.Errorf("the snapshot changed: %+v, counts %+v", open.Group, snap.Counts)
	}
}

// FuzzRestore: no bytes make Restore panic, and what it accepts can run.
func FuzzRestore(f *testing.F) {
	c, snap := midway(f)
	data, err := json.Marshal(snap)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"Open":[{"Group":{"ID":0,"Rollouts":[null,null]},"Attempts":[0,0]}],"Next":1,"Counts":{"Dispatched":2,"Dropped":{},"Outcomes":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var snap Snapshot
		if json.Unmarshal(data, &snap) != nil {
			return
		}
		s, err := Restore(c, snap)
		if err != nil {
			return
		}
		for _, e := range []Event{Tick{Now: 1}, Take{}, Halt{Why: "fuzz"}, Tick{Now: maxMillis}} {
			if _, err := s.Apply(e); err != nil {
				return
			}
			if err := s.Conserve(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestInvariantsFire: what production checks is not decoration.
func TestInvariantsFire(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		damage       func(*Scheduler)
		event        Event
		want         string
	}{
		{"lag", "config n=1\ndata a\ntick 0\ndone 0/0", func(s *Scheduler) { s.published++ }, Take{},
			"sched: batch 0 is 1 published versions behind the learner; the bound is 0"},
		{"lag while new weights wait", "config n=1\ndata a\ntick 0\ndone 0/0", func(s *Scheduler) { s.pending, s.switching = true, true }, Take{},
			"sched: batch 0 is 1 published versions behind the learner; the bound is 0"},
		{"a lost rollout", "config n=1\ndata a\ntick 0\ndone 0/0", func(s *Scheduler) { s.counts.Dispatched++ }, Take{},
			"sched: 2 rollouts dispatched, but 1 trained, dropped or evaluated and 0 in flight"},
		{"a miscounted runner", "config n=1 lag=1\ndata a b\ntick 0\ndone 0/0", func(s *Scheduler) { s.running++ }, Take{},
			"sched: 1 attempts are running, 2 counted, with a capacity of 100"},
		{"too many runners", "config n=2 lag=1\ndata a b\ntick 0\ndone 0/0, 0/1", func(s *Scheduler) { s.c.Capacity = 1 }, Take{},
			"sched: 2 attempts are running, 2 counted, with a capacity of 1"},
	} {
		w := &world{}
		w.play(tc.script)
		tc.damage(w.s)
		if _, err := w.s.Apply(tc.event); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

// TestHaltWhileDrawing: a prompt that was being drawn when the run was stopped is not lost without a word.
func TestHaltWhileDrawing(t *testing.T) {
	c := Defaults()
	s, err := New(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{Tick{}, Halt{Why: "now"}, Prompt{ID: "a"}, Take{}} {
		if _, err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Counts(); got.Dispatched != 8 || got.Dropped["cancelled"] != 8 || s.InFlight() != 0 {
		t.Errorf("got %+v, %d in flight", got, s.InFlight())
	}
}

func TestConfigReportsEverythingWrong(t *testing.T) {
	var c Config
	c.MaxLag, c.MinGraded, c.DropBudget, c.Batches, c.Limits.RetryDelay = 2, 1, -1, -1, -1
	err := c.Validate()
	if err == nil {
		t.Fatal("an empty configuration passed")
	}
	for _, field := range []string{"GroupSize", "BatchGroups", "Batches", "Capacity", "MaxLag", "MinGraded", "DropBudget",
		"Limits.Turns", "Limits.Tokens", "Limits.Attempts", "Limits.Time", "Limits.Grace", "Limits.RetryDelay"} {
		if !strings.Contains(err.Error(), "sched: "+field+" is ") {
			t.Errorf("%s is not reported in:\n%v", field, err)
		}
	}
	c = Defaults()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestCountsShare(t *testing.T) {
	c := newCounts()
	if got := c.Share(traj.Timeout); got != 0 {
		t.Errorf("share of nothing is %v", got)
	}
	c.Outcomes[traj.Completed], c.Outcomes[traj.Timeout] = 3, 1
	if got := c.Share(traj.Timeout); got != 0.25 {
		t.Errorf("share %v, want 0.25", got)
	}
}
