// The log of a run: it numbers events, appends them to events.jsonl and hands them to sinks. Training never stops
// because telling about it failed: a sink that fails raises one alarm and is left out from then on.

package metrics

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Sink receives every event of a run, in order, one at a time. Write must not block on anything but a local file.
type Sink interface {
	Name() string
	Write(Record) error
	Close() error
}

// Replayer is a Sink that wants the folded history of the run when a later leg resumes it.
type Replayer interface {
	Replay([]Record) error
}

// Log is the one writer of a run's events. It is safe for concurrent use.
type Log struct {
	Now func() time.Time // the clock; another one may be set before the first event

	path string

	mu      sync.Mutex // guards what follows
	file    file
	size    int64 // of the whole lines in file
	seq     int64 // of the last event
	leg     int
	sinks   []Sink
	pending []Event // what Resume has to say before the first event
	err     error   // the first failure to write events.jsonl
}

// file is what Log needs of an *os.File.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Create starts the events of a new run. A file that is already there is refused.
func Create(path string, sinks ...Sink) (*Log, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("metrics: create events: %w", err)
	}
	return &Log{Now: time.Now, path: path, file: f, leg: 1, sinks: sinks}, nil
}

// Resume continues the events of a run at a checkpoint. toSeq is the number that the checkpoint holds (see
// CheckpointSaved), 0 for a run that starts over; step is the step that training continues after. Events after toSeq are
// folded out by a Rewound event; a torn last line is cut; events that the checkpoint knows and the file does not have are noted.
// history is what is left: the events up to the checkpoint.
func Resume(path string, toSeq, step int64, sinks ...Sink) (l *Log, history []Record, err error) {
	records, whole, err := readAll(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: resume events: %w", err)
	}
	if err := f.Truncate(whole); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("metrics: cut the torn end of %s: %w", path, err), f.Close())
	}
	l = &Log{Now: time.Now, path: path, file: f, size: whole, leg: 1, sinks: sinks, seq: max(toSeq, 0)}
	for _, r := range records {
		l.seq, l.leg = max(l.seq, r.Seq), max(l.leg, r.Leg+1)
	}
	history = discard(Fold(records), toSeq)
	l.pending = append([]Event{Rewound{ToSeq: toSeq, Step: step}}, cutOff(records, toSeq)...)
	l.pending = append(l.pending, l.replay(history)...)
	return l, history, nil
}

// cutOff says which events were cut off the end of a file: those between its last one and toSeq.
func cutOff(records []Record, toSeq int64) []Event {
	so := reader{records: records}
	if so.next() > toSeq {
		return nil
	}
	return []Event{Note{Text: span(so.next(), toSeq) + " missing at the end of the file: it was cut after the checkpoint was written"}}
}

// Emit records an event and gives its number. It never fails: see Close.
func (l *Log) Emit(e Event) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	return l.emit(e)
}

// flush runs with mu held.
func (l *Log) flush() {
	pending := l.pending
	l.pending = nil
	for _, e := range pending {
		l.emit(e)
	}
}

// Close ends the file and the sinks, and gives the first failure to write. Nothing may be emitted afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	errs := []error{l.err, l.file.Sync(), l.file.Close()}
	for _, s := range l.sinks {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// emit runs with mu held.
func (l *Log) emit(e Event) int64 {
	l.seq++
	r := Record{Seq: l.seq, Time: l.Now().UTC().Truncate(time.Millisecond), Leg: l.leg, Event: e}
	alarms := l.feed(r)
	if err := l.append(r); err != nil && l.err == nil {
		l.err = fmt.Errorf("metrics: write %s: %w", l.path, err)
		alarms = append(alarms, eventsAlarm(l.err))
	}
	for _, a := range alarms {
		l.emit(a)
	}
	return r.Seq
}

// append writes the record as one line and leaves no part of a line behind when it cannot.
func (l *Log) append(r Record) error {
	text, err := r.encode()
	if err != nil {
		return err
	}
	n, err := l.file.Write(text)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		return err
	}
	l.size += int64(n)
	switch r.Event.(type) {
	case CheckpointSaved, RunEnded:
		return l.file.Sync()
	}
	return nil
}

// feed hands the record to every sink; a failing one leaves, and its alarm is returned.
func (l *Log) feed(r Record) (alarms []Event) {
	return l.each(func(s Sink) error { return s.Write(r) })
}

func (l *Log) replay(history []Record) (alarms []Event) {
	return l.each(func(s Sink) error {
		if p, ok := s.(Replayer); ok {
			return p.Replay(history)
		}
		return nil
	})
}

func (l *Log) each(use func(Sink) error) (alarms []Event) {
	working := l.sinks[:0:0]
	for _, s := range l.sinks {
		err := guarded(s, use)
		if err == nil {
			working = append(working, s)
			continue
		}
		alarms = append(alarms, sinkAlarm(s, errors.Join(err, guarded(s, Sink.Close))))
	}
	l.sinks = working
	return alarms
}

// guarded turns a panic of a sink into an error.
func guarded(s Sink, use func(Sink) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return use(s)
}

func sinkAlarm(s Sink, err error) Alarm {
	return Alarm{
		Name:     "sink-failed",
		Severity: Warning,
		Sentence: fmt.Sprintf("%s stopped receiving events: %v; training goes on, events.jsonl has everything", s.Name(), err),
		Fix:      "free the disk or fix the folder's permissions; the next leg starts the sink again",
	}
}

func eventsAlarm(err error) Alarm {
	return Alarm{
		Name:     "events-not-written",
		Severity: Critical,
		Sentence: fmt.Sprintf("%v; training goes on, but the report will have a gap", err),
		Fix:      "free the disk or fix the folder's permissions",
	}
}
