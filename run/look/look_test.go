package look

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/metrics"
	"molt/metrics/testdata/demo"
	"molt/run/folder"
	"molt/run/problem"
)

func lookAtDemo(t *testing.T) *Run {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir, demo.Options{Seed: 3, SFTSteps: 4, Steps: 4, Async: true}); err != nil {
		t.Fatal(err)
	}
	l, err := At(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBestAndWorst(t *testing.T) {
	l := lookAtDemo(t)
	best, err := l.Rollout("best")
	worst, err2 := l.Rollout("worst")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, r := range l.Rollouts {
		if r.Graded && (r.Reward > best.Reward || r.Reward < worst.Reward) {
			t.Errorf("%v has reward %v; best %v, worst %v", r.Ref(), r.Reward, best.Reward, worst.Reward)
		}
	}
	if best.LossShare == nil {
		t.Error("one that trained is as good, and has numbers to look at")
	}
}

// TestEveryKeptRolloutHasAName: what the table lists can be asked for.
func TestEveryKeptRolloutHasAName(t *testing.T) {
	l := lookAtDemo(t)
	for _, r := range l.Rollouts {
		got, err := l.Rollout(r.Split + ":" + refText(r))
		if err != nil || got != r {
			t.Errorf("%s: %v, %v", refText(r), got, err)
		}
	}
}

// TestTokensAddUp: the parts of a rollout's loss are those of its tokens, and each token's numbers are the table's.
func TestTokensAddUp(t *testing.T) {
	l := lookAtDemo(t)
	r, err := l.Rollout("best")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i := range r.Tokens.Len() {
		f, err := Token(r, i)
		if err != nil {
			t.Fatal(err)
		}
		if f.Sampled != (f.LogpGen != nil) || f.Action && !f.Sampled {
			t.Fatalf("token %d: %+v", i, f)
		}
		if f.Action {
			sum += *f.Loss
			if want := math.Exp(*f.LogpNew - *f.LogpOld); *f.Ratio != want {
				t.Errorf("token %d: ratio %v, want %v", i, *f.Ratio, want)
			}
		}
		if strings.Count(f.String(), "\n") < 4 {
			t.Errorf("token %d: %s", i, f)
		}
	}
	if math.Abs(sum-*r.LossShare) > 1e-6 {
		t.Errorf("tokens add up to %v, the rollout's share is %v", sum, *r.LossShare)
	}
	for _, i := range []int{-1, r.Tokens.Len()} {
		if _, err := Token(r, i); err == nil {
			t.Errorf("there is a token %d", i)
		}
	}
}

func TestOutlineHasTheEvents(t *testing.T) {
	l := lookAtDemo(t)
	o := l.Outline()
	if o.Started == nil || o.Ended == nil || o.Ended.Outcome != "finished" || len(o.Rollouts) != len(l.Rollouts) || o.Kept.Kept != len(l.Rollouts) {
		t.Errorf("%+v", o)
	}
	for _, c := range o.Curves {
		if c.Name == "reward.mean" && len(c.Step) == 4 && c.Step[3] == 4 {
			return
		}
	}
	t.Error("no curve of the reward over four steps")
}

// TestUnfinishedRunIsShown: looking at a run needs neither its end nor its last line.
func TestUnfinishedRunIsShown(t *testing.T) {
	l := lookAtDemo(t)
	file := filepath.Join(l.Path, folder.EventsFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data[:len(data)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	l, err = At(l.Path)
	if err != nil || l.Outline().Ended != nil {
		t.Errorf("%v; ended %v", err, l.Outline().Ended)
	}
}

func TestAmbiguousNames(t *testing.T) {
	twin := func(split string) *metrics.RolloutKept {
		return &metrics.RolloutKept{Step: 1, Group: 2, Sample: 3, Split: split}
	}
	l := &Run{Path: "x", Rollouts: []*metrics.RolloutKept{twin(metrics.Train), twin(metrics.HeldOut)}}
	var p *problem.Problem
	if _, err := l.Rollout("1/2/3"); !errors.As(err, &p) || p.Fix != "write train:1/2/3 or held_out:1/2/3" {
		t.Error(err)
	}
	if _, err := l.Group("1/2"); !errors.As(err, &p) || p.Fix != "write train:1/2 or held_out:1/2" {
		t.Error(err)
	}
	if r, err := l.Rollout("held_out:1/2/3"); err != nil || r != l.Rollouts[1] {
		t.Error(err)
	}
	if g, err := l.Group("train:1/2"); err != nil || len(g) != 1 {
		t.Error(err)
	}
}

// TestDamagedEventsAreLeftOut: what is whole is shown, and the damage is named with its line.
func TestDamagedEventsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	if err := demo.Write(dir, demo.Options{Seed: 3, SFTSteps: 4, Steps: 4}); err != nil {
		t.Fatal(err)
	}
	whole, err := At(dir)
	if err != nil || whole.Damage != nil {
		t.Fatal(err, whole.Damage)
	}
	file := filepath.Join(dir, folder.EventsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[2] = strings.Replace(lines[2], `"seq":3`, `"seq":4`, 1)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := At(dir)
	if err != nil || l.Damage == nil || !strings.Contains(l.Damage.Error(), "line 3 is damaged") || len(l.Records) != len(whole.Records)-1 {
		t.Fatalf("%d of %d events, damage %v, %v", len(l.Records), len(whole.Records), l.Damage, err)
	}
	if err := os.WriteFile(file, []byte("garbage\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir); err == nil || !strings.Contains(err.Error(), "line 1 is not an event") {
		t.Errorf("of garbage: %v", err)
	}
}
