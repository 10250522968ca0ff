package weights

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// state is a checkpoint of a step, about size bytes large.
func state(step int64, size int) Checkpoint {
	data := make([]float32, size/4)
	for i := range data {
		data[i] = float32(step) + float32(i)/8
	}
	return Checkpoint{
		Step:    step,
		Tensors: []Tensor{{"w", []int{len(data)}, data}, {"w.m", []int{1}, []float32{-0.5}}},
		State:   fmt.Appendf(nil, `{"step":%d,"loss":0.1}`, step),
	}
}

func save(t testing.TB, dir, name string, c Checkpoint) {
	t.Helper()
	if _, err := WriteCheckpoint(dir, name, c); err != nil {
		t.Fatal(err)
	}
}

// latest closes what it finds and returns its name, "" when there is nothing valid.
func latest(t testing.TB, dir string) (name string, warnings []string) {
	t.Helper()
	s, warnings, err := Latest(dir)
	if err != nil {
		return "", warnings
	}
	defer s.Close()
	return s.Name, warnings
}

func TestCheckpointRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "checkpoints")
	if _, _, err := Latest(dir); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("missing folder: %v, want ErrNoCheckpoint", err)
	}
	want := state(12, 4000)
	save(t, dir, "step-9", state(9, 100))
	save(t, dir, "step-12", want)
	save(t, dir, "best", state(10, 100))
	s, warnings, err := Latest(dir)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	defer s.Close()
	if s.Name != "step-12" || s.Step() != 12 || string(s.State) != string(want.State) || s.Manifest.Fingerprint != Fingerprint(want.Tensors) {
		t.Errorf("got %s at step %d with %s", s.Name, s.Step(), s.State)
	}
	for _, w := range want.Tensors {
		if got, err := s.Tensor(w.Name); err != nil || !slices.Equal(got.Data, w.Data) {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
	if _, err := WriteCheckpoint(dir, "step-12", want); err == nil || !strings.Contains(err.Error(), "a valid checkpoint of this name exists") {
		t.Errorf("overwriting: %v", err)
	}
}

func TestCheckpointRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, nil)
	for _, c := range []struct {
		dir, name string
		spoil     func(*Checkpoint)
		want      string
	}{
		{dir, "", nil, "no name for a checkpoint"},
		{dir, "../x", nil, "no name for a checkpoint"},
		{dir, ".x", nil, "no name for a checkpoint"},
		{dir, "x.damaged", nil, "no name for a checkpoint"},
		{dir, "x", func(c *Checkpoint) { c.State = []byte("{") }, "state is not JSON"},
		{dir, "x", func(c *Checkpoint) { c.State = nil }, "state is not JSON"},
		{dir, "x", func(c *Checkpoint) { c.Step = -1 }, "step -1 is negative"},
		{dir, "x", func(c *Checkpoint) { c.Tensors[0].Data[3] = float32(inf()) }, `tensor "w": value 3 is +Inf`},
		{file, "x", nil, "not a directory"},
	} {
		chk := state(1, 100)
		if c.spoil != nil {
			c.spoil(&chk)
		}
		if _, err := WriteCheckpoint(c.dir, c.name, chk); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.name, err, c.want)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("something was left behind: %v", entries)
	}
}

// TestDamagedCheckpoints: whatever happens to the newest one, the previous is found, and nothing is deleted.
func TestDamagedCheckpoints(t *testing.T) {
	cut := func(name string, keep int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			data, err := os.ReadFile(filepath.Join(path, name))
			if err != nil {
				t.Fatal(err)
			}
			if keep < 0 {
				keep = len(data) / 2
			}
			put(t, filepath.Join(path, name), data[:keep])
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"weights cut":      cut(tensorsName, -1),
		"weights empty":    cut(tensorsName, 0),
		"state cut":        cut(stateName, -1),
		"manifest cut":     cut(manifestName, -1),
		"manifest empty":   cut(manifestName, 0),
		"manifest missing": func(t *testing.T, path string) { remove(t, path, manifestName) },
		"weights missing":  func(t *testing.T, path string) { remove(t, path, tensorsName) },
		"state missing":    func(t *testing.T, path string) { remove(t, path, stateName) },
		"extra file":       func(t *testing.T, path string) { put(t, filepath.Join(path, "evil.py"), nil) },
		"weights swapped": func(t *testing.T, path string) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "step-1", tensorsName))
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(path, tensorsName), data)
		},
		"empty folder": func(t *testing.T, path string) { remove(t, path, manifestName, stateName, tensorsName) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, dir, "step-1", state(1, 400))
			save(t, dir, "step-2", state(2, 400))
			damage(t, filepath.Join(dir, "step-2"))
			got, warnings := latest(t, dir)
			if got != "step-1" || len(warnings) != 1 || !strings.Contains(warnings[0], "step-2") {
				t.Errorf("got %q with %q", got, warnings)
			}
			if _, _, err := Prune(dir, 1, 1); err != nil {
				t.Fatal(err)
			}
			if got, _ := latest(t, dir); got != "step-1" {
				t.Errorf("after pruning: got %q; the last valid one must stay", got)
			}
		})
	}
}

