package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"molt/chat"
)

func TestMain(m *testing.M) {
	Child()
	goleak.VerifyTestMain(m)
}

// box makes one, or skips the test where the machine cannot.
func box(t *testing.T, l Language, i Isolation, change func(*Config)) *Box {
	t.Helper()
	if err := Probe(t.Context(), i); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	config := Defaults()
	config.Language, config.Isolation, config.Time = l, i, 5*time.Second
	if change != nil {
		change(&config)
	}
	b, err := New(config)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPrograms(t *testing.T) {
	short := func(c *Config) { c.Time = 3 * time.Second }
	for _, test := range []struct {
		name   string
		l      Language
		source string
		change func(*Config)
		want   string // the whole text, or "…" and what it contains
	}{
		{"a sum", Python, "print(6*7)", nil, "42"},
		{"nothing", Python, "x = 1", nil, "(no output)"},
		{"an error", Python, "print('a'); 1/0", nil, "…a\n[exit code 1]\nTraceback"},
		{"an exit", Python, "import sys; sys.exit(3)", nil, "[exit code 3]"},
		{"no end", Python, "print('a', flush=True)\nwhile True: pass", short, "a\n[timeout after 3s]"},
		{"asleep", Python, "import time; time.sleep(60)", short, "[timeout after 3s]"},
		{"too much memory", Python, "x = 'a' * (2 << 30)", nil, "…MemoryError"},
		{"much output", Python, "print('é' * 100000)", func(c *Config) { c.Output = 5 }, "ééééé"},
		{"a big file", Python, "f = open('x', 'wb')\nfor _ in range(1000): f.write(bytes(1 << 20))", nil, "…[exit code"},
		{"isolated mode", Python, "import sys; print(sys.flags.isolated)", nil, "1"},
		{"a long program", Python, "#" + strings.Repeat("x", 99<<10) + "\nprint(1)", nil, "1"},
		{"too long a program", Python, "#" + strings.Repeat("x", 130<<10) + "\nprint(1)", nil, "…are allowed"},
		{"a NUL", Python, "\x00", nil, "…NUL"},
		{"a shell", Shell, "echo $((6*7)); pwd | grep -c molt-box", func(c *Config) { c.Isolation = Limits }, "42\n1"},
		{"starlark", StarlarkLanguage, "def f(n):\n  return n if n < 2 else f(n-1) + f(n-2)\nprint(f(15), math.sqrt(16))", nil, "610 4.0"},
		{"a starlark error", StarlarkLanguage, "print('a')\nprint(1//0)", nil, "…a\n[exit code 1]\nTraceback"},
		{"a starlark syntax error", StarlarkLanguage, "import os", nil, "…[exit code 1]\nprogram:1:"},
		{"no end in starlark", StarlarkLanguage, "while True: pass", func(c *Config) { c.Time = 60 * time.Second }, "…too many steps"},
		{"a starlark text of 1 GiB", StarlarkLanguage, "x = 'a' * ((1 << 30) - 1)\nprint(len(x))", nil, "[exit code 2]\nout of memory"},
		{"much starlark memory", StarlarkLanguage, "x = [1]\nwhile True: x = x + x", func(c *Config) { c.Time, c.Memory = 60*time.Second, 256<<20 }, "[exit code 2]\nout of memory"},
	} {
		isolations := []Isolation{Bubblewrap, Limits}
		if test.l == StarlarkLanguage {
			isolations = []Isolation{Starlark}
		} else if test.l == Shell {
			isolations = []Isolation{Limits}
		}
		for _, i := range isolations {
			t.Run(test.name+" in "+string(i), func(t *testing.T) {
				if testing.Short() && strings.HasSuffix(test.want, "out of memory") {
					t.Skip("SKIPPED: a race detector runs out of memory in words of its own")
				}
				b := box(t, test.l, i, test.change)
				b.config.Isolation = i
				outcome, err := b.Run(t.Context(), test.source)
				if err != nil {
					t.Fatal(err)
				}
				got := outcome.Text(b.config)
				if contains, some := strings.CutPrefix(test.want, "…"); some && !strings.Contains(got, contains) || !some && got != test.want {
					t.Errorf("%q; want %q", got, test.want)
				}
			})
		}
	}
}

// What the wall keeps out.
func TestWall(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("SECRET_TOKEN", "x")
	b := box(t, Python, Bubblewrap, nil)
	for name, source := range map[string]string{
		"read":    "open('" + secret + "')",
		"write":   "open('/usr/x', 'w')",
		"network": "import socket; socket.create_connection(('127.0.0.1', " + listener.Addr().String()[len("127.0.0.1:"):] + "), 2)",
		"environ": "import os; assert 'SECRET_TOKEN' in os.environ, 'no'",
		"signal":  "import os; os.kill(" + itoa(os.Getpid()) + ", 0)",
	} {
		outcome, err := b.Run(t.Context(), source)
		if err != nil || outcome.Code != 1 {
			t.Errorf("%s: %+v %v", name, outcome, err)
		}
	}
	open := box(t, Python, Limits, nil)
	if outcome, err := open.Run(t.Context(), "print(open('"+secret+"').read())"); err != nil || outcome.Code != 0 {
		t.Errorf("the control could not read either: %+v %v", outcome, err)
	}
}

func itoa(n int) string {
	var digits []byte
	for ; n > 0; n /= 10 {
		digits = append([]byte{byte('0' + n%10)}, digits...)
	}
	return string(digits)
}

func TestCancelled(t *testing.T) {
	b := box(t, Shell, Limits, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user left"))
	if _, err := b.Run(ctx, "sleep 60"); err == nil || !strings.Contains(err.Error(), "the user left") && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTool(t *testing.T) {
	b := box(t, StarlarkLanguage, Starlark, nil)
	if got := b.Spec().Spec.String(); !strings.HasPrefix(got, `{"type":"function","function":{"name":"starlark"`) {
		t.Error(got)
	}
	call := chat.ToolCall{ID: "c1", Name: "starlark", Arguments: chat.Object(chat.Member{Name: "code", Value: chat.String("print(1)")})}
	got, err := b.Answer(t.Context(), call)
	if err != nil || got.Content != "1" || got.ToolCallID != "c1" || got.Role != chat.Tool {
		t.Errorf("%+v %v", got, err)
	}
	call.Arguments = chat.Object()
	if got, err := b.Answer(t.Context(), call); err != nil || !strings.HasPrefix(got.Content, "error: ") {
		t.Errorf("%+v %v", got, err)
	}
}

func TestValidate(t *testing.T) {
	config := Config{Language: "perl", Isolation: Starlark}
	err := config.Validate()
	for _, want := range []string{`Language is "perl"`, "goes with starlark", "want each above 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A program cannot start processes without end, where the machine can count them.
func TestProcesses(t *testing.T) {
	for _, i := range []Isolation{Bubblewrap, Limits} {
		t.Run(string(i), func(t *testing.T) {
			b := box(t, Shell, i, func(c *Config) { c.Processes = 12 })
			if err := Bounded(t.Context(), i); err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			outcome, err := b.Run(t.Context(), "sleep 1 & sleep 1 & echo few; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; echo many")
			if err != nil || outcome.Output != "few\n" || outcome.Code == 0 {
				t.Errorf("%+v %v", outcome, err)
			}
		})
	}
}

// Values are counted by the interpreter itself, whatever a limit of the process is worth: what is too large at the end, what
// was too large before it was printed, what grows in a loop; and not what is garbage.
func TestStarlarkMemory(t *testing.T) {
	for source, want := range map[string]error{
		"x = 'a' * (24 << 20)":                               errMemory,
		"x = 'a' * (24 << 20)\nprint(len(x))\nx = None":      errMemory,
		"x = [1]\nfor i in range(24): x = x + x":             errMemory,
		"x = {}\nfor i in range(4000000): x[i] = [i]":        errMemory,
		"for i in range(100):\n  x = 'a' * (1 << 20)":        nil,
		"x = 0\nfor i in range(300000): x += len(str(i)*30)": nil,
	} {
		if err := interpret(source, 16<<20); err != want {
			t.Errorf("%q: %v; want %v", source, err, want)
		}
	}
}

// Without Child this program would begin anew instead of interpreting.
func TestNotArmed(t *testing.T) {
	armed.Store(false)
	defer armed.Store(true)
	if err := Probe(t.Context(), Starlark); err == nil || !strings.Contains(err.Error(), "does not begin with sandbox.Child") {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	if err := Probe(t.Context(), Starlark); err != nil {
		t.Error(err)
	}
}

// What a walled program can write, all its files together.
func TestBounds(t *testing.T) {
	b := box(t, Shell, Bubblewrap, func(c *Config) { c.FileSize = 4 << 20 })
	if !bounds() {
		t.Skip("SKIPPED: this bubblewrap bounds files one by one")
	}
	for _, folder := range []string{"/work", "/tmp", "/dev/shm"} {
		outcome, err := b.Run(t.Context(), "cd "+folder+"; for i in 1 2 3 4 5 6; do head -c 1048576 /dev/zero >$i 2>/dev/null; done; cat * | wc -c")
		if err != nil || outcome.Output != "4194304\n" {
			t.Errorf("%s: %+v %v", folder, outcome, err)
		}
	}
	for _, folder := range []string{"/", "/dev"} {
		if outcome, err := b.Run(t.Context(), ": >"+folder+"/x"); err != nil || outcome.Code == 0 || !strings.Contains(outcome.Errors, "Read-only") {
			t.Errorf("%s: %+v %v", folder, outcome, err)
		}
	}
	if outcome, err := b.Run(t.Context(), "echo x >/dev/null && echo x >x && rm x"); err != nil || outcome.Code != 0 {
		t.Errorf("%+v %v", outcome, err)
	}
}

func TestCrash(t *testing.T) {
	for said, want := range map[string]string{
		"fatal error: runtime: out of memory\n\nruntime stack:":  "out of memory",
		"SIGSEGV: segmentation violation\nPC=0x43641c":           "out of memory",
		"SIGXCPU: CPU time limit exceeded\nPC=0x1":               "out of processor time",
		"panic: index out of range [recovered]\n\ngoroutine 1 [": "the interpreter failed: panic: index out of range [recovered]",
	} {
		if got := crash(said); got != want {
			t.Errorf("%q: %q; want %q", said, got, want)
		}
	}
}
