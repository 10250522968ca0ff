package doors

import (
	"io"
	"sync"
)

// Log is where agents print to. Until Send names a place, what they print is kept. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	to   io.Writer // guarded by mu
	kept []byte    // guarded by mu
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

// Send names the place, or none any more.
func (l *Log) Send(to io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to = to; to != nil {
		to.Write(l.kept)
		l.kept = nil
	}
}
