package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/run/machine"
	"molt/run/problem"
	"molt/run/recipe"
)

func open(t *testing.T, path, command, seed string) (*Folder, error) {
	t.Helper()
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	if err := recipe.Find(settings, "train.seed").Set(seed, "flag"); err != nil {
		t.Fatal(err)
	}
	return Open(path, command, settings, map[string]string{"data": "abc"})
}

func wantProblem(t *testing.T, err error, code problem.Code, text string) {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

func TestFolderLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "one")
	f, err := open(t, path, "rl", "1")
	if err != nil {
		t.Fatal(err)
	}
	if !f.Fresh || f.record.Leg != 1 {
		t.Errorf("fresh %v, leg %d", f.Fresh, f.record.Leg)
	}
	_, err = open(t, path, "rl", "1")
	wantProblem(t, err, problem.Busy, "another run holds this folder")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	_, err = open(t, path, "rl", "2")
	wantProblem(t, err, problem.RunFolder, `train.seed was "1" and is now "2"`)
	_, err = open(t, path, "sft", "1")
	wantProblem(t, err, problem.RunFolder, "it is a run of `molt rl`")

	f, err = open(t, path, "rl", "1")
	if err != nil {
		t.Fatal(err)
	}
	if f.Fresh || f.record.Leg != 2 {
		t.Errorf("fresh %v, leg %d; want a resumed run", f.Fresh, f.record.Leg)
	}
	if err := errors.Join(f.Finish(nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = open(t, path, "rl", "1")
	wantProblem(t, err, problem.RunFolder, "the run here is finished")
}

// TestFolderOfAnotherEpoch: two programs that compute other bits do not share a run.
func TestFolderOfAnotherEpoch(t *testing.T) {
	path := t.TempDir()
	f, err := open(t, path, "rl", "1")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, RecordFile)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), fmt.Sprintf(`"numeric_epoch": %d`, machine.NumericEpoch), `"numeric_epoch": 999`, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, path, "rl", "1")
	wantProblem(t, err, problem.RunFolder, fmt.Sprintf("of numeric epoch 999 and this program of %d: they compute other bits", machine.NumericEpoch))
	if r := (&record{Epoch: 1}).digest(); r == (&record{Epoch: 2}).digest() {
		t.Errorf("%s is the digest of two epochs", r)
	}
}

func TestFolderRefusesWhatIsNotARun(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, path, "rl", "1")
	wantProblem(t, err, problem.RunFolder, "thesis.tex")
	if entries, _ := os.ReadDir(path); len(entries) != 1 {
		t.Errorf("%d entries; want nothing written", len(entries))
	}
}

func TestFolderRefusesDamagedRecord(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, RecordFile), []byte("{half"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, path, "rl", "1")
	wantProblem(t, err, problem.RunFolder, "cannot read what this run is")
}

func TestFolderWithoutPermission(t *testing.T) {
	blocker := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, filepath.Join(blocker, "run"), "rl", "1")
	wantProblem(t, err, problem.Resource, "cannot create the run folder")
	_, err = open(t, "", "rl", "1")
	wantProblem(t, err, problem.Setting, "--ckpt.path")
}
