// A box runs one program after another, each in a folder of its own that is gone afterwards.

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"molt/internal/child"
)

// Language is what a program is written in.
type Language string

const (
	Python           Language = "python"
	Shell            Language = "sh"
	StarlarkLanguage Language = "starlark"
)

// Config bounds programs.
type Config struct {
	Language    Language
	Isolation   Isolation
	Interpreter string        // of Python; "" is the python3 of the path
	Time        time.Duration // from start to kill; more than 0
	Memory      int64         // bytes of address space of each process; for Starlark of memory, half of it for values; more than 0
	Processes   int           // that run at once, where Bounded says that this can be bounded; 8 or more
	FileSize    int64         // bytes that one file may grow to, with Bubblewrap all of the work folder; more than 0
	Output      int           // characters of each of the two streams that the policy reads; 1 or more
}

// Defaults are the limits of the original's Python tool. Language and isolation are to be chosen.
func Defaults() Config {
	return Config{Language: Python, Time: 10 * time.Second, Memory: 1 << 30, Processes: 64, FileSize: 64 << 20, Output: 2048}
}

// Validate reports everything that is out of range.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sandbox: "+format, args...)) }
	if !slices.Contains([]Language{Python, Shell, StarlarkLanguage}, c.Language) {
		bad("Language is %q; want %s, %s or %s", c.Language, Python, Shell, StarlarkLanguage)
	}
	if (c.Language == StarlarkLanguage) != (c.Isolation == Starlark) {
		bad("Isolation is %q for the language %s; %q goes with %s and nothing else", c.Isolation, c.Language, Starlark, StarlarkLanguage)
	}
	if !slices.Contains([]Isolation{Bubblewrap, Limits, Starlark}, c.Isolation) {
		bad("Isolation is %q; want %s, %s or %s", c.Isolation, Bubblewrap, Limits, Starlark)
	}
	if c.Processes < 8 {
		bad("Processes is %d; want 8 or more: isolation takes some", c.Processes)
	}
	if c.Time <= 0 || c.Memory <= 0 || c.FileSize <= 0 || c.Output < 1 {
		bad("Time is %v, Memory %d, FileSize %d, Output %d; want each above 0", c.Time, c.Memory, c.FileSize, c.Output)
	}
	return errors.Join(errs...)
}

// Outcome is how a program ended.
type Outcome struct {
	Output, Errors string // each cut to Config.Output characters
	Code           int    // exit code; -1 when a signal ended it
	TimedOut       bool
}

// Box is safe for use by many goroutines.
type Box struct {
	config      Config
	interpreter string
	bwrap       string
}

// New finds the programs that the box needs. It does not probe the isolation.
func New(config Config) (*Box, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	child.Sweep()
	b := &Box{config: config, interpreter: "/bin/sh"}
	var err error
	switch config.Language {
	case Python:
		name := config.Interpreter
		if name == "" {
			name = "python3"
		}
		if b.interpreter, err = exec.LookPath(name); err == nil {
			b.interpreter, err = filepath.Abs(b.interpreter)
		}
	case StarlarkLanguage:
		if !armed.Load() {
			return nil, errors.New("sandbox: this program cannot interpret Starlark: its main does not begin with sandbox.Child")
		}
		b.interpreter, err = os.Executable()
	}
	if err == nil && config.Isolation == Bubblewrap {
		b.bwrap, err = exec.LookPath("bwrap")
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return b, nil
}

const maxSource = 100 << 10 // bytes of a program: Linux takes 128 KiB in one argument

// Run runs one program. An error means that it could not be run, not that it failed.
func (b *Box) Run(ctx context.Context, source string) (Outcome, error) {
	if len(source) > maxSource {
		return Outcome{Errors: fmt.Sprintf("the program has %d bytes; %d are allowed", len(source), maxSource), Code: 1}, nil
	}
	if strings.ContainsRune(source, 0) {
		return Outcome{Errors: "the program contains a NUL character", Code: 1}, nil
	}
	folder, err := child.MakeFolder("box")
	if err != nil {
		return Outcome{}, fmt.Errorf("sandbox: %w", err)
	}
	defer folder.Remove()
	limited, cancel := context.WithTimeout(ctx, b.config.Time)
	defer cancel()
	group, err := groups().make(b.config.Processes)
	if err != nil {
		return Outcome{}, fmt.Errorf("sandbox: bounding processes: %w", err)
	}
	defer group.remove()
	command := b.command(limited, folder.Path, source, group)
	out, errs := &head{limit: 4 * b.config.Output}, &head{limit: 4 * b.config.Output}
	command.Stdout, command.Stderr = out, errs
	if err := command.Start(); err != nil {
		return Outcome{}, fmt.Errorf("sandbox: starting %s: %w", command.Path, err)
	}
	child.EndGroup(command.Process.Pid)
	command.Wait()
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	outcome := Outcome{out.text(b.config.Output), errs.text(b.config.Output), command.ProcessState.ExitCode(), limited.Err() != nil}
	if b.config.Language == StarlarkLanguage && outcome.Code == crashed {
		outcome.Errors = crash(outcome.Errors)
	}
	return outcome, nil
}

// command is the process. The program travels in standard input for Starlark and as an argument otherwise.
func (b *Box) command(ctx context.Context, folder, source string, group group) *exec.Cmd {
	var argv []string
	switch b.config.Language {
	case Python:
		argv = []string{b.interpreter, "-I", "-c", source}
	case Shell:
		argv = []string{b.interpreter, "-c", source}
	case StarlarkLanguage:
		argv = []string{b.interpreter}
	}
	if b.bwrap != "" {
		prefix := ""
		if b.config.Language == Python {
			prefix = pythonPrefix(b.interpreter)
		}
		// In namespaces of its own a user has no processes yet. Root's are not counted; group does that.
		argv = child.Limits{Processes: int64(b.config.Processes)}.Wrap(argv)
		argv = append(wall(b.bwrap, folder, prefix, b.config.FileSize), argv...)
	}
	limits := child.Limits{Memory: b.config.Memory, FileSize: b.config.FileSize, CPU: int64(b.config.Time/time.Second) + 1}
	if b.config.Language == StarlarkLanguage {
		limits.Memory, limits.Data = 0, b.config.Memory // its interpreter reserves address space that it never fills
	}
	argv = group.wrap(limits.Wrap(argv))
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir, command.SysProcAttr = folder, child.OwnGroup()
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + folder, "TMPDIR=" + folder}
	command.Cancel = func() error { return child.KillGroup(command.Process.Pid) }
	command.WaitDelay = time.Second
	if b.config.Language == StarlarkLanguage {
		half := strconv.FormatInt(b.config.Memory/2, 10)
		command.Env = append(command.Env, starlarkChild+"="+half, "GOMEMLIMIT="+half)
		command.Stdin = strings.NewReader(source)
	}
	return command
}

// head keeps the first bytes of a stream and lets the rest go by.
type head struct {
	limit int
	kept  bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), max(0, h.limit-h.kept.Len()))])
	return len(p), nil
}

// text is at most n characters.
func (h *head) text(n int) string {
	runes := []rune(strings.ToValidUTF8(h.kept.String(), "\uFFFD"))
	return string(runes[:min(n, len(runes))])
}

var _ io.Writer = (*head)(nil)
