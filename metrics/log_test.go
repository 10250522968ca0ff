package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogNumbersAndKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := createLog(t, path)
	for i, e := range oneOfEach {
		if seq := l.Emit(e); seq != int64(i+1) {
			t.Errorf("event %d got number %d", i+1, seq)
		}
	}
	closeOrFail(t, l)
	records, whole, err := readAll(path)
	if err != nil || len(records) != len(oneOfEach) {
		t.Fatalf("%d events, %v", len(records), err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != whole {
		t.Errorf("size %v, whole lines %d: %v", info.Size(), whole, err)
	}
}

func TestCreateRefusesARunThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	closeOrFail(t, createLog(t, path))
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
}

func TestResumeFoldsOutDiscardedWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := createLog(t, path)
	l.Emit(RunStarted{Name: "a"})
	l.Emit(StepDone{Step: 1})
	saved := l.Emit(CheckpointSaved{Step: 1, Keep: "last"})
	l.Emit(StepDone{Step: 2})
	l.Emit(Alarm{Name: "of the lost step"})
	closeOrFail(t, l)

	sink := &recorder{}
	l, history := resumeLog(t, path, saved, 1, sink)
	if diff := cmp.Diff(history, sink.history); diff != "" {
		t.Errorf("the sink replays another history:\n%s", diff)
	}
	if got := stepsOf(sink.history); !cmp.Equal(got, []int64{1}) {
		t.Errorf("the sink's history has steps %v", got)
	}
	l.Emit(RunStarted{Name: "a", ResumedFrom: "step-1"})
	l.Emit(StepDone{Step: 2})
	saved = l.Emit(CheckpointSaved{Step: 2, Keep: "last"})
	l.Emit(StepDone{Step: 3})
	closeOrFail(t, l)

	l, _ = resumeLog(t, path, saved, 2)
	l.Emit(StepDone{Step: 3})
	l.Emit(RunEnded{Outcome: "finished"})
	closeOrFail(t, l)

	records := readOrFail(t, path)
	if got := stepsOf(records); !cmp.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("steps %v", got)
	}
	var kinds []string
	for _, r := range records {
		kinds = append(kinds, r.Event.Kind())
	}
	want := strings.Fields("run_started step_done checkpoint_saved rewound run_started step_done checkpoint_saved rewound step_done run_ended")
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if last := records[len(records)-1]; last.Leg != 3 || last.Seq != 13 {
		t.Errorf("the last event is number %d of leg %d", last.Seq, last.Leg)
	}
	if diff := cmp.Diff(records, Fold(records)); diff != "" {
		t.Errorf("folding twice differs:\n%s", diff)
	}
}

// TestKilledAnywhere cuts the file after every byte: it can be read, resumed, and nothing whole is lost.
func TestKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	l := createLog(t, path)
	for _, text := range []string{"a", "b", "c"} {
		l.Emit(Note{text})
	}
	closeOrFail(t, l)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) {
		mustWrite(t, path, text[:cut])
		whole := bytes.Count(text[:cut], []byte("\n"))
		if got := len(readOrFail(t, path)); got != whole {
			t.Fatalf("cut at %d: %d events read, %d are whole", cut, got, whole)
		}
		l, _ := resumeLog(t, path, int64(whole), int64(whole))
		l.Emit(Note{"d"})
		closeOrFail(t, l)
		// The notes that were whole, the rewind, and the new note.
		if got := len(readOrFail(t, path)); got != whole+2 {
			t.Fatalf("cut at %d: %d events after the resume, %d were whole", cut, got, whole)
		}
	}
}

// TestACutFileIsNoted: whole lines that are gone leave no torn one behind, but the checkpoint knows their numbers.
func TestACutFileIsNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := createLog(t, path)
	for _, text := range []string{"a", "b", "c", "d"} {
		l.Emit(Note{text})
	}
	closeOrFail(t, l)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for whole, want := range map[int]string{4: "", 3: "event 4 is missing", 1: "events 2 to 4 are missing", 0: "events 1 to 4 are missing"} {
		mustWrite(t, path, []byte(strings.Join(strings.SplitAfter(string(text), "\n")[:whole], "")))
		l, _ := resumeLog(t, path, 4, 1)
		l.Emit(StepDone{Step: 2})
		closeOrFail(t, l)
		var noted string
		for r, n := range Of[Note](readOrFail(t, path)) {
			if r.Seq > 4 {
				noted += n.Text
			}
		}
		if (noted == "") != (want == "") || !strings.HasPrefix(noted, want) {
			t.Errorf("%d lines left: noted %q; want %q", whole, noted, want)
		}
	}
}

