// A file system whose n-th call fails, for n = 1, 2, … until everything went well. Whatever fails, a target is there
// completely or not at all, what was there before stays, and the error says where.

package weights

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// faultyDisk passes calls through and fails the n-th; from then on it is out of space, or recovers.
type faultyDisk struct {
	osDisk
	n       int
	forever bool // every call after it fails too
	failed  bool
}

func (d *faultyDisk) fails() error {
	d.n--
	if d.n == 0 || d.n < 0 && d.forever {
		d.failed = true
		return &os.PathError{Op: "write", Path: "disk", Err: syscall.ENOSPC}
	}
	return nil
}

func (d *faultyDisk) Mkdir(path string) error { return errors.Join(d.fails(), d.osDisk.Mkdir(path)) }

func (d *faultyDisk) Create(path string) (diskFile, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	f, err := d.osDisk.Create(path)
	return faultyFile{f, d}, err
}

func (d *faultyDisk) Rename(from, to string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.osDisk.Rename(from, to)
}

func (d *faultyDisk) Remove(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.osDisk.Remove(path)
}

func (d *faultyDisk) RemoveAll(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.osDisk.RemoveAll(path)
}

func (d *faultyDisk) SyncDir(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.osDisk.SyncDir(path)
}

type faultyFile struct {
	diskFile
	disk *faultyDisk
}

// Write writes half of p when it fails, as a full disk does.
func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.disk.fails(); err != nil {
		n, _ := f.diskFile.Write(p[:len(p)/2])
		return n, err
	}
	return f.diskFile.Write(p)
}

func (f faultyFile) Sync() error { return errors.Join(f.disk.fails(), f.diskFile.Sync()) }

func (f faultyFile) Close() error { return errors.Join(f.disk.fails(), f.diskFile.Close()) }

// untilNoFault runs write with the n-th call failing, for growing n, until none fails. It returns how often one did.
func untilNoFault(t *testing.T, write func(t *testing.T, d *faultyDisk) error) (faults int) {
	t.Helper()
	for _, forever := range []bool{false, true} {
		for n := 1; ; n++ {
			d := &faultyDisk{n: n, forever: forever}
			err := write(t, d)
			if !d.failed {
				if err != nil {
					t.Fatalf("without a fault: %v", err)
				}
				break
			}
			faults++
			if err == nil || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "weights: ") {
				t.Errorf("call %d failed: got %v, want a sentence about space", n, err)
			}
			if n > 1000 {
				t.Fatal("never without a fault")
			}
		}
	}
	return faults
}

func TestCheckpointFaults(t *testing.T) {
	faults := untilNoFault(t, func(t *testing.T, d *faultyDisk) error {
		dir := t.TempDir()
		save(t, dir, "step-1", state(1, 400))
		_, err := writeCheckpoint(d, dir, "step-2", state(2, 200_000))
		got, warnings := latest(t, dir)
		if got != "step-2" && got != "step-1" || len(warnings) > 0 || err == nil && got != "step-2" {
			t.Errorf("after %v: latest is %q with %q", err, got, warnings)
		}
		if _, err := WriteCheckpoint(dir, "step-3", state(3, 400)); err != nil {
			t.Errorf("once there is space again: %v", err)
		}
		if got, _ := latest(t, dir); got != "step-3" {
			t.Errorf("once there is space again: latest is %q", got)
		}
		return err
	})
	if faults < 30 {
		t.Errorf("only %d faults were met", faults)
	}
}

func TestFolderFaults(t *testing.T) {
	m := model(t)
	faults := untilNoFault(t, func(t *testing.T, d *faultyDisk) error {
		dir := filepath.Join(t.TempDir(), "model")
		_, err := writeFolder(d, dir, m)
		f, errRead := ReadFolder(dir)
		if errRead == nil {
			f.Close()
		} else if _, errStat := os.Stat(dir); errStat == nil {
			t.Errorf("after %v: the folder is there but %v", err, errRead)
		}
		if _, again := WriteFolder(dir, m); again != nil && errRead != nil {
			t.Errorf("once there is space again: %v", again)
		}
		return err
	})
	if faults < 40 {
		t.Errorf("only %d faults were met", faults)
	}
}

func TestPruneFaults(t *testing.T) {
	untilNoFault(t, func(t *testing.T, d *faultyDisk) error {
		dir := t.TempDir()
		for step := range int64(3) {
			save(t, dir, []string{"step-0", "step-1", "step-2"}[step], state(step, 400))
		}
		_, _, err := prune(d, dir, 1, 0, nil)
		if got, warnings := latest(t, dir); got != "step-2" || len(warnings) > 0 {
			t.Errorf("after %v: latest is %q with %q", err, got, warnings)
		}
		if _, _, err := Prune(dir, 1, 0); err != nil {
			t.Error(err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("after pruning again: %v", entries)
		}
		return err
	})
}
