// How far apart a program runs. What a machine allows is found out by trying, not by looking at versions.

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Isolation says what keeps a program apart from the machine.
type Isolation string

const (
	// Bubblewrap gives namespaces of its own for files, processes and network: the system is there read-only, home folders
	// and temporary files are not, only a throwaway folder can be written, there is no network. From bubblewrap 0.7 on that folder
	// lies in memory and is bounded as a whole.
	Bubblewrap Isolation = "bubblewrap"
	// Limits bounds time, memory and file sizes and nothing else: the program reads and writes whatever this user can, and
	// has the network.
	Limits Isolation = "limits"
	// Starlark is a language without files, network, processes or clocks, interpreted in a process of its own under limits.
	Starlark Isolation = "starlark"
)

// Probe reports whether an isolation works here; nil means that it does. It runs small programs.
func Probe(ctx context.Context, i Isolation) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	switch i {
	case Bubblewrap:
		return probeBubblewrap(ctx)
	case Limits:
		if _, err := exec.LookPath("/bin/sh"); err != nil {
			return fmt.Errorf("sandbox: limits need a POSIX shell: %w", err)
		}
		return nil
	case Starlark:
		return probeStarlark(ctx)
	}
	return fmt.Errorf("sandbox: isolation %q; want %s, %s or %s", i, Bubblewrap, Limits, Starlark)
}

func probeStarlark(ctx context.Context) error {
	c := Defaults()
	c.Language, c.Isolation = StarlarkLanguage, Starlark
	b, err := New(c)
	if err != nil {
		return err
	}
	o, err := b.Run(ctx, "print(6*7)")
	if err != nil {
		return err
	}
	if got := o.Text(c); got != "42" {
		return fmt.Errorf("sandbox: Starlark does not work here: 6*7 came to %q", got)
	}
	return nil
}

// Bounded reports why nothing bounds how many processes a program has; nil means that Config.Processes does. It tries.
func Bounded(ctx context.Context, i Isolation) error {
	c := Defaults()
	c.Language, c.Isolation, c.Processes = Shell, i, 16
	b, err := New(c)
	if err != nil {
		return err
	}
	o, err := b.Run(ctx, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 5 & done; echo all")
	if err == nil && strings.Contains(o.Output, "all") {
		err = errors.New("sandbox: nothing bounds how many processes a program has: no control group can be made, and no limit holds this user")
	}
	return err
}

// probeBubblewrap checks the promises: nothing outside can be written, no home, no network, no other process.
func probeBubblewrap(ctx context.Context) error {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return errors.New("sandbox: bubblewrap is not installed (the package is called bubblewrap)")
	}
	folder, err := os.MkdirTemp("", "molt-probe-")
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	defer os.RemoveAll(folder)
	const script = `touch in || echo "the work folder cannot be written"
(: >/usr/molt-probe) 2>/dev/null && echo "the system can be written"
(: >/molt-probe) 2>/dev/null && echo "the root folder can be written"
test -n "$(ls -A /root /home /tmp 2>/dev/null | grep -v :)" && echo "home folders or temporary files can be seen"
test "$(ls /sys/class/net 2>/dev/null | grep -cv '^lo$')" = 0 || echo "there is a network"
test "$(ls /proc | grep -c '^[0-9]')" -le 5 || echo "other processes can be seen"
echo end`
	argv := append(wall(bwrap, folder, "", 1<<20), "/bin/sh", "-c", script)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	said := strings.TrimSpace(string(out))
	switch {
	case err != nil:
		return fmt.Errorf("sandbox: bubblewrap does not work here: %w: %s", err, said)
	case said != "end":
		return fmt.Errorf("sandbox: bubblewrap does not keep programs apart here: %s", strings.TrimSuffix(said, "\nend"))
	}
	return nil
}

// system are the folders that programs need, as far as they exist.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/opt"}

// bounds reports whether a bubblewrap can bound what it keeps in memory.
var bounds = sync.OnceValue(func() bool {
	help, _ := exec.Command("bwrap", "--help").CombinedOutput()
	return bytes.Contains(help, []byte("--size "))
})

// wall is the argument list before a program's own: everything of its own but a read-only system, and a prefix of it that lies
// elsewhere unless "". Each of its three writable folders holds so many bytes; without bounds, the work folder is the given one.
func wall(bwrap, folder, prefix string, size int64) []string {
	argv := []string{bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
		"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8", "--setenv", "HOME", "/work", "--setenv", "TMPDIR", "/work"}
	for _, path := range system {
		argv = append(argv, "--ro-bind-try", path, path)
	}
	if prefix != "" {
		argv = append(argv, "--ro-bind", prefix, prefix)
	}
	argv = append(argv, "--proc", "/proc", "--dev", "/dev")
	work := []string{"--tmpfs", "/tmp", "--bind", folder, "/work"}
	if bounds() {
		work = nil
		for _, path := range []string{"/tmp", "/work", "/dev/shm"} {
			work = append(work, "--size", strconv.FormatInt(size, 10), "--tmpfs", path)
		}
		work = append(work, "--remount-ro", "/dev")
	}
	return slices.Concat(argv, work, []string{"--remount-ro", "/", "--chdir", "/work", "--cap-drop", "ALL"})
}

// pythonPrefix is where an interpreter outside the usual folders lives, which must then be shown too; "" when it needs nothing.
func pythonPrefix(interpreter string) string {
	path, err := filepath.EvalSymlinks(interpreter)
	if err != nil || strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/opt/") {
		return ""
	}
	return filepath.Dir(filepath.Dir(path))
}
