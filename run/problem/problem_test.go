package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestSentence(t *testing.T) {
	p := &Problem{Code: Data, Where: "a.jsonl:3", What: "no label", Why: "the key is missing", Fix: "add it", Err: fs.ErrNotExist}
	if got, want := p.Error(), "a.jsonl:3: no label: the key is missing; add it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := p.Sentence(), "a.jsonl:3: no label: the key is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&Problem{What: "no"}).Error(); got != "no" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(p, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

// TestRemedy: whatever was being done, a process that may open no more files needs one thing.
func TestRemedy(t *testing.T) {
	full := fmt.Errorf("open x: %w", syscall.EMFILE)
	p := &Problem{What: "cannot write", Why: Reason(full), Fix: "make room", Err: full}
	if got, want := p.Error(), "cannot write: too many open files; raise the number of files that may be open (ulimit -n); the same command goes on"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Err = syscall.ENOSPC
	if p.Remedy() != "make room" {
		t.Errorf("got %q", p.Remedy())
	}
}

func TestReasonAndLacking(t *testing.T) {
	for _, c := range []struct {
		err     error
		reason  string
		lacking bool
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, "no such file or folder", false},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "permission denied", false},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, "the disk is full", true},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENFILE}, "too many open files", true},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.EROFS}, "the file system is read-only", false},
		{&fs.PathError{Op: "map", Path: "/x", Err: syscall.ENOMEM}, "cannot allocate memory", true},
		{&fs.PathError{Op: "mkdir", Path: "/x", Err: syscall.ENOTDIR}, "not a directory", false},
		{errors.New("something else"), "something else", false},
	} {
		if got := Reason(c.err); got != c.reason || Lacking(c.err) != c.lacking {
			t.Errorf("%v: reason %q, lacking %v; want %q, %v", c.err, got, Lacking(c.err), c.reason, c.lacking)
		}
	}
}
