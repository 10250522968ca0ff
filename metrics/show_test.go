package metrics_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"molt/metrics"
	"molt/metrics/testdata/demo"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, o demo.Options) ([]metrics.Record, []*metrics.RolloutKept) {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Salvage(filepath.Join(dir, demo.Events))
	if err != nil {
		t.Fatal(err)
	}
	rollouts, err := metrics.ReadRollouts(filepath.Join(dir, demo.Rollouts), records)
	if err != nil {
		t.Fatal(err)
	}
	return records, rollouts
}

// group gives the rollouts of the last group of which all were kept.
func group(rollouts []*metrics.RolloutKept) []*metrics.RolloutKept {
	var last []*metrics.RolloutKept
	byID := map[int64][]*metrics.RolloutKept{}
	for _, r := range rollouts {
		byID[r.Group] = append(byID[r.Group], r)
		if len(byID[r.Group]) == r.Samples && r.Split == metrics.Train {
			last = byID[r.Group]
		}
	}
	return last
}

func sameAsGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -rewrite accepts):\n%s", path, diff)
	}
}

func TestTextViews(t *testing.T) {
	records, rollouts := load(t, demo.Options{Seed: 3, SFTSteps: 20, Steps: 6, Async: true, Crash: true})
	all := group(rollouts)
	sameAsGolden(t, "show.run.txt", metrics.Summary(records, 100))
	sameAsGolden(t, "show.table.txt", metrics.RolloutTable(all, 100))
	sameAsGolden(t, "show.rollout.txt", metrics.Transcript(all[0], 80))
	sameAsGolden(t, "show.tokens.txt", metrics.TokenTable(all[0], 110))
	sameAsGolden(t, "show.group.txt", metrics.Comparison(all, 120))
}

func TestStripSumsToTheLoss(t *testing.T) {
	records, rollouts := load(t, demo.Options{Seed: 3, SFTSteps: 5, Steps: 3})
	losses := map[int64]float64{}
	for _, e := range metrics.Of[metrics.StepDone](records) {
		losses[e.Step] = e.Loss
	}
	for _, r := range rollouts {
		if r.LossShare == nil {
			continue
		}
		if d := r.Tokens.LossSum() - *r.LossShare; d > 1e-6 || d < -1e-6 {
			t.Errorf("%v: tokens add up to %v, share is %v", r.Ref(), r.Tokens.LossSum(), *r.LossShare)
		}
		if *r.StepLoss != losses[r.Step] {
			t.Errorf("%v: part of %v, the step's loss is %v", r.Ref(), *r.StepLoss, losses[r.Step])
		}
	}
}

// TestHostileTextStaysText: nothing that a run contains can do anything to a terminal.
func TestHostileTextStaysText(t *testing.T) {
	for seed := range uint64(3) {
		records, rollouts := load(t, demo.Options{Seed: seed, SFTSteps: 3, Steps: 5, Hostile: true})
		texts := []string{metrics.Summary(records, 100), metrics.RolloutTable(rollouts, 100)}
		for _, r := range rollouts {
			texts = append(texts, metrics.Transcript(r, 80), metrics.TokenTable(r, 110), metrics.Comparison([]*metrics.RolloutKept{r}, 100))
		}
		for _, text := range texts {
			for _, c := range text {
				if c != '\n' && !unicode.IsPrint(c) {
					t.Fatalf("%U in %q", c, text[max(0, strings.IndexRune(text, c)-40):])
				}
			}
		}
	}
}

func TestAnswersPairCallsWithResults(t *testing.T) {
	r := &metrics.RolloutKept{Messages: []metrics.Message{
		{Role: "assistant", Calls: []metrics.ToolCall{{ID: "a", Name: "first"}, {ID: "b", Name: "second"}}},
		{Role: "tool", CallID: "b", Text: "of second"},
		{Role: "tool", CallID: "a", Text: "of first"},
		{Role: "assistant", Calls: []metrics.ToolCall{{Name: "third"}, {Name: "unanswered"}}},
		{Role: "tool", Text: "of third"},
		{Role: "tool", CallID: "nobody", Text: "stray"},
	}}
	text := metrics.Transcript(r, 80)
	for _, want := range []string{"first\n  result   < of first", "second\n  result   < of second", "third\n  result   < of third",
		"unanswered\n  result   < (none)", "TOOL\n  stray"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestFirstDifference(t *testing.T) {
	tokens := func(ids ...int32) *metrics.Tokens { return &metrics.Tokens{ID: ids} }
	for _, c := range []struct {
		a, b *metrics.Tokens
		want int
	}{
		{tokens(1, 2, 3), tokens(1, 2, 4), 2}, {tokens(1, 2), tokens(1, 2, 3), 2}, {tokens(), tokens(1), 0}, {tokens(5), tokens(5), 1},
	} {
		if got := metrics.FirstDifference(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a.ID, c.b.ID, got, c.want)
		}
	}
}
