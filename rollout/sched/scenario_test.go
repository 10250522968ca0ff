package sched

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"molt/traj"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios in testdata print into them")

// TestScenarios runs each file of testdata: blocks of events, a line of dashes, and what the scheduler did about them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runScenario(t, file) })
	}
}

func runScenario(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	w := &world{}
	for i, block := range strings.Split(strings.TrimRight(string(want), "\n"), "\n\n") {
		if i > 0 {
			got.WriteString("\n")
		}
		script, _, _ := strings.Cut(block, "\n----")
		got.WriteString(script + "\n")
		if strings.HasPrefix(strings.TrimSpace(script), "#") && !strings.Contains(script, "\n") {
			continue
		}
		got.WriteString("----\n" + w.play(script))
	}
	if *rewrite {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(want) {
		t.Errorf("%s: the scheduler did something else (run with -rewrite to accept):\n%s", file, firstDifference(string(want), got.String()))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n  want %s\n  got  %s", i+1, a, b)
		}
	}
	return "no line differs"
}

// world answers Draw from a list of prompts and prints what happens.
type world struct {
	c    Config
	s    *Scheduler
	data []string
	out  strings.Builder
}

func (w *world) play(script string) string {
	w.out.Reset()
	for line := range strings.SplitSeq(script, "\n") {
		if err := w.command(strings.Fields(line)); err != nil {
			fmt.Fprintf(&w.out, "error: %v\n", err)
		}
	}
	if w.out.Len() == 0 {
		return "nothing\n"
	}
	return w.out.String()
}

func (w *world) command(f []string) error {
	if len(f) == 0 || strings.HasPrefix(f[0], "#") {
		return nil
	}
	arg := strings.Join(f[1:], " ")
	switch f[0] {
	case "config":
		return w.configure(f[1:])
	case "data":
		w.data = append(w.data, f[1:]...)
		return nil
	case "tick":
		return w.apply(Tick{Now: number(arg)})
	case "done":
		for _, f := range splitAll(f[1:]) {
			if err := w.apply(Done{w.rollout(f)}); err != nil {
				return err
			}
		}
		return nil
	case "take":
		return w.apply(Take{})
	case "publish":
		return w.apply(Publish{Version: traj.Version(number(arg))})
	case "published":
		return w.apply(Published{})
	case "evaluate":
		return w.apply(evaluation(f[1:]))
	case "halt":
		return w.apply(Halt{Why: arg})
	case "restart":
		return w.restart()
	case "counts":
		w.printCounts()
		return nil
	case "wake":
		at, ok := w.s.Wake()
		fmt.Fprintf(&w.out, "wake at %d %v\n", at, ok)
		return nil
	}
	return fmt.Errorf("scenario: unknown command %q", f[0])
}

func (w *world) configure(f []string) error {
	w.c = Config{GroupSize: 1, BatchGroups: 1, Capacity: 100, DropBudget: 2, Limits: Limits{
		Turns: 4, Tokens: 100, Attempts: 3, Time: 1000, Grace: 100, RetryDelay: 50}}
	w.data = nil
	first := traj.Version(0)
	for _, f := range f {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "n":
			w.c.GroupSize = int(number(value))
		case "batch":
			w.c.BatchGroups = int(number(value))
		case "batches":
			w.c.Batches = number(value)
		case "capacity":
			w.c.Capacity = int(number(value))
		case "lag":
			w.c.MaxLag = int(number(value))
		case "graded":
			w.c.MinGraded = int(number(value))
		case "budget":
			w.c.DropBudget = int(number(value))
		case "attempts":
			w.c.Limits.Attempts = int(number(value))
		case "version":
			first = traj.Version(number(value))
		case "go-on-short":
			w.c.GoOnShort = true
		case "filter":
			w.c.Filter = sameReward
		default:
			return fmt.Errorf("scenario: unknown setting %q", key)
		}
	}
	var err error
	w.s, err = New(w.c, first)
	return err
}

// sameReward filters groups whose graded rollouts all earned the same.
func sameReward(g *traj.Group) string {
	graded := g.Graded()
	for _, r := range graded {
		if r.Reward != graded[0].Reward {
			return ""
		}
	}
	return "same_reward"
}

func (w *world) apply(e Event) error {
	actions, err := w.s.Apply(e)
	if err != nil {
		return err
	}
	var starts []string
	for i, a := range actions {
		if start, ok := a.(Start); ok {
			starts = append(starts, name(start.Key))
			if i+1 < len(actions) {
				if _, more := actions[i+1].(Start); more {
					continue
				}
			}
			fmt.Fprintf(&w.out, "start %s\n", strings.Join(starts, " "))
			starts = nil
			continue
		}
		if err := w.do(a); err != nil {
			return err
		}
	}
	return w.s.Conserve()
}

