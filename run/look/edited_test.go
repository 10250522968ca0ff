package look

import (
	"encoding/json/v2"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molt/metrics"
	"molt/metrics/testdata/demo"
	"molt/web"
)

// hostile are what a number of an edited file may be.
var hostile = []string{"-1", "0", "9223372036854775807", "-9223372036854775808", "1e308", "-1e308", `"NaN"`, `"Infinity"`, "null", "65536", "[]", `"x"`}

// TestEditedRuns looks at a run whose events and rollouts somebody edited, checksums taken off, in every way there is: nothing
// panics. MOLT_EDITS says how often.
func TestEditedRuns(t *testing.T) {
	edits := 30
	if n, err := strconv.Atoi(os.Getenv("MOLT_EDITS")); err == nil {
		edits = n
	}
	dir := t.TempDir()
	if err := demo.Write(dir, demo.Options{Seed: 3, SFTSteps: 2, Steps: 2, Async: true}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range edits {
		again := t.TempDir()
		for _, name := range []string{demo.Events, demo.Rollouts} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(again, name), edited(data, random), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if l, err := At(again); err == nil {
			lookAtAll(t, l)
			read += len(l.Rollouts)
		}
	}
	if read == 0 {
		t.Error("no edited rollout was read, so nothing was shown")
	}
}

var (
	seal   = regexp.MustCompile(`,"crc":"[0-9a-f]{8}"`)
	number = regexp.MustCompile(`-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?`)
)

// edited changes a few numbers, and keeps their length in bytes where it can: rollouts are found by their place.
func edited(data []byte, random *rand.Rand) []byte {
	data = seal.ReplaceAll(data, nil)
	for range 1 + random.IntN(3) {
		found := number.FindAllIndex(data, -1)
		at := found[random.IntN(len(found))]
		value := hostile[random.IntN(len(hostile))]
		if length := at[1] - at[0]; len(value) < length {
			value += strings.Repeat(" ", length-len(value))
		}
		data = slices.Concat(data[:at[0]], []byte(value), data[at[1]:])
	}
	return data
}

// lookAtAll is every view of a run.
func lookAtAll(t *testing.T, l *Run) {
	if _, err := json.Marshal(l.Outline()); err != nil && !strings.Contains(err.Error(), "NaN") && !strings.Contains(err.Error(), "Inf") {
		t.Errorf("outline: %v", err)
	}
	metrics.Summary(l.Records, 80)
	metrics.RolloutTable(l.Rollouts, 80)
	for _, name := range []string{"best", "worst"} {
		r, err := l.Rollout(name)
		if err != nil {
			continue
		}
		metrics.Transcript(r, 80)
		metrics.TokenTable(r, 120)
		for i := range min(r.Tokens.Len(), 8) {
			if facts, err := Token(r, i); err == nil {
				_ = facts.String()
			}
		}
	}
	if group, err := l.Group(l.WidestGroup()); err == nil {
		metrics.Comparison(group, 80)
	}
	if err := web.Report(io.Discard, l.Records, l.Rollouts, web.Options{}); err != nil {
		t.Errorf("report: %v", err)
	}
	terminal := metrics.NewTerminal(io.Discard, metrics.Style{})
	for _, r := range l.Records {
		if err := terminal.Write(r); err != nil {
			t.Errorf("terminal: %v", err)
		}
	}
}
