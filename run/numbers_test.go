// The numbers that the documentation prints come back only while the arithmetic stays as it is: these tests see a change of it
// in seconds, and that the pages agree with each other.

package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"molt/examples/shop"
	"molt/metrics"
	"molt/numeric/kernel"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
)

// The weights that a small quickstart ends with, of NumericEpoch, on every machine and every kernel path.
const (
	imitated   = "439e7950722514ebc60b8c13bd12b042177c71b9c2a1ad8122569c74154430d4"
	reinforced = "5ba3673907b662e523c5185dd1a6765d4c2baa2ce7af92bb66e432c9b2a6f168"
)

// TestNumbers runs the two parts of the quickstart with less of everything.
func TestNumbers(t *testing.T) {
	for _, path := range kernel.Paths() {
		t.Run(path, func(t *testing.T) {
			t.Cleanup(kernel.SetPath(path))
			q := smallQuickstart(t)
			sft := q.sftConfig()
			sft.Train.Steps, sft.Train.BatchSize, sft.Model.WarmupSteps, sft.Engine.Threads = 3, 2, 1, 1
			runSFT(t, &sft)
			unchanged(t, q.path("sft", folder.FinalDir), imitated)
			rl := q.rlConfig()
			rl.Agent.Name = "vowels" // a model that has imitated so little earns nothing in the shop, and without a difference there is no gradient
			rl.Rollout.BatchSize, rl.Rollout.Samples, rl.Train.BatchSize, rl.Rollout.MaxNewTokens, rl.Engine.Threads = 2, 3, 3, 4, 1
			rl.Train.Steps, rl.Actor.WarmupSteps, rl.Agent.MaxTurns, rl.Eval.Steps, rl.Eval.MaxSamples = 2, 1, 2, 2, 2
			runRL(t, &rl)
			if names := alarms(t, rl.Ckpt.Path); len(names) > 0 {
				t.Errorf("raised %q", names)
			}
			unchanged(t, q.path("rl", folder.LastDir), reinforced)
		})
	}
}

// smallQuickstart has written its data and its model.
func smallQuickstart(t *testing.T) *quickstart {
	t.Helper()
	q := &quickstart{QuickstartConfig: QuickstartConfig{Out: t.TempDir(), Threads: 1}}
	for name, rows := range map[string]iter.Seq[any]{
		"demos.jsonl": few(demos(0), 32), "prompts.jsonl": shopTasks(shop.Train, 0, 16), "held_out.jsonl": shopTasks(shop.HeldOut, 0, 8),
	} {
		if err := writeRows(q.path(name), rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := models.Init(models.InitConfig{Out: q.path("init"), Shape: models.TinyShape(), Texts: few(demoTexts(0), 40), VocabSize: 400}); err != nil {
		t.Fatal(err)
	}
	return q
}

func few[T any](all iter.Seq[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range all {
			if n--; n < 0 || !yield(v) {
				return
			}
		}
	}
}

// unchanged compares the bits of a model's weights with those that the documentation was measured with.
func unchanged(t *testing.T, model, want string) {
	t.Helper()
	data := read(t, filepath.Join(model, "model.safetensors"))
	tensors := data[8+binary.LittleEndian.Uint64(data):] // behind the header
	sum := sha256.Sum256(tensors)
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("%s: weights %s, want %s\nnumeric results changed: if on purpose, raise the numeric epoch and re-measure README.md and docs/quickstart.md", filepath.Base(filepath.Dir(model)), got, want)
	}
}

// TestPagesAgree compares every result that both README.md and docs/quickstart.md print.
func TestPagesAgree(t *testing.T) {
	readme, page := string(read(t, "../README.md")), string(read(t, "../docs/quickstart.md"))
	for _, seed := range []string{"0", "1", "2"} {
		front, behind, control := row(t, readme, seed), row(t, page, seed), row(t, page, "control "+seed)
		equal(t, "seed "+seed+" after RL", front[2], behind[7])
		equal(t, "seed "+seed+" after RL, greedy", front[4], behind[8])
		equal(t, "seed "+seed+" control", front[5], control[7])
		equal(t, "seed "+seed+" control's base", behind[1], control[1])
	}
	front, behind := row(t, readme, "0"), row(t, page, "0")
	for i, pattern := range []string{`after step 0: ([0-9.]+) %`, `after step 40: ([0-9.]+) %`} {
		equal(t, pattern, part(t, readme, pattern, 1), behind[[]int{1, 6}[i]])
	}
	for i, pattern := range []string{`at temperature 1 +([0-9.]+) % +([0-9.]+) %`, `greedy +([0-9.]+) % +([0-9.]+) %`} {
		equal(t, pattern, part(t, readme, pattern, 1), front[1+2*i])
		equal(t, pattern, part(t, readme, pattern, 2), front[2+2*i])
	}
}

// row gives the numbers of a table's row by its first cell, without unit and emphasis.
func row(t *testing.T, page, name string) []string {
	t.Helper()
	line := part(t, page, `(?m)^\| (`+name+` \|.*)\|$`, 1)
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.Trim(cells[i], " *%")
	}
	if !slices.ContainsFunc(cells[1:], func(c string) bool { return c != "" }) {
		t.Fatalf("row %q: %q", name, line)
	}
	return cells
}

