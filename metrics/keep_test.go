package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// candidate spells "group/sample reward change", with "x" for a reward that was not graded.
func candidate(t testing.TB, spec string) Candidate {
	var c Candidate
	var reward string
	if _, err := fmt.Sscanf(spec, "%d/%d %s %g", &c.Group, &c.Sample, &reward, &c.Change); err != nil {
		t.Fatal(err)
	}
	if reward != "x" {
		c.Graded = true
		if _, err := fmt.Sscan(reward, &c.Reward); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestRule(t *testing.T) {
	var candidates []Candidate
	for _, spec := range []string{
		"0/0 0.5 0.1", "0/1 0.5 0.9", "0/2 0.6 0.1", // narrow rewards; sample 1 changed most
		"1/0 0.0 0.1", "1/1 1.0 0.2", "1/2 x 0", // the widest group, with one that could not be graded
		"2/0 0.4 0.1", "2/1 0.7 0.3", "2/2 0.5 0.1",
	} {
		candidates = append(candidates, candidate(t, spec))
	}
	candidates[6].Alarm = "lag-over-bound"
	var got []string
	for _, c := range choose(candidates) {
		k := candidates[c.index]
		got = append(got, fmt.Sprintf("%d/%d: %s", k.Group, k.Sample, strings.Join(c.why, ", ")))
	}
	want := []string{
		"2/0: evidence of an alarm",
		"1/1: best reward, its group has the widest rewards",
		"1/0: worst reward, its group has the widest rewards",
		"2/2: median reward, newest",
		"0/1: changed most by the update",
		"1/2: newest that could not be graded, its group has the widest rewards",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRuleWithoutAnythingToCompare(t *testing.T) {
	if got := choose(nil); len(got) != 0 {
		t.Errorf("no rollouts: %v", got)
	}
	failed := []Candidate{candidate(t, "0/0 x 0"), candidate(t, "0/1 x 0")}
	if got := choose(failed); len(got) != 1 || got[0].index != 1 {
		t.Errorf("only failures: %v", got)
	}
	equal := []Candidate{candidate(t, "0/0 1 0"), candidate(t, "0/1 1 0")}
	for _, c := range choose(equal) {
		for _, why := range c.why {
			if why == KeptGroup || why == KeptChanged {
				t.Errorf("nothing differs and nothing changed, but %v is kept as %q", c.index, why)
			}
		}
	}
}

// small is a valid rollout with n tokens.
func small(c Candidate, n int) *RolloutKept {
	r := &RolloutKept{Step: 1, Split: Train, Group: c.Group, Sample: c.Sample, Samples: 8, Outcome: "completed", Graded: c.Graded, Reward: c.Reward}
	r.Nodes = []Node{{Parent: -1}}
	t := &r.Tokens
	for i := range n {
		t.ID, t.Piece, t.LogpGen = append(t.ID, int32(i)), append(t.Piece, "x"), append(t.LogpGen, -0.25)
	}
	t.Node, t.Sampled, t.Action, t.Version = t.Node.Repeat(0, n), t.Sampled.Repeat(true, n), t.Action.Repeat(true, n), t.Version.Repeat(0, n)
	return r
}

func TestKeeperStaysWithinItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "keeper")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l, err := Create(filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		config := Config{KeepBytes: rapid.Int64Range(0, 20000).Draw(t, "budget"), KeepPerStep: rapid.IntRange(0, 6).Draw(t, "per step")}
		k, err := OpenKeeper(filepath.Join(dir, "rollouts.jsonl"), l, config, nil)
		if err != nil {
			t.Fatal(err)
		}
		offered := 0
		for step := 1; step <= 5; step++ {
			var candidates []Candidate
			for i := range rapid.IntRange(0, 12).Draw(t, "rollouts") {
				c := Candidate{Group: int64(i / 4), Sample: i % 4, Graded: true, Reward: rapid.Float64Range(0, 1).Draw(t, "reward")}
				if rapid.IntRange(0, 5).Draw(t, "alarm") == 0 {
					c.Alarm = "some-alarm"
				}
				tokens := rapid.IntRange(1, 60).Draw(t, "tokens")
				c.Fill = func() *RolloutKept { r := small(c, tokens); r.Step = int64(step); return r }
				candidates = append(candidates, c)
			}
			k.Keep(int64(step), Train, 5-step+1, candidates)
			offered += len(candidates)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		records, err := Salvage(filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "rollouts.jsonl"))
		if err != nil || info.Size() > config.KeepBytes {
			t.Fatalf("%d bytes of a budget of %d: %v", info.Size(), config.KeepBytes, err)
		}
		total := KeptTotal(records)
		left := 0
		for _, n := range total.LeftOut {
			left += n
		}
		if total.Offered != offered || total.Kept+left != offered || total.Bytes != info.Size() {
			t.Fatalf("%d offered, said: %+v", offered, total)
		}
		rollouts, err := ReadRollouts(filepath.Join(dir, "rollouts.jsonl"), records)
		if err != nil || len(rollouts) != total.Kept {
			t.Fatalf("%d of %d can be read: %v", len(rollouts), total.Kept, err)
		}
	})
}

func TestKeeperResumesWhereTheEventsSay(t *testing.T) {
	dir := t.TempDir()
	events, path := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "rollouts.jsonl")
	l := createLog(t, events)
	keep := func(l *Log, history []Record, step int64, reward float64) {
		k, err := OpenKeeper(path, l, Config{KeepBytes: 12 << 20, KeepPerStep: 16}, history)
		if err != nil {
			t.Fatal(err)
		}
		c := Candidate{Graded: true, Reward: reward}
		c.Fill = func() *RolloutKept { r := small(c, 5); r.Step = step; return r }
		k.Keep(step, Train, 1, []Candidate{c})
		closeOrFail(t, k)
	}
	keep(l, nil, 1, 0.1)
	saved := l.Emit(CheckpointSaved{Step: 1})
	keep(l, readOrFail(t, events), 2, 0.2)
	closeOrFail(t, l)

	l, history := resumeLog(t, events, saved, 1)
	keep(l, history, 2, 0.3)
	closeOrFail(t, l)
	rollouts, err := ReadRollouts(path, readOrFail(t, events))
	if err != nil || len(rollouts) != 2 || rollouts[0].Reward != 0.1 || rollouts[1].Reward != 0.3 {
		t.Errorf("%d rollouts, %v", len(rollouts), err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), `"reward":0.2`) {
		t.Errorf("the discarded rollout is still there: %v", err)
	}
}

