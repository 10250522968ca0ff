package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// apart is the argument list before a program that shall see no process but its own. All else stays as it is, but that the
// program cannot gain privileges, and that of root's it keeps none.
var apart = []string{"bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--as-pid-1", "--proc", "/proc", "--die-with-parent"}

// first is the namespace's first process: it waits for the program, and everything in the namespace ends with it.
var first = []string{"--", "/bin/sh", "-c", `"$@"; exit $?`, "sh"}

// Apart reports why programs cannot have a process namespace here; nil means that they can. It tries once.
var Apart = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	bwrap, err := exec.LookPath(apart[0])
	if err != nil {
		return errors.New("bubblewrap is not installed")
	}
	argv := slices.Concat([]string{bwrap}, apart[1:], first, []string{"/bin/sh", "-c", `ls /proc | grep -c '^[0-9]'; exit 7`})
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	said := strings.TrimSpace(string(out))
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 7 {
		return fmt.Errorf("bubblewrap does not work: %v: %s", err, said)
	}
	if len(said) != 1 || said > "5" { // the first process, the shell, ls and grep
		return fmt.Errorf("bubblewrap hides no processes: %s can be seen", said)
	}
	return nil
})

// Alone is the argument list that runs argv in a process namespace of its own where Apart allows it, and argv elsewhere. Nothing
// that the program starts outlives it, and it sees no other process. The empty folders are so for it, but for what lies below
// own in them. A program that a signal ended has the exit code 128 + the signal's number.
func Alone(argv []string, own string, empty ...string) []string {
	if Apart() != nil {
		return argv
	}
	wrapped := slices.Clone(apart)
	for _, folder := range empty {
		wrapped = append(wrapped, "--tmpfs", folder)
	}
	if own != "" {
		wrapped = append(wrapped, "--bind", own, own)
	}
	return slices.Concat(wrapped, first, argv)
}

// Code says an exit code in words.
func Code(code int) string {
	if n := code - 128; n > 0 && n < 65 {
		return fmt.Sprintf("exit code %d, as after signal: %v", code, syscall.Signal(n))
	}
	return fmt.Sprintf("exit code %d", code)
}
