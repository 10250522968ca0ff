// Reading events.jsonl back. The file may have been written by a process that was killed, or by somebody else.

package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxEvent is the longest line of events.jsonl that is read, in bytes.
const maxEvent = 8 << 20

// Read gives the folded events of a run, oldest first. A torn last line is ignored; any other damage is an error.
func Read(path string) ([]Record, error) {
	records, _, err := readAll(path)
	return Fold(records), err
}

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
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(lines, maxEvent)
		if errors.Is(err, io.EOF) {
			return records, whole, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		record, err := decode(text)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d is not an event: %w", n, err)
		}
		if k := len(records); k > 0 && record.Seq <= records[k-1].Seq {
			return nil, 0, fmt.Errorf("line %d: seq %d after %d; every event has a larger one", n, record.Seq, records[k-1].Seq)
		}
		records = append(records, record)
		whole += int64(len(text))
	}
}

// readLine reads a line with its newline. A last line without one is torn, and reads as the end.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(part) > limit {
			return nil, fmt.Errorf("longer than %d bytes", limit)
		}
		text = append(text, part...)
		switch {
		case err == nil:
			return bytes.Clone(text), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Fold leaves out what was measured in work that was discarded: see Rewound. What attempts did (started, rewound, ended)
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
