// Disks that are full, files that cannot grow, folders that cannot be written: a sentence that names the path, nothing half
// written, and the same command goes on when there is room again.

package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"
)

// TestFilesThatCannotGrow runs with ever higher limits on the size of a file, until no writer meets the limit. Each failed
// run is resumed without one.
func TestFilesThatCannotGrow(t *testing.T) {
	slow(t)
	c := microRL(t)
	runRL(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	met := map[string]bool{} // files that met the limit
	for _, limit := range limits(t, c.Ckpt.Path) {
		again := *c
		again.Ckpt.Path = t.TempDir()
		out, err := (job{RL: &again, FileLimit: limit}).start(t).output()
		if err == nil {
			t.Logf("%d bytes suffice", limit)
			continue
		}
		met[excused(t, out, again.Ckpt.Path)] = true
		wholeOrAbsent(t, again.Ckpt.Path)
		if finished(again.Ckpt.Path) {
			continue // only what is for people to read was too large
		}
		resumed(t, &again, want)
	}
	for _, name := range []string{folder.ConfigFile, folder.RecordFile, folder.CheckpointsDir, folder.ReportFile} {
		if !met[name] {
			t.Errorf("%s never met the limit; met: %v", name, met)
		}
	}
}

// limits are sizes somewhat below those of the files of a finished run, one for each writer.
func limits(t *testing.T, run string) []uint64 {
	t.Helper()
	newest := filepath.Join(folder.CheckpointsDir, filepath.Base(checkpointsOf(t, run)[0]))
	var sizes []uint64
	for _, name := range []string{
		folder.ConfigFile, folder.RecordFile, folder.EventsFile, folder.RolloutsFile, folder.ReportFile, filepath.Join(newest, "state.json"), filepath.Join(newest, "molt-manifest.json"),
		filepath.Join(newest, "tensors.safetensors"), filepath.Join(folder.BestDir, "model.safetensors"), filepath.Join(folder.LastDir, "tokenizer.json"),
	} {
		size := len(read(t, filepath.Join(run, name)))
		sizes = append(sizes, uint64(size-50-size/10_000*100)) // the report's differs a little from run to run
	}
	return sizes
}

// excused checks that the error names a path below run and a fix, and gives the first part of the path.
func excused(t *testing.T, out, run string) string {
	t.Helper()
	if strings.Contains(out, "goroutine ") || !strings.HasPrefix(out, "error["+string(problem.Resource)+"]: ") {
		t.Fatalf("said %q", out)
	}
	_, rest, ok := strings.Cut(out, run+"/")
	if !ok || !strings.Contains(out, "; ") {
		t.Fatalf("named no path below the run, or no fix: %q", out)
	}
	first, _, _ := strings.Cut(strings.FieldsFunc(rest, func(r rune) bool { return r == ':' || r == ' ' })[0], "/")
	return first
}

// wholeOrAbsent checks that whatever a reader would believe is complete.
func wholeOrAbsent(t *testing.T, run string) {
	t.Helper()
	for _, name := range []string{folder.BestDir, folder.LastDir, folder.FinalDir} {
		if _, err := os.Stat(filepath.Join(run, name)); err == nil {
			if _, err := models.Open(filepath.Join(run, name)); err != nil {
				t.Errorf("half written: %v", err)
			}
		}
	}
	for _, dir := range checkpointsOf(t, run) {
		s, err := weights.OpenCheckpoint(dir)
		if err != nil {
			t.Errorf("half written: %v", err)
			continue
		}
		s.Close()
	}
	if text, err := os.ReadFile(filepath.Join(run, folder.RecordFile)); err == nil && !json.Valid(text) {
		t.Errorf("half written: %s", text)
	}
}

// resumed runs the same command again; only the alarms about what could not be written may differ.
func resumed(t *testing.T, c *recipe.Config, want traces) {
	t.Helper()
	runRL(t, c)
	got := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	got.Events, want.Events = nil, nil
	got.same(t, want)
}

// TestFewOpenFiles lets every open fail in turn: from none that may be open to as many as a run needs.
func TestFewOpenFiles(t *testing.T) {
	slow(t)
	c := microRL(t)
	runRL(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	for limit := uint64(3); ; limit++ {
		again := *c
		again.Ckpt.Path = t.TempDir()
		out, err := (job{RL: &again, OpenLimit: limit}).start(t).output()
		if err == nil {
			t.Logf("%d files suffice", limit)
			if limit < 6 {
				t.Error("the limit was never met")
			}
			return
		}
		if limit > 60 {
			t.Fatalf("%d open files are not enough: %s", limit, out)
		}
		if strings.Contains(out, "goroutine ") || !strings.Contains(out, "too many open files") {
			t.Fatalf("limit %d: said %q", limit, out)
		}
		wholeOrAbsent(t, again.Ckpt.Path)
		if !finished(again.Ckpt.Path) {
			resumed(t, &again, want)
		}
	}
}

// disk mounts a file system of a size that the test may change.
func disk(t *testing.T) (dir string, grow func(kib int)) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("no disk of a chosen size can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir, func(kib int) {
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dk", kib)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk runs on ever larger disks; each full one grows afterwards and the run goes on.
func TestFullDisk(t *testing.T) {
	slow(t)
	c := microRL(t)
	runRL(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	fillDisks(t, func(path string) error {
		again := *c
		again.Ckpt.Path = path
		_, err := RL(t.Context(), &again, recipe.Settings(&again), leg.View{Command: "again"})
		return err
	}, want, folder.BestDir, folder.LastDir)
}

func TestFullDiskOfSFT(t *testing.T) {
	slow(t)
	c := microSFT(t)
	runSFT(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.FinalDir)
	fillDisks(t, func(path string) error {
		again := *c
		again.Ckpt.Path = path
		_, err := finetune.Run(t.Context(), &again, recipe.Settings(&again), leg.View{Command: "again"})
		return err
	}, want, folder.FinalDir)
}

// fillDisks starts a run on each disk, and again when the disk has grown. Only what is for people to read may differ then.
func fillDisks(t *testing.T, start func(path string) error, want traces, models ...string) {
	t.Helper()
	dir, grow := disk(t)
	run := filepath.Join(dir, "run")
	full := 0
	for kib := 4; ; kib += 4 + kib/4 {
		grow(kib)
		err := start(run)
		if err == nil {
			t.Logf("%d KiB suffice; %d disks were full", kib, full)
			break
		}
		full++
		if p, ok := errors.AsType[*problem.Problem](err); !ok || p.Code != problem.Resource || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), dir) {
			t.Fatalf("%d KiB: %v", kib, err)
		}
		wholeOrAbsent(t, run)
		grow(1 << 14)
		if !finished(run) {
			if err := start(run); err != nil {
				t.Fatal(err)
			}
			got := tracesOf(t, run, models...)
			got.Events, want.Events = nil, nil
			got.same(t, want)
		}
		if err := os.RemoveAll(run); err != nil {
			t.Fatal(err)
		}
	}
	if full < 5 {
		t.Errorf("only %d disks were full", full)
	}
}

// TestDiskThatTurnsReadOnly in the middle of a run.
func TestDiskThatTurnsReadOnly(t *testing.T) {
	disk, grow := disk(t)
	c := microRL(t)
	whole := *c
	runRL(t, &whole)
	c.Ckpt.Path = filepath.Join(disk, "run")
	half(t, c, "3")
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Resource, "the file system is read-only")
	grow(1 << 14)
	runRL(t, c)
	tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, tracesOf(t, whole.Ckpt.Path, folder.BestDir, folder.LastDir))
}

// TestFolderOfSomebodyElse: root may write everywhere, so the thread gives its rights up for the call.
func TestFolderOfSomebodyElse(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(parent, 0o755) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	_, err := folder.Open(filepath.Join(parent, "run"), "rl", nil, nil)
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("got %v", err)
	}
	wantProblem(t, err, problem.Resource, "cannot create the run folder: permission denied")
}
