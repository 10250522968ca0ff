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