func TestReadNamesTheBadLine(t *testing.T) {
	good := `{"seq":1,"time":"2026-11-30T18:25:03Z","leg":1,"kind":"note","data":{"text":"x"}}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"not JSON": {good + "garbage\n" + strings.Replace(good, `"seq":1`, `"seq":2`, 1), "line 2 is not an event"},
		"repeat":   {good + good, "line 2 is out of order: seq 1 after 1"},
		"empty":    {"\n", "line 1 is not an event"},
		"too long": {strings.Repeat("x", maxEvent+2) + "\n", "line 1 is longer than"},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		mustWrite(t, path, []byte(c.text))
		if _, _, err := readAll(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryFlippedBitIsFound, in the line where it is; what is whole is read all the same.
func TestEveryFlippedBitIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := createLog(t, path)
	for _, text := range []string{"a", "b", "c"} {
		l.Emit(Note{text})
	}
	closeOrFail(t, l)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range text {
		for _, bit := range []int{at % 8, (at + 3) % 8} {
			damaged := bytes.Clone(text)
			damaged[at] ^= 1 << bit
			if text[at] == '\n' || damaged[at] == '\n' {
				continue // two lines became one, or one two
			}
			mustWrite(t, path, damaged)
			want := fmt.Sprintf("line %d is", 1+bytes.Count(text[:at], []byte("\n")))
			if _, _, err := readAll(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("bit %d of byte %d: %v; want %s", bit, at, err, want)
			}
			records, damage := Salvage(path)
			if len(records) != 2 || damage == nil || !strings.Contains(damage.Error(), want) {
				t.Fatalf("bit %d of byte %d: %d records, %v; want %s", bit, at, len(records), damage, want)
			}
		}
	}
}

func TestSalvage(t *testing.T) {
	event := func(seq int64) string {
		line, err := Record{Seq: seq, Leg: 1, Event: Note{"x"}}.encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	plain := `{"seq":3,"time":"2026-11-30T18:25:03Z","leg":1,"kind":"note","data":{"text":"x"}}` + "\n"
	for name, c := range map[string]struct {
		text   string
		events int
		want   string // "" for no damage
	}{
		"whole":             {event(1) + event(2), 2, ""},
		"torn at the end":   {event(1) + event(2)[:30], 1, ""},
		"nothing":           {"", 0, ""},
		"without checksums": {strings.Replace(plain, "3", "1", 1) + plain, 2, "event 2 is missing before line 2"},
		"garbage":           {event(1) + "garbage\n" + event(2), 2, "line 2 is not an event"},
		"zeros":             {event(1) + strings.Repeat("\x00", 99) + "\n" + event(2), 2, "line 2 is not an event"},
		"too long":          {event(1) + strings.Repeat("x", maxEvent+1) + "\n" + event(2), 2, "line 2 is longer than"},
		"a line is gone":    {event(1) + event(3), 2, "event 2 is missing before line 2"},
		"lines are gone":    {event(1) + event(2) + event(9), 3, "events 3 to 8 are missing before line 3"},
		"the first is gone": {event(2), 1, "event 1 is missing before line 1"},
		"twice":             {event(1) + event(1) + event(2), 2, "line 2 is out of order: seq 1 after 1"},
		"checksum cut off":  {event(1) + event(2) + plain, 2, "line 3 is damaged: it has no checksum"},
		"much":              {strings.Repeat("x\n", 20), 0, "and 12 more"},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		mustWrite(t, path, []byte(c.text))
		records, damage := Salvage(path)
		if len(records) != c.events || records == nil || (damage == nil) != (c.want == "") || damage != nil && !strings.Contains(damage.Error(), c.want) {
			t.Errorf("%s: %d events, %v; want %d, %q", name, len(records), damage, c.events, c.want)
		}
	}
	if records, damage := Salvage(filepath.Join(t.TempDir(), "none")); records != nil || !errors.Is(damage, os.ErrNotExist) {
		t.Errorf("no file: %v, %v", records, damage)
	}
}

func TestFailingSinkLeavesWithOneAlarm(t *testing.T) {
	for name, bad := range map[string]*recorder{"error": {fail: errDisk}, "panic": {panics: true}} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		healthy := &recorder{}
		l := createLog(t, path, bad, healthy)
		for step := range int64(3) {
			l.Emit(StepDone{Step: step + 1})
		}
		closeOrFail(t, l)
		var alarms []string
		for _, a := range Of[Alarm](readOrFail(t, path)) {
			alarms = append(alarms, a.Name)
		}
		if !cmp.Equal(alarms, []string{"sink-failed"}) {
			t.Errorf("%s: alarms %v", name, alarms)
		}
		if len(healthy.records) != 4 || bad.closed != 1 || healthy.closed != 1 {
			t.Errorf("%s: the healthy sink got %d events; closed %d and %d times", name, len(healthy.records), bad.closed, healthy.closed)
		}
	}
}

// fullDisk takes a number of bytes, then part of a line, then nothing until it is freed.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) <= d.room {
		d.room -= len(p)
		return d.Buffer.Write(p)
	}
	n, _ := d.Buffer.Write(p[:d.room])
	d.room = 0
	return n, errDisk
}

func (d *fullDisk) Truncate(size int64) error { d.Buffer.Truncate(int(size)); return nil }
func (d *fullDisk) Sync() error               { return nil }
func (d *fullDisk) Close() error              { return nil }

func TestFullDiskLeavesWholeLinesAndOneAlarm(t *testing.T) {
	disk := &fullDisk{room: 2000}
	sink := &recorder{}
	l := &Log{Now: ticking(), path: "events.jsonl", file: disk, leg: 1, sinks: []Sink{sink}}
	for step := range int64(20) {
		l.Emit(StepDone{Step: step + 1})
	}
	if !errors.Is(l.err, errDisk) {
		t.Errorf("err is %v", l.err)
	}
	disk.room = 1 << 20
	l.Emit(StepDone{Step: 21})
	records, _, err := readRecords(bytes.NewReader(disk.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(records)
	if len(steps) < 2 || steps[len(steps)-1] != 21 {
		t.Errorf("steps on the disk: %v", steps)
	}
	alarms := 0
	for _, a := range Of[Alarm](sink.records) {
		if a.Name != "events-not-written" || a.Severity != Critical {
			t.Errorf("alarm %+v", a)
		}
		alarms++
	}
	if alarms != 1 || len(stepsOf(sink.records)) != 21 {
		t.Errorf("the sink got %d alarms and steps %v", alarms, stepsOf(sink.records))
	}
}
