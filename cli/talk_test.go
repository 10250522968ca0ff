package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// TestTalk is a conversation at a terminal: a reply is stopped, forgotten, and left, by the keys that the program names.
func TestTalk(t *testing.T) {
	dir := talkingModel(t)
	p := startAtTerminal(t, "generate", dir, "--temperature", "0", "--max-tokens", "60000")
	p.wait("/reset forgets")
	p.wait("> ")
	p.keys("the cat\n")
	p.wait("the cat\r\n")
	p.waitMore(100)
	p.keys("\x03")
	p.wait("(stopped)")
	p.wait("> ")
	p.keys("\x03")
	p.wait("/reset forgets")
	p.keys("/forget\n")
	p.wait("no command /forget")
	p.keys("/reset\n")
	p.wait("(forgotten)")
	p.keys("\n")
	p.keys("\x04")
	p.ends(0)
}

// TestInterruptedWhileItWaits: a program that reads a pipe where nothing comes ends at the first Ctrl-C.
func TestInterruptedWhileItWaits(t *testing.T) {
	cmd := command(t.TempDir(), "generate", talkingModel(t), "--max-tokens", "3")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	fmt.Fprintln(input, "the cat")
	if n, err := output.Read(make([]byte, 100)); n == 0 { // a reply to one line comes before the next line
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
	if want := "error[MOLT-I001]: interrupted before the last reply"; !strings.Contains(talk.String(), want) {
		t.Errorf("%q is missing in %q", want, talk.String())
	}
}

// terminal is a program at a pseudo-terminal.
type terminal struct {
	t       *testing.T
	keys    func(string)
	program *exec.Cmd
	ended   chan error // capacity 1: the reader of the program's end sends once

	mu   sync.Mutex // guards what follows
	text bytes.Buffer
	seen int // bytes of text that wait has passed
}

func startAtTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	keyboard, screen := pseudoTerminal(t)
	p := &terminal{t: t, program: command(t.TempDir(), args...), ended: make(chan error, 1)}
	p.keys = func(text string) {
		if _, err := keyboard.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	p.program.Stdin, p.program.Stdout, p.program.Stderr = screen, screen, screen
	p.program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.program.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	go func() { // ends with the terminal
		buffer := make([]byte, 4096)
		for {
			n, err := keyboard.Read(buffer)
			p.mu.Lock()
			p.text.Write(buffer[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { p.ended <- p.program.Wait() }()
	t.Cleanup(func() { _ = p.program.Process.Kill(); keyboard.Close() })
	return p
}

// pseudoTerminal gives both ends of a new one.
func pseudoTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	fd := int(keyboard.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, screen
}

// wait reads on until text has appeared.
func (p *terminal) wait(text string) {
	p.t.Helper()
	p.until(text, func(unread string) int {
		if at := strings.Index(unread, text); at >= 0 {
			return at + len(text)
		}
		return 0
	})
}

// waitMore reads on until so many more bytes have appeared.
func (p *terminal) waitMore(bytes int) {
	p.t.Helper()
	p.until("more", func(unread string) int { return max(0, len(unread)-bytes+1) })
}

// until reads as many bytes of what is unread as accept says, once that is more than none.
func (p *terminal) until(what string, accept func(unread string) int) {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		text := p.text.String()
		n := accept(text[p.seen:])
		p.seen += n
		p.mu.Unlock()
		switch {
		case n > 0:
			return
		case time.Now().After(deadline):
			p.t.Fatalf("%s did not appear after %q", what, text)
		}
	}
}

// ends wants the program to leave with a code, and to have written nothing that steers a terminal.
func (p *terminal) ends(code int) {
	p.t.Helper()
	select {
	case err := <-p.ended:
		if got := p.program.ProcessState.ExitCode(); got != code {
			p.t.Errorf("exit code %d (%v), want %d", got, err, code)
		}
	case <-time.After(20 * time.Second):
		p.t.Fatal("it does not end")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.text.String() {
		if r != '\n' && r != '\r' && r != '\t' && r != '\b' && !unicode.IsPrint(r) { // the terminal echoes \r\n and \b
			p.t.Fatalf("byte %d is the control character %q: %q", i, r, p.text.String())
		}
	}
}

// talkingModel completes text without end: its likeliest tokens go round in a circle.
func talkingModel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "texts.txt", "the cat and the dog\n")
	molt(t, dir, "model", "init", "model", "--plain", "--train-tokenizer", "texts.txt", "--vocab-size", "280",
		"--hidden-size", "32", "--num-attention-heads", "2", "--num-hidden-layers", "1", "--max-position-embeddings", "65536").want(t, exitOK)
	return filepath.Join(dir, "model")
}