func TestAllDamaged(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "step-1", state(1, 400))
	remove(t, filepath.Join(dir, "step-1"), stateName)
	if _, warnings, err := Latest(dir); err == nil || errors.Is(err, ErrNoCheckpoint) || len(warnings) != 1 || !strings.Contains(err.Error(), "none of 1 is valid") {
		t.Errorf("got %v %q: a run must not start afresh over damaged checkpoints", err, warnings)
	}
	save(t, dir, "step-1", state(1, 800))
	if got, _ := latest(t, dir); got != "step-1" {
		t.Error("the step was not written again")
	}
	if _, err := os.Stat(filepath.Join(dir, "step-1.damaged")); err != nil {
		t.Error("the damaged checkpoint was not set aside")
	}
}

func TestCheckpointFlippedBits(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "c", state(1, 400))
	path := filepath.Join(dir, "c")
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{manifestName, stateName, tensorsName} {
		file := filepath.Join(path, name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			bit := byte(1) << r.IntN(8)
			data[i] ^= bit
			put(t, file, data)
			if s, err := OpenCheckpoint(path); err == nil {
				s.Close()
				t.Errorf("%s: bit %#x of byte %d flipped and nobody noticed", name, bit, i)
			}
			data[i] ^= bit
		}
		put(t, file, data)
	}
}

// TestPrune holds the literal cases of the original: reference/molt.md §3.14, in units of 1000 bytes.
func TestPrune(t *testing.T) {
	const unit = 10_000
	type have struct {
		name string
		step int64
		size int
	}
	for _, c := range []struct {
		name     string
		have     []have
		keep     int
		maxBytes int64
		protect  []string
		left     []string
		warned   bool
	}{
		{"oldest goes", []have{{"step-1", 1, 10}, {"step-2", 2, 10}, {"step-3", 3, 10}}, 0, 25, nil, []string{"step-2", "step-3"}, false},
		{"best and current stay", []have{{"step-1", 1, 5}, {"best", 2, 10}, {"step-5", 5, 10}}, 0, 15, []string{"best"}, []string{"best", "step-5"}, true},
		{"satisfied", []have{{"step-1", 1, 5}, {"step-5", 5, 5}}, 0, 15, nil, []string{"step-1", "step-5"}, false},
		{"current never", []have{{"step-1", 1, 10}}, 0, 1, nil, []string{"step-1"}, true},
		{"number", []have{{"step-8", 8, 1}, {"step-9", 9, 1}, {"step-10", 10, 1}}, 2, 0, nil, []string{"step-10", "step-9"}, false},
		{"number with best", []have{{"step-8", 8, 1}, {"step-9", 9, 1}, {"step-10", 10, 1}}, 2, 0, []string{"step-8"}, []string{"step-10", "step-8"}, false},
		{"no limits", []have{{"step-8", 8, 1}, {"step-9", 9, 1}}, 0, 0, nil, []string{"step-8", "step-9"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, h := range c.have {
				save(t, dir, h.name, state(h.step, h.size*unit-1500)) // manifest and header take about 1500
			}
			if err := os.Mkdir(filepath.Join(dir, ".step-3.partial"), 0o777); err != nil {
				t.Fatal(err)
			}
			_, warning, err := Prune(dir, c.keep, c.maxBytes*unit, c.protect...)
			if err != nil || (warning != "") != c.warned {
				t.Errorf("warning %q, error %v", warning, err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left %q, want %q", left, c.left)
			}
		})
	}
	if removed, warning, err := Prune(filepath.Join(t.TempDir(), "none"), 1, 1); err != nil || warning != "" || len(removed) > 0 {
		t.Errorf("missing folder: %q %q %v", removed, warning, err)
	}
}
