// A file that fills in several places at once, and knows in which. Behind the bytes of the file lies a table of how many bytes
// of each span are there: what was killed goes on from it, and nothing can take the file, which is too long, for a complete one.
//
//	bytes of the file | "moltspan" | bytes of a span | of each span: bytes that are there        (numbers are uint64, little-endian)

package hub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

const spansMagic = "moltspan"

// spans is such a file. Each span belongs to one goroutine.
type spans struct {
	file     *os.File
	want     remoteFile
	bytes    int64   // of each span but the last
	done     []int64 // bytes of each span that are there
	progress *progress
}

// openSpans goes on with the file at path, else with the beginning of the file that lies at stream, else begins.
func openSpans(path, stream string, f remoteFile, large int64, p *progress) (*spans, error) {
	s := newSpans(f, large)
	s.progress = p
	if n := size(stream); n > 0 && n <= f.bytes && size(path) < 0 {
		if err := os.Rename(stream, path); err != nil {
			return nil, err
		}
		s.fillTo(n)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if s.file = file; s.have() == 0 {
		s.readTable()
	}
	p.add(f.name, s.have(), 0)
	if err := s.writeTable(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// newSpans is an empty one without a file. Eight spans or more, of an eighth of large to all of it, make the file.
func newSpans(f remoteFile, large int64) *spans {
	bytes := min(max(large, f.bytes)/8, large)
	return &spans{want: f, bytes: bytes, done: make([]int64, (f.bytes+bytes-1)/bytes)}
}

// fillTo notes that the first n bytes are there.
func (s *spans) fillTo(n int64) {
	for i := range s.done {
		s.done[i] = min(max(0, n-int64(i)*s.bytes), s.length(i))
	}
}

func (s *spans) length(i int) int64 { return min(s.bytes, s.want.bytes-int64(i)*s.bytes) }

func (s *spans) have() (n int64) {
	for _, done := range s.done {
		n += done
	}
	return n
}

// table is what lies behind the bytes of the file.
func (s *spans) table() []byte {
	t := binary.LittleEndian.AppendUint64([]byte(spansMagic), uint64(s.bytes))
	for _, done := range s.done {
		t = binary.LittleEndian.AppendUint64(t, uint64(done))
	}
	return t
}

// readTable takes over what an earlier download has left; what makes no sense counts as nothing. A file without a table was
// complete, and killed before it got its name.
func (s *spans) readTable() {
	info, err := s.file.Stat()
	if err == nil && info.Size() == s.want.bytes {
		s.fillTo(s.want.bytes)
		return
	}
	head := len(spansMagic) + 8
	t := make([]byte, len(s.table()))
	if err != nil || info.Size() != s.want.bytes+int64(len(t)) {
		return
	}
	if _, err := s.file.ReadAt(t, s.want.bytes); err != nil || string(t[:head]) != string(s.table()[:head]) {
		return
	}
	for i := range s.done {
		if n := binary.LittleEndian.Uint64(t[head+8*i:]); n <= uint64(s.length(i)) {
			s.done[i] = int64(n)
		}
	}
}

func (s *spans) writeTable() error {
	t := s.table()
	if err := s.file.Truncate(s.want.bytes + int64(len(t))); err != nil {
		return err
	}
	_, err := s.file.WriteAt(t, s.want.bytes)
	return err
}

// take adds bytes to span i, first to the file, then to the table.
func (s *spans) take(i int, p []byte) error {
	if _, err := s.file.WriteAt(p, int64(i)*s.bytes+s.done[i]); err != nil {
		return err
	}
	s.done[i] += int64(len(p))
	s.progress.add(s.want.name, int64(len(p)), 0)
	at := s.want.bytes + int64(len(spansMagic)) + 8 + 8*int64(i)
	if _, err := s.file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(s.done[i])), at); err != nil {
		return fmt.Errorf("note what is there: %w", err)
	}
	return nil
}

// arrived is how many bytes of f a file at path holds that openSpans would go on with.
func arrived(path string, f remoteFile, large int64) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	s := newSpans(f, large)
	s.file = file
	s.readTable()
	return s.have()
}
