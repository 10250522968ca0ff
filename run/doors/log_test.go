package doors

import (
	"bytes"
	"strings"
	"testing"
)

func TestLogKeepsUntilItHasAPlace(t *testing.T) {
	var l Log
	l.Write([]byte("early\n"))
	if n, err := l.Write([]byte(strings.Repeat("x", mostKept))); n != mostKept || err != nil {
		t.Error("too much is an error of the agent's:", n, err)
	}
	var to bytes.Buffer
	l.Send(&to)
	l.Write([]byte("late\n"))
	l.Send(nil)
	l.Write([]byte("later\n"))
	var again bytes.Buffer
	l.Send(&again)
	if to.String() != "early\nlate\n" || again.String() != "later\n" {
		t.Errorf("%q, %q", to.String(), again.String())
	}
}

// What an agent prints without end does not fill the disk, and the end of it says so.
func TestLogIsBounded(t *testing.T) {
	var to counting
	log := new(Log)
	log.Send(&to)
	for range mostLogged/(1<<20) + 20 {
		log.Write(make([]byte, 1<<20))
	}
	if to.n < mostLogged || to.n > mostLogged+2<<20 || !strings.HasSuffix(to.last, "the rest is dropped\n") {
		t.Errorf("%d bytes, at the end %q", to.n, to.last)
	}
}

type counting struct {
	n    int
	last string
}

func (c *counting) Write(p []byte) (int, error) {
	c.n += len(p)
	c.last = string(p[max(0, len(p)-100):])
	return len(p), nil
}
