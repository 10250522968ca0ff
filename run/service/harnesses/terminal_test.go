package harnesses

// A person at a terminal: a pseudo terminal made by script(1), keys, and what the screen says.

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// keys are typed when the screen has said something since the last ones, or the policy has. What a person types comes letter by
// letter.
type keys struct{ await, press string }

// screen is what a program wrote to its terminal, without blanks and control sequences, since harnesses place words as they like.
type screen struct {
	mu   sync.Mutex // guards what follows
	raw  bytes.Buffer
	from int // what was looked at before
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.Write(p)
}

var control = regexp.MustCompile(`\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[P_^][^\x1b]*\x1b\\|\x1b\[[0-9;?<>=!$"' ]*[@-~]|\x1b.|[\x00-\x20\x7f]`)

func plain(text []byte) string { return control.ReplaceAllString(string(text), "") }

// says waits until a text is on the screen behind what was waited for before, or was sampled.
func (s *screen) says(text string, until time.Time, sampled func(string) bool) bool {
	for ; time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		s.mu.Lock()
		found := strings.Contains(plain(s.raw.Bytes()[s.from:]), plain([]byte(text))) || sampled(text)
		if found {
			s.from = s.raw.Len()
		}
		s.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

// terminal makes a command one that runs at a terminal of its own; what it says is also written to the screen.
func terminal(argv []string) []string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return []string{"script", "-qefc", "stty rows 40 cols 120; exec " + strings.Join(words, " "), "/dev/null"}
}

// press types what a person would.
func (s *screen) press(to io.Writer, all []keys, sampled func(string) bool) error {
	for _, k := range all {
		if !s.says(k.await, time.Now().Add(50*time.Second), sampled) {
			return fmt.Errorf("the screen never says %q", k.await)
		}
		time.Sleep(time.Second) // a harness that has just drawn may not listen yet
		for _, key := range k.press {
			if key == '\r' {
				time.Sleep(500 * time.Millisecond) // what is typed and entered at once is taken for pasted
			}
			if _, err := io.WriteString(to, string(key)); err != nil {
				return err
			}
			time.Sleep(15 * time.Millisecond)
		}
	}
	return nil
}

// seated lets a prepared command be used by a person, who ends it when something is not said in time; the error is what was
// missed.
func seated(t *testing.T, c *exec.Cmd, s *screen, all []keys, sampled func(string) bool, end func()) <-chan error {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	missed := make(chan error, 1) // holds the one outcome
	go func() {
		err := s.press(in, all, sampled)
		if err != nil {
			end()
		}
		missed <- err
	}()
	return missed
}
