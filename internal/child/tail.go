package child

import "sync"

// Tail keeps the last bytes that were written to it. It is safe for use by several goroutines.
type Tail struct {
	Keep int // bytes

	mu      sync.Mutex
	kept    []byte // guarded by mu
	dropped int64  // guarded by mu; bytes
}

// Write implements io.Writer and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - t.Keep; n > 0 && len(t.kept) > 2*t.Keep {
		t.kept = append(t.kept[:0], t.kept[n:]...)
		t.dropped += int64(n)
	}
	return len(p), nil
}

// Bytes is a copy of what was kept, and how much came before it.
func (t *Tail) Bytes() (kept []byte, dropped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := max(0, len(t.kept)-t.Keep)
	return append([]byte(nil), t.kept[n:]...), t.dropped + int64(n)
}