func TestKeeperRefusesWhatIsNotARollout(t *testing.T) {
	dir := t.TempDir()
	l := createLog(t, filepath.Join(dir, "events.jsonl"))
	k, err := OpenKeeper(filepath.Join(dir, "rollouts.jsonl"), l, Config{KeepBytes: 12 << 20, KeepPerStep: 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Candidate{Graded: true}
	c.Fill = func() *RolloutKept { r := small(c, 5); r.Tokens.LogpOld = []float32{1}; return r }
	k.Keep(1, Train, 1, []Candidate{c})
	k.Keep(2, Train, 1, []Candidate{c})
	records := readOrFail(t, filepath.Join(dir, "events.jsonl"))
	var alarms []string
	for _, a := range Of[Alarm](records) {
		alarms = append(alarms, a.Sentence)
	}
	if len(alarms) != 1 || !strings.Contains(alarms[0], "logp_old has 1 numbers for 5 tokens") {
		t.Errorf("alarms %q", alarms)
	}
	if total := KeptTotal(records); total.LeftOut[LeftByFault] != 2 || total.Kept != 0 {
		t.Errorf("said %+v", total)
	}
}

func TestReadRolloutsTrustsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollouts.jsonl")
	good := encodeOrFail(t, small(Candidate{Group: 3, Sample: 1}, 4)) + "\n"
	n := int64(len(good))
	mustWrite(t, path, []byte(good))
	index := func(refs ...KeptRef) []Record {
		return []Record{{Seq: 1, Leg: 1, Event: RolloutsKept{Step: 1, Split: Train, Kept: refs}}}
	}
	if r, err := ReadRollouts(path, index(KeptRef{Group: 3, Sample: 1, Bytes: n})); err != nil || len(r) != 1 {
		t.Fatalf("%d, %v", len(r), err)
	}
	for name, ref := range map[string]KeptRef{
		"beyond the end":  {Group: 3, Sample: 1, Bytes: n, Offset: 1},
		"negative":        {Group: 3, Sample: 1, Bytes: n, Offset: -1},
		"huge":            {Group: 3, Sample: 1, Bytes: 1 << 60},
		"nothing":         {Group: 3, Sample: 1},
		"another rollout": {Group: 4, Sample: 1, Bytes: n},
	} {
		got, err := ReadRollouts(path, index(ref, KeptRef{Group: 3, Sample: 1, Bytes: n}))
		if err == nil || len(got) != 1 {
			t.Errorf("%s: %d rollouts, %v", name, len(got), err)
		}
	}
}

func FuzzReadRollout(f *testing.F) {
	f.Add([]byte(encodeOrFail(f, small(Candidate{}, 4)) + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ref := KeptRef{Bytes: int64(len(text))}
		r, err := readRollout(strings.NewReader(string(text)), RolloutsKept{Step: 1, Split: Train}, ref)
		if err != nil {
			return
		}
		TokenTable(r, 100)
		Transcript(r, 100)
		Comparison([]*RolloutKept{r}, 100)
	})
}

// TestDamagedRolloutsAreLocated: a letter for another is no error of JSON, and is found all the same, with its line.
func TestDamagedRolloutsAreLocated(t *testing.T) {
	dir := t.TempDir()
	events, path := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "rollouts.jsonl")
	l := createLog(t, events)
	k, err := OpenKeeper(path, l, Config{KeepBytes: 12 << 20, KeepPerStep: 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []Candidate
	for i := range 3 {
		c := Candidate{Sample: i, Graded: true, Reward: float64(i)}
		c.Fill = func() *RolloutKept { r := small(c, 5); r.Prompt = fmt.Sprint("prompt-", i); return r }
		all = append(all, c)
	}
	k.Keep(1, Train, 1, all)
	closeOrFail(t, k)
	closeOrFail(t, l)
	records := readOrFail(t, events)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := range 3 {
		damaged := slices.Clone(lines)
		damaged[i] = strings.Replace(damaged[i], "prompt-", "prompt_", 1)
		mustWrite(t, path, []byte(strings.Join(damaged, "")))
		rollouts, err := ReadRollouts(path, records)
		if want := fmt.Sprintf("line %d, step 1 group 0", i+1); len(rollouts) != 2 || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%d rollouts, %v; want %s", len(rollouts), err, want)
		}
	}
	mustWrite(t, path, text[:len(lines[0])+10])
	if rollouts, err := ReadRollouts(path, records); len(rollouts) != 1 || err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "not there as its event says") {
		t.Errorf("cut: %d rollouts, %v", len(rollouts), err)
	}
}
