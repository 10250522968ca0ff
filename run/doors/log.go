package doors

import (
	"fmt"
	"io"
	"sync"
)

// Log is where agents print to. Until Send names a place, what they print is kept. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	to     io.Writer    // guarded by mu
	kept   []byte       // guarded by mu
	tell   func(string) // guarded by mu; nil for nobody
	passed int64        // guarded by mu; bytes
}

const (
	mostKept   = 1 << 16 // bytes that wait for a place
	mostLogged = 1 << 28 // bytes that are written to one: an agent that never stops printing must not fill the disk
)

// Write implements io.Writer. What cannot be written is dropped: an agent must not fail for it.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		l.pass(p)
	} else if len(l.kept)+len(p) <= mostKept {
		l.kept = append(l.kept, p...)
	}
	return len(p), nil
}

// pass writes as much as may be. It is called with mu held.
func (l *Log) pass(p []byte) {
	if l.passed > mostLogged {
		return
	}
	l.to.Write(p)
	if l.passed += int64(len(p)); l.passed > mostLogged {
		fmt.Fprintf(l.to, "\nmolt: agents have printed %d bytes; the rest is dropped\n", l.passed)
	}
}

// Tell names somebody who is also told of every traceback, once.
func (l *Log) Tell(tell func(traceback string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = tell
}

// Trace notes an exception of an agent's file.
func (l *Log) Trace(traceback string) {
	l.Write([]byte(traceback))
	l.mu.Lock()
	tell := l.tell
	l.mu.Unlock()
	if tell != nil {
		tell(traceback)
	}
}

// Send names the place, or none any more.
func (l *Log) Send(to io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to = to; to != nil {
		l.pass(l.kept)
		l.kept = nil
	}
}