func part(t *testing.T, page, pattern string, group int) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no %s", pattern)
	}
	return found[group]
}

func equal(t *testing.T, what, a, b string) {
	t.Helper()
	if a != b || a == "" {
		t.Errorf("%s: README.md says %q and docs/quickstart.md %q", what, a, b)
	}
}

// measureVar asks for the measurement itself: three quickstarts and their controls, some minutes.
const measureVar = "MOLT_TEST_QUICKSTART"

// TestPagesTellTheTruth runs what the pages report.
func TestPagesTellTheTruth(t *testing.T) {
	if os.Getenv(measureVar) == "" {
		t.Skip("set " + measureVar + "=1 to run the quickstarts that the pages report")
	}
	readme, page := string(read(t, "../README.md")), string(read(t, "../docs/quickstart.md"))
	for seed := range uint64(3) {
		name := fmt.Sprint(seed)
		front, behind, control := row(t, readme, name), row(t, page, name), row(t, page, "control "+name)
		r, curve := measured40(t, QuickstartConfig{Seed: seed, Out: filepath.Join(t.TempDir(), "q")})
		measuredAs(t, front, 1, r.Base, r.Final, r.BaseGreedy, r.FinalGreedy)
		measuredAs(t, behind, 1, curve...)
		r, curve = measured40(t, QuickstartConfig{Seed: seed, Control: true, Out: filepath.Join(t.TempDir(), "q")})
		measuredAs(t, front, 5, r.Final)
		measuredAs(t, control, 1, append(curve, r.Final, r.FinalGreedy)...)
	}
}

// measured40 gives the result of a quickstart, and held-out success before it and after 4, 8, 12, 20 and 40 steps.
func measured40(t *testing.T, c QuickstartConfig) (*QuickstartResult, []float64) {
	t.Helper()
	r, err := Quickstart(t.Context(), c, leg.View{Command: "again"})
	if err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Salvage(filepath.Join(r.Run, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var curve []float64
	for _, e := range metrics.Of[metrics.EvalDone](records) {
		if slices.Contains([]int64{0, 4, 8, 12, 20, 40}, e.Step) {
			curve = append(curve, e.PassAt1)
		}
	}
	return r, curve
}

// measuredAs compares fractions with the percentages of a row, from a column on.
func measuredAs(t *testing.T, row []string, from int, values ...float64) {
	t.Helper()
	for i, v := range values {
		if got := fmt.Sprintf("%.1f", 100*v); got != row[from+i] {
			t.Errorf("row %s, column %d: measured %s, the page says %s", row[0], from+i, got, row[from+i])
		}
	}
}
