package metrics

import (
	"bytes"
	"encoding/binary"
	"encoding/json/v2"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// history is a small run of two legs: the second one starts over at step 2.
func writeHistory(t *testing.T, dir string, sink func() Sink) {
	path := filepath.Join(dir, "events.jsonl")
	l := createLog(t, path, sink())
	l.Emit(RunStarted{Name: "a", Config: "seed: 7\n", Command: "molt rl"})
	for step := range int64(3) {
		l.Emit(SFTStep{Step: step + 1, Loss: 3 - float64(step), GradNorm: 0.5, LearningRate: 0.003, Tokens: 100, WallSeconds: 0.5})
	}
	l.Emit(EvalDone{Name: "held_out", Temperature: 1, N: 4, Samples: 2, PassAt1: 0.25, PassAtK: 0.5})
	step := func(n int64, reward ...float64) {
		l.Emit(StepDone{Step: n, Groups: 4, Filtered: map[string]int{"no signal": 1}, Reward: Describe(reward), Loss: -0.125 * float64(n)})
	}
	step(1, 0, 0, 0, 1)
	saved := l.Emit(CheckpointSaved{Step: 1, Keep: "last"})
	step(2, 1, 1, 1, 1)
	step(3, 1, 1, 1, 1)
	closeOrFail(t, l)

	l, _ = resumeLog(t, path, saved, 1, sink())
	l.Emit(RunStarted{Name: "a", Config: "seed: 7\n", Command: "molt rl", ResumedFrom: "step-1"})
	step(2, 0, 0.5, 1, 1)
	l.Emit(Alarm{Name: "entropy-gone", Step: 2, Sentence: "The entropy is 0."})
	l.Emit(EvalDone{Step: 2, Name: "held_out", Temperature: 1, N: 4, Samples: 2, PassAt1: 0.75, PassAtK: 1})
	closeOrFail(t, l)
}

func eventFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "events.out.tfevents.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(name)] = text
	}
	return files
}

// The event files are those that the real TensorBoard has read; TestTensorBoardReadIt says what it saw.
func TestTensorBoardFiles(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, func() Sink { return NewTensorBoard(filepath.Join(dir, "tb")) })
	got := eventFiles(t, filepath.Join(dir, "tb"))
	if *rewrite {
		for name := range eventFiles(t, "testdata/tensorboard") {
			if err := os.Remove(filepath.Join("testdata/tensorboard", name)); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range got {
			golden(t, filepath.Join("tensorboard", name), text)
		}
		return
	}
	want := eventFiles(t, "testdata/tensorboard")
	if len(want) != 3 {
		t.Errorf("%d golden files, want 3: two of run, one of sft", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got, -rewrite accepts, then run scripts/goldens/tensorboard/run.sh):\n%s", diff)
	}
}

// read.json is what the real TensorBoard, run by scripts/goldens/tensorboard, found in the files.
func TestTensorBoardReadIt(t *testing.T) {
	text, err := os.ReadFile("testdata/tensorboard/read.json")
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Scalars    map[string][][2]float64 `json:"scalars"`
		Histograms map[string][][2]any     `json:"histograms"`
		Texts      map[string][][2]any     `json:"texts"`
	}
	var runs map[string]seen
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	run := runs["run"].Scalars
	for tag, want := range map[string][][2]float64{
		"eval/held_out/t1/pass_at_1": {{0, 0.25}, {2, 0.75}},
		"eval/held_out/t1/pass_at_k": {{0, 0.5}, {2, 1}},
		"reward/mean":                {{1, 0.25}, {2, 0.625}}, // steps 2 and 3 of the first leg are forgotten
		"train/loss":                 {{1, -0.125}, {2, -0.25}},
		"train/groups_trained":       {{1, 0.75}, {2, 0.75}},
	} {
		if diff := cmp.Diff(want, run[tag]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tag, diff)
		}
	}
	if diff := cmp.Diff([][2]float64{{1, 3}, {2, 2}, {3, 1}}, runs["sft"].Scalars["sft/loss"]); diff != "" {
		t.Errorf("sft/loss (-want +got):\n%s", diff)
	}
	histograms := runs["run"].Histograms["distribution/reward"]
	if len(histograms) != 2 {
		t.Fatalf("%d histograms of the reward", len(histograms))
	}
	h := histograms[0][1].(map[string]any)
	if h["num"] != 4.0 || h["sum"] != 1.0 || h["min"] != 0.0 || h["max"] != 1.0 {
		t.Errorf("histogram %v", h)
	}
	texts := runs["run"].Texts
	if got := texts["run/config"]; len(got) == 0 || got[0][1] != "```yaml\nseed: 7\n\n```" {
		t.Errorf("config %q", got)
	}
	if got := texts["alarm/entropy-gone"]; len(got) != 1 || got[0][0] != 2.0 || got[0][1] != "The entropy is 0." {
		t.Errorf("alarm %q", got)
	}
}

// TestRecordsAreFramed decodes the framing independently of the writer, with the CRC-32C of RFC 3720 computed bit by bit.
func TestRecordsAreFramed(t *testing.T) {
	if got := crc32c([]byte("123456789")); got != 0xe3069283 {
		t.Fatalf("the test's CRC is wrong: %x", got)
	}
	payloads := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("xyz"), 1000)}
	var file []byte
	for _, p := range payloads {
		file = frame(file, p)
	}
	for _, want := range payloads {
		length := binary.LittleEndian.Uint64(file)
		check(t, file[:8], binary.LittleEndian.Uint32(file[8:]))
		got := file[12 : 12+length]
		check(t, got, binary.LittleEndian.Uint32(file[12+length:]))
		if !bytes.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
		file = file[16+length:]
	}
	if len(file) != 0 {
		t.Errorf("%d bytes are left", len(file))
	}
}

func check(t *testing.T, data []byte, masked uint32) {
	t.Helper()
	crc := crc32c(data)
	if want := (crc>>15 | crc<<17) + 0xa282ead8; masked != want {
		t.Errorf("checksum %x, want %x", masked, want)
	}
}

func crc32c(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0x82f63b78&-(crc&1)
		}
	}
	return ^crc
}

func TestMessageSpelling(t *testing.T) {
	got := message(nil).varint(2, 300).double(1, 1).string(3, "hi").float(2, math.NaN())
	want := []byte{0x10, 0xac, 0x02, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x1a, 2, 'h', 'i', 0x15, 0, 0, 0xc0, 0x7f}
	if !slices.Equal(got, want) {
		t.Errorf("% x\nwant % x", []byte(got), want)
	}
}

func TestTensorBoardThatCannotWriteIsOneAlarm(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "tb"), nil) // a file where the folder should be
	l := createLog(t, filepath.Join(dir, "events.jsonl"), NewTensorBoard(filepath.Join(dir, "tb")))
	l.Emit(SFTStep{Step: 1})
	l.Emit(SFTStep{Step: 2})
	closeOrFail(t, l)
	n := 0
	for range Of[Alarm](readOrFail(t, filepath.Join(dir, "events.jsonl"))) {
		n++
	}
	if n != 1 {
		t.Errorf("%d alarms", n)
	}
}

func TestSeriesNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range slices.Concat(StepSeries, EvalSeries("held_out", 1), EvalSeries("held_out", 0)) {
		if seen[s.Name] || s.Title == "" || s.About == "" {
			t.Errorf("series %q: twice, or without words", s.Name)
		}
		seen[s.Name] = true
	}
}
