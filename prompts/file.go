// One file becomes one set, or a list of everything that is wrong with it.

package prompts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// SetConfig says where a set is and how to read it.
type SetConfig struct {
	Name       string  // in metrics and reports; "" uses the path
	Path       string  // a JSONL file: one object on each line
	Weight     float64 // share of this set in a mix, relative to the others; 0 counts its rows
	Keys       Keys
	MaxSamples int  // read so many rows and no more; 0 reads all
	SkipBad    bool // leave bad rows out and list them in Set.Skipped, instead of refusing the file
}

// maxLine bounds one line, in bytes. A longer one is refused and never held in memory.
const maxLine = 16 << 20

// Load reads a set from its file.
func Load(c SetConfig) (*Set, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	f, err := os.Open(c.Path)
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	defer f.Close() // read only: nothing can be lost
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	} else if info.IsDir() {
		return nil, Problems{List: []Problem{{File: c.Path, What: "is a folder", Fix: "name a JSONL file in it"}}}
	}
	return Read(f, c)
}

// Validate reports everything that is wrong with the settings.
func (c *SetConfig) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("prompts: set %q: "+format, append([]any{c.name()}, args...)...))
	}
	if c.Path == "" {
		bad("Path is empty; name a JSONL file")
	}
	if !(c.Weight >= 0) || math.IsInf(c.Weight, 0) {
		bad("Weight is %v; want a finite number, 0 (count its rows) or more", c.Weight)
	}
	if c.MaxSamples < 0 {
		bad("MaxSamples is %d; want 0 (all) or more", c.MaxSamples)
	}
	if (c.Keys.Input == "") == (c.Keys.Messages == "") {
		bad("Keys.Input is %q and Keys.Messages is %q; want exactly one of them", c.Keys.Input, c.Keys.Messages)
	}
	return errors.Join(errs...)
}

func (c *SetConfig) name() string {
	if c.Name == "" {
		return c.Path
	}
	return c.Name
}

// Read is Load for bytes from anywhere; c.Path names them in problems.
func Read(r io.Reader, c SetConfig) (*Set, error) {
	l := loader{
		c:    c,
		set:  &Set{Name: c.name(), weight: c.Weight},
		ids:  map[string]int{},
		seen: map[[sha256.Size]byte]bool{},
	}
	if err := l.lines(bufio.NewReaderSize(r, 64<<10)); err != nil {
		return nil, err
	}
	if c.SkipBad && len(l.set.rows) > 0 {
		l.set.Skipped = l.problems
		return l.set, nil
	}
	if l.problems.Len() == 0 && len(l.set.rows) == 0 {
		l.add(0, fault{what: "has no rows", fix: "write one JSON object on each line"})
	}
	if l.problems.Len() > 0 {
		return nil, l.problems
	}
	return l.set, nil
}

// loader is a set in the making.
type loader struct {
	c        SetConfig
	set      *Set
	problems Problems
	ids      map[string]int // line of each id
	seen     map[[sha256.Size]byte]bool
}

func (l *loader) add(line int, f fault) {
	l.problems.add(Problem{File: l.c.Path, Line: line, Field: f.field, What: f.what, Fix: f.fix})
}

// lines reads row after row. It returns an error for what makes all further rows meaningless.
func (l *loader) lines(r *bufio.Reader) error {
	if f := head(r); f != nil {
		return Problems{List: []Problem{{File: l.c.Path, What: f.what, Fix: f.fix}}}
	}
	for n := 1; l.c.MaxSamples == 0 || len(l.set.rows) < l.c.MaxSamples; n++ {
		line, whole, err := readLine(r)
		switch {
		case errors.Is(err, errLong):
			l.add(n, fault{what: fmt.Sprintf("the line is longer than %d MiB", maxLine>>20), fix: "split it, or keep large values in files of their own"})
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("prompts: %s:%d: %w", l.c.Path, n, err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.row(n, line, whole)
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// head looks at the first bytes for files that are something else.
func head(r *bufio.Reader) *fault {
	start, _ := r.Peek(4) // shorter at the end of the file, where no case below matches
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		return &fault{what: "starts with a byte order mark", fix: "save it as UTF-8 without one"}
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return &fault{what: "is UTF-16", fix: "save it as UTF-8"}
	case bytes.HasPrefix(start, []byte("\x1f\x8b")), bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		return &fault{what: "is compressed", fix: "decompress it first"}
	case bytes.HasPrefix(start, []byte("PAR1")):
		return &fault{what: "is Parquet", fix: "convert it to JSONL"}
	case bytes.HasPrefix(start, []byte("[")):
		return &fault{what: "is a JSON array", fix: "write one object on each line, without the brackets"}
	}
	return nil
}

var errLong = errors.New("line too long")

// readLine gives the next line with its end, valid until the next call. whole is false when the file ended without a line
// end. A line beyond maxLine is read past, and reported as errLong.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		long = long || len(line)+len(part) > maxLine
		switch {
		case long:
			line = nil
		case more || line != nil:
			line = append(line, part...)
		default:
			line = part
		}
		switch {
		case more:
		case long:
			return nil, false, errLong
		default:
			return line, err == nil, err
		}
	}
}

// row takes one line that is not blank into the set.
func (l *loader) row(n int, line []byte, whole bool) {
	p, f := parseRow(line, &l.c.Keys)
	if f != nil {
		if !whole {
			f = &fault{f.field, f.what + ", on the last line, which has no line end", "the file may be cut off: copy it again, or remove the line"}
		}
		l.add(n, *f)
		return
	}
	p.Source = l.set.Name
	if p.ID == "" {
		p.ID = strconv.Itoa(n)
	}
	if first, twice := l.ids[p.ID]; twice {
		l.add(n, fault{l.c.Keys.ID, fmt.Sprintf("id %q was used on line %d", p.ID, first), "give each row its own id"})
		return
	}
	l.ids[p.ID] = n
	task := p.task()
	if l.seen[task] {
		l.set.Repeated++
	}
	l.seen[task] = true
	l.set.rows = append(l.set.rows, p)
}
