package capture

import (
	"sync"
	"time"
)

// lastWrites is how long the end of a session waits for replies that are being written.
const lastWrites = 2 * time.Second

// tally counts what is under way. It is safe for concurrent use.
type tally struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	none chan struct{} // guarded by mu; closed when n becomes 0
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// wait returns when nothing is under way, or after limit.
func (t *tally) wait(limit time.Duration) {
	t.mu.Lock()
	n, none := t.n, t.none
	t.mu.Unlock()
	if n == 0 {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}