func (w *world) do(a Action) error {
	switch a := a.(type) {
	case Draw:
		if len(w.data) == 0 {
			fmt.Fprintf(&w.out, "draw %d: no more prompts\n", a.Group)
			return w.apply(EndOfData{})
		}
		id := w.data[0]
		w.data = w.data[1:]
		fmt.Fprintf(&w.out, "draw %d: %s\n", a.Group, id)
		return w.apply(Prompt{ID: id, Source: "set"})
	case Cancel:
		fmt.Fprintf(&w.out, "cancel %s: %s\n", name(a.Key), a.Why)
	case Abandon:
		fmt.Fprintf(&w.out, "abandon %s\n", name(a.Key))
	case Retry:
		fmt.Fprintln(&w.out, strings.TrimSpace(fmt.Sprintf("retry %s at %d: %s %s", rolloutName(a.Rollout), a.At, a.Rollout.Outcome, a.Rollout.Detail)))
	case Drop:
		fmt.Fprintf(&w.out, "drop %s: %s\n", groupName(a.Group), a.Group.Filtered)
	case Deliver:
		b := a.Batch
		fmt.Fprintf(&w.out, "deliver batch %d of version %d, lag %d:", b.Index, b.Version, b.Lag)
		for _, g := range b.Groups {
			fmt.Fprintf(&w.out, " %s", groupName(g))
		}
		if b.Short != "" {
			fmt.Fprintf(&w.out, "; short: %s", b.Short)
		}
		w.out.WriteString("\n")
	case End:
		fmt.Fprintf(&w.out, "end: %s\n", a.Why)
	case Switch:
		fmt.Fprintf(&w.out, "switch to version %d\n", a.Version)
	case Evaluated:
		fmt.Fprintf(&w.out, "evaluated version %d:", a.Version)
		for _, g := range a.Groups {
			fmt.Fprintf(&w.out, " %s", groupName(g))
		}
		w.out.WriteString("\n")
	default:
		return fmt.Errorf("scenario: unknown action %T", a)
	}
	return nil
}

// restart writes the snapshot as JSON and goes on with a scheduler restored from it.
func (w *world) restart() error {
	snap, err := w.s.Snapshot()
	if err != nil {
		return err
	}
	if w.s, err = restored(w.c, snap); err != nil {
		return err
	}
	return w.apply(Tick{})
}

func restored(c Config, snap Snapshot) (*Scheduler, error) {
	data, err := json.Marshal(snap)
	if err != nil {
		return nil, err
	}
	var back Snapshot
	if err := json.Unmarshal(data, &back); err != nil {
		return nil, err
	}
	return Restore(c, back)
}

func (w *world) printCounts() {
	c := w.s.Counts()
	fmt.Fprintf(&w.out, "dispatched %d = trained %d + evaluated %d + in flight %d", c.Dispatched, c.Trained, c.Evaluated, w.s.InFlight())
	for _, why := range c.Reasons() {
		fmt.Fprintf(&w.out, " + %s %d", why, c.Dropped[why])
	}
	fmt.Fprintf(&w.out, "\nretried %d, running %d, ended", c.Retried, w.s.Running())
	for _, o := range traj.Outcomes {
		if n := c.Outcomes[o]; n != 0 {
			fmt.Fprintf(&w.out, " %s %d", o, n)
		}
	}
	w.out.WriteString("\n")
}

// rollout reads "0/1#2 completed reward=1 version=0 turns=1 tokens=2".
func (w *world) rollout(f []string) *traj.Rollout {
	key := parseKey(f[0])
	r := &traj.Rollout{Group: key.Group, Sample: key.Sample, Attempt: key.Attempt, Outcome: traj.Completed}
	version, turns, tokens := w.s.Serving(), 1, 2
	for _, f := range f[1:] {
		k, v, ok := strings.Cut(f, "=")
		switch {
		case !ok:
			r.Outcome = traj.Outcome(k)
		case k == "reward":
			r.Reward, _ = strconv.ParseFloat(v, 64)
		case k == "version":
			version = traj.Version(number(v))
		case k == "turns":
			turns = int(number(v))
		case k == "tokens":
			tokens = int(number(v))
		}
	}
	for i := range turns {
		r.Nodes = append(r.Nodes, node(i-1, tokens/turns, version))
	}
	return r
}

// node has one observation token, and as many sampled ones as make up the total.
func node(parent, tokens int, v traj.Version) traj.Node {
	n := traj.Node{Parent: parent, Observation: []int32{1}, Temperature: 1, Finish: traj.FinishStop}
	for range tokens - 1 {
		n.Sampled = append(n.Sampled, 2)
		n.LogpGen = append(n.LogpGen, -0.5)
		n.Version = append(n.Version, v)
	}
	return n
}

// splitAll cuts "0/0 completed , 0/1 timeout" at the commas.
func splitAll(f []string) [][]string {
	var all [][]string
	for part := range strings.SplitSeq(strings.Join(f, " "), ",") {
		all = append(all, strings.Fields(part))
	}
	return all
}

func evaluation(f []string) Evaluate {
	e := Evaluate{Samples: 1}
	for _, f := range f {
		if v, ok := strings.CutPrefix(f, "n="); ok {
			e.Samples = int(number(v))
			continue
		}
		e.Prompts = append(e.Prompts, Prompt{ID: f, Source: "held-out"})
	}
	return e
}

func name(k Key) string {
	if k.Attempt == 0 {
		return fmt.Sprintf("%d/%d", k.Group, k.Sample)
	}
	return fmt.Sprintf("%d/%d#%d", k.Group, k.Sample, k.Attempt)
}

func rolloutName(r *traj.Rollout) string { return name(Key{r.Group, r.Sample, r.Attempt}) }

func groupName(g *traj.Group) string {
	var failed []string
	for _, r := range g.Rollouts {
		if !r.Outcome.Graded() {
			failed = append(failed, fmt.Sprintf("%d %s", r.Sample, r.Outcome))
		}
	}
	if failed == nil {
		return fmt.Sprintf("%d(%s)", g.ID, g.Prompt)
	}
	return fmt.Sprintf("%d(%s, %s)", g.ID, g.Prompt, strings.Join(failed, ", "))
}

func parseKey(text string) Key {
	key, attempt, _ := strings.Cut(text, "#")
	g, i, _ := strings.Cut(key, "/")
	return Key{Group: number(g), Sample: int(number(i)), Attempt: int(number("0" + attempt))}
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("scenario: " + err.Error())
	}
	return n
}
