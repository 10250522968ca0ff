package metrics

import (
	"encoding/json/v2"
	"errors"
	"os"
	"testing"
	"time"
)

func encodeOrFail(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v, options)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func unmarshal(text []byte, v any) error { return json.Unmarshal(text, v, options) }

// ticking is a clock that moves by one second each time it is read.
func ticking() func() time.Time {
	now := time.Date(2026, 11, 30, 18, 25, 3, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func createLog(t *testing.T, path string, sinks ...Sink) *Log {
	t.Helper()
	l, err := Create(path, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	l.Now = ticking()
	return l
}

func resumeLog(t *testing.T, path string, toSeq, step int64, sinks ...Sink) (*Log, []Record) {
	t.Helper()
	l, history, err := Resume(path, toSeq, step, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	l.Now = ticking()
	return l, history
}

func closeOrFail(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func readOrFail(t *testing.T, path string) []Record {
	t.Helper()
	records, _, err := readAll(path)
	if err != nil {
		t.Fatal(err)
	}
	return Fold(records)
}

func mustWrite(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// steps lists the RL steps that are left in the records.
func stepsOf(records []Record) []int64 {
	var steps []int64
	for _, e := range Of[StepDone](records) {
		steps = append(steps, e.Step)
	}
	return steps
}

// recorder is a sink that remembers.
type recorder struct {
	records []Record
	history []Record
	fail    error
	panics  bool
	closed  int
}

func (r *recorder) Name() string { return "recorder" }

func (r *recorder) Write(rec Record) error {
	if r.panics {
		panic("sink is broken")
	}
	r.records = append(r.records, rec)
	return r.fail
}

func (r *recorder) Replay(history []Record) error {
	r.history = history
	return nil
}

func (r *recorder) Close() error {
	r.closed++
	return nil
}

var errDisk = errors.New("no space left on device")
