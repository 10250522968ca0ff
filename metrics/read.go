// Reading events.jsonl back. The file may have been written by a process that was killed, or by somebody else.

package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxEvent is the longest line of events.jsonl that is read, in bytes.
const maxEvent = 8 << 20

// readAll gives the events as written, and the length in bytes of the file's whole lines.
func readAll(path string) (records []Record, whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("metrics: read events: %w", err)
	}
	defer f.Close()
	records, whole, err = readRecords(f)
	if err != nil {
		return nil, 0, fmt.Errorf("metrics: read %s: %w", path, err)
	}
	return records, whole, nil
}

func readRecords(r io.Reader) (records []Record, whole int64, err error) {
	var so reader
	err = eachLine(r, func(n int, text []byte, damage error) error {
		if damage == nil {
			damage = so.take(text)
		}
		if damage != nil {
			return fmt.Errorf("line %d %w", n, damage)
		}
		whole += int64(len(text))
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return so.records, whole, nil
}

// Salvage reads what can be read: the folded events, and an error that says of every line that is not an event, or not the one
// that was written, which it is and why, and which events are missing. records is nil only when the file cannot be read.
func Salvage(path string) (records []Record, damage error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("metrics: read events: %w", err)
	}
	defer f.Close()
	var found faults
	var so reader
	err = eachLine(f, func(n int, text []byte, damage error) error {
		wanted := so.next()
		if damage == nil {
			damage = so.take(text)
		}
		if damage != nil {
			found.add("line %d %v", n, damage)
		} else if last := so.next() - 1; last > wanted {
			found.add("%s missing before line %d", span(wanted, last-1), n)
		}
		return nil
	})
	if err != nil {
		found.add("%v", err)
	}
	return append([]Record{}, Fold(so.records)...), found.err(path)
}

// faults are the first of many.
type faults struct {
	list []string
	more int
}

func (f *faults) add(format string, args ...any) {
	const most = 8
	if len(f.list) < most {
		f.list = append(f.list, fmt.Sprintf(format, args...))
	} else {
		f.more++
	}
}

func (f *faults) err(path string) error {
	if len(f.list) == 0 {
		return nil
	}
	text := strings.Join(f.list, "; ")
	if f.more > 0 {
		text += fmt.Sprintf("; and %d more", f.more)
	}
	return fmt.Errorf("metrics: read %s: %s", path, text)
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprintf("event %d is", first)
	}
	return fmt.Sprintf("events %d to %d are", first, last)
}

// reader is what was read so far.
type reader struct {
	records []Record
	sealed  bool // lines have checksums
}

// next is the number that follows.
func (r *reader) next() int64 {
	if len(r.records) == 0 {
		return 1
	}
	return r.records[len(r.records)-1].Seq + 1
}

// take reads the next line, or says in words that follow "line N" what is wrong with it.
func (r *reader) take(text []byte) error {
	sealed, err := checkSeal(text)
	if err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	record, err := decode(text)
	switch {
	case err != nil:
		return fmt.Errorf("is not an event: %w", err)
	case record.Seq < r.next() && len(r.records) > 0:
		return fmt.Errorf("is out of order: seq %d after %d; every event has a larger one", record.Seq, r.next()-1)
	case r.sealed && !sealed:
		return errors.New("is damaged: it has no checksum, and lines before it have one")
	}
	r.records, r.sealed = append(r.records, record), sealed
	return nil
}

// eachLine calls do with every whole line, from 1, or with what is wrong with it, until do returns an error. A last line
// without a newline is torn, and reads as the end.
func eachLine(r io.Reader, do func(n int, text []byte, damage error) error) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(lines, maxEvent)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errTooLong):
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := do(n, text, err); err != nil {
			return err
		}
	}
}

var errTooLong = fmt.Errorf("is longer than %d bytes", maxEvent)

// readLine reads a line with its newline. Of one above the limit it gives nothing, and stands behind it afterwards.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(text)+len(part) > limit; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case err == nil && long:
			return nil, errTooLong
		case err == nil:
			return bytes.Clone(text), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Fold leaves out what was measured in work that was discarded: see Rewound. What legs did (started, rewound, ended)
// and notes stay. Folding twice is the same as folding once.
func Fold(records []Record) []Record {
	var folded []Record
	for _, r := range records {
		if back, ok := r.Event.(Rewound); ok {
			folded = discard(folded, back.ToSeq)
		}
		folded = append(folded, r)
	}
	return folded
}

func discard(records []Record, toSeq int64) []Record {
	kept := records[:0:0]
	for _, r := range records {
		if r.Seq <= toSeq || staysWhenRewound(r.Event) {
			kept = append(kept, r)
		}
	}
	return kept
}

func staysWhenRewound(e Event) bool {
	switch e.(type) {
	case RunStarted, Rewound, RunEnded, Note:
		return true
	}
	return false
}
