// What goes wrong, in one form: what, where, why, fix, and a stable code that is also an anchor in the documentation.

package problem

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Problem is something a user can mend. Only cmd turns it into an exit code.
type Problem struct {
	Code   Code
	Where  string // file:line:col, a folder, or a setting
	What   string
	Why    string // the cause, where it adds something
	Fix    string
	Line   string // the line of a file, shown with a caret
	Column int    // 1-based place of the caret; 0 shows none
	Text   string // lines of another program that say more, such as a traceback
	Err    error  // the cause as an error, for errors.Is
}

// Code is a stable name of a class of problems: MOLT-, a letter for the exit code's class, a number.
type Code string

const (
	Usage       Code = "MOLT-U001" // a command, flag or argument is wrong
	Recipe      Code = "MOLT-U002" // a recipe file is wrong
	Setting     Code = "MOLT-U003" // a setting's value is wrong
	Combined    Code = "MOLT-U004" // two settings contradict each other, or one has no effect
	Model       Code = "MOLT-D001" // a model folder is refused
	Tokenizer   Code = "MOLT-D002" // a tokenizer, or its match with the model, is refused
	Template    Code = "MOLT-D003" // a chat template is refused
	Data        Code = "MOLT-D004" // a data file is refused
	RunFolder   Code = "MOLT-D005" // the run folder holds something else, is finished, or is damaged
	Alarm       Code = "MOLT-A001" // the run stopped itself: it would train on something it cannot vouch for
	Resource    Code = "MOLT-R001" // disk, memory, permission, or a service is missing
	Busy        Code = "MOLT-R002" // another run holds the folder
	Interrupted Code = "MOLT-I001" // stopped by the user; resumable
	Failed      Code = "MOLT-F001" // anything else
)

// Error writes the problem as one sentence: where, what, why, fix.
func (p *Problem) Error() string {
	if fix := p.Remedy(); fix != "" {
		return p.Sentence() + "; " + fix
	}
	return p.Sentence()
}

// Sentence is Error without the fix.
func (p *Problem) Sentence() string {
	var b strings.Builder
	if p.Where != "" {
		b.WriteString(p.Where + ": ")
	}
	b.WriteString(p.What)
	if p.Why != "" {
		b.WriteString(": " + p.Why)
	}
	return b.String()
}

func (p *Problem) Unwrap() error { return p.Err }

// Remedy is the fix, or, where the process has run out of files that it may open, how to get more.
func (p *Problem) Remedy() string {
	if p.Err != nil && outOfFiles(p.Err) {
		return "raise the number of files that may be open (ulimit -n); the same command goes on"
	}
	return p.Fix
}

func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Lacking reports whether what failed is sound, and only something is missing to use it: files, memory, room.
func Lacking(err error) bool {
	return outOfFiles(err) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOSPC)
}

// Reason shortens errors of the system to their cause: the path is said elsewhere.
func Reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only"
	case outOfFiles(err):
		return "too many open files"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}
