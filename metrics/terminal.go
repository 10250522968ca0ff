// The terminal sink. On a terminal one block is redrawn in place, below the lines that stay; anywhere else there are
// plain lines only. Run draws; Write never touches a live terminal, so one that is paused or slow never holds up training.

package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Terminal shows a run to the person who started it. It implements Sink and Replayer.
type Terminal struct {
	out   io.Writer
	style Style

	mu    sync.Mutex // guards what follows
	state progress
	lines []string // that stay, and are not drawn yet
	lost  int      // lines that found no place in lines
	err   error    // of the last write to out

	drawing sync.Mutex // held while out is written; guards what follows
	drawn   []string   // the block on the screen
}

// maxPending bounds the lines that wait for a terminal that takes none.
const maxPending = 1000

// NewTerminal draws on out. With a live style nothing appears before Run or Close.
func NewTerminal(out io.Writer, style Style) *Terminal {
	return &Terminal{out: out, style: style, state: progress{style: style}}
}

// Name implements Sink.
func (t *Terminal) Name() string { return "terminal" }

// Replay implements Replayer.
func (t *Terminal) Replay(history []Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.replay(history)
	return nil
}

// Write implements Sink.
func (t *Terminal) Write(r Record) error {
	t.mu.Lock()
	t.keep(t.state.apply(r))
	err := t.err
	t.mu.Unlock()
	if err == nil && !t.style.Live {
		err = t.draw(time.Time{}, false)
	}
	return err
}

// keep runs with mu held.
func (t *Terminal) keep(lines []string) {
	room := max(0, maxPending-len(t.lines))
	if len(lines) > room {
		t.lost += len(lines) - room
		lines = lines[:room]
	}
	t.lines = append(t.lines, lines...)
}

// Run redraws a live terminal until the context ends, and returns nil then. A terminal that is not live needs no Run.
func (t *Terminal) Run(ctx context.Context) error {
	if !t.style.Live {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := t.draw(now, true); err != nil {
				return err
			}
		}
	}
}

// Close draws what is left; the block stays as the last thing on the screen. Run must have returned.
func (t *Terminal) Close() error { return t.draw(time.Now(), t.style.Live) }

// Lines takes whole lines of another part, such as a logger, and shows them above the block.
func (t *Terminal) Lines() io.Writer { return lineWriter{t} }

type lineWriter struct{ t *Terminal }

func (w lineWriter) Write(p []byte) (int, error) {
	w.t.mu.Lock()
	w.t.keep(cleanLines(string(p)))
	w.t.mu.Unlock()
	if w.t.style.Live {
		return len(p), nil
	}
	return len(p), w.t.draw(time.Time{}, false)
}

// draw writes the waiting lines, and below them the block when there is one to show.
func (t *Terminal) draw(now time.Time, block bool) error {
	t.drawing.Lock()
	defer t.drawing.Unlock()
	width, height := t.style.size()
	t.mu.Lock()
	lines, lost := t.lines, t.lost
	t.lines, t.lost = nil, 0
	var rows []string
	if block {
		// The last cell of a line and the last line of the screen stay free: writing there scrolls.
		rows = t.state.block(now, width-1, height-2)
	}
	t.mu.Unlock()
	if lost > 0 {
		lines = append(lines, fmt.Sprintf("(%d more lines were not shown)", lost))
	}
	frame := t.frame(lines, rows)
	if frame == "" {
		return nil
	}
	_, err := io.WriteString(t.out, frame)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
	return err
}

// frame gives the bytes that bring the screen up to date; "" when it is. It runs with drawing held.
func (t *Terminal) frame(lines, rows []string) string {
	if len(lines) == 0 && strings.Join(rows, "\n") == strings.Join(t.drawn, "\n") {
		return ""
	}
	var b strings.Builder
	if n := len(t.drawn); n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", n)
	}
	eraseLine := ""
	if t.style.Live {
		eraseLine = "\x1b[K"
	}
	for _, l := range append(lines, rows...) {
		b.WriteString(l + eraseLine + "\n")
	}
	if len(t.drawn) > 0 {
		b.WriteString("\x1b[J")
	}
	t.drawn = rows
	return b.String()
}
