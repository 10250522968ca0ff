package doors

import (
	"io"
	"sync"
)

// Log is where agents print to. Until Send names a place, what they print is kept. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	to   io.Writer    // guarded by mu
	kept []byte       // guarded by mu
	tell func(string) // guarded by mu; nil for nobody
}

const mostKept = 1 << 16 // bytes

// Write implements io.Writer. What cannot be written is dropped: an agent must not fail for it.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		l.to.Write(p)
	} else if len(l.kept)+len(p) <= mostKept {
		l.kept = append(l.kept, p...)
	}
	return len(p), nil
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
		to.Write(l.kept)
		l.kept = nil
	}
}
