// A line is a checksum, the line's number, and a record. The checksum goes on from that of the line before, so lines that are
// changed, missing, doubled, moved, or another file's are found; missing ones at the end show against a Seal.

package chained

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chain is the end of what has been written or read. The zero Chain begins a file.
type Chain struct {
	lines int
	sum   uint32
}

// Seal is the end of a file, to be kept elsewhere.
type Seal struct {
	Lines int    `json:"lines"`
	Sum   string `json:"sum"` // checksum of all of them
}

// Seal returns the end.
func (c Chain) Seal() Seal { return Seal{c.lines, fmt.Sprintf("%08x", c.sum)} }

// next is the chain behind one line more: its number and its record.
func (c Chain) next(numbered []byte) Chain {
	return Chain{c.lines + 1, crc32.Update(c.sum, castagnoli, numbered)}
}

// add makes the line of a record.
func (c *Chain) add(record []byte) []byte {
	numbered := append(fmt.Appendf(make([]byte, 0, len(record)+20), "%d ", c.lines), record...)
	*c = c.next(numbered)
	return append(append(fmt.Appendf(make([]byte, 0, len(numbered)+10), "%08x ", c.sum), numbered...), '\n')
}

// parse reads the next line, without its end, and returns its record.
func (c *Chain) parse(line []byte) (record []byte, err error) {
	sum, numbered, _ := bytes.Cut(line, []byte(" "))
	number, record, ok := bytes.Cut(numbered, []byte(" "))
	if !ok {
		return nil, errors.New("it does not begin with a checksum and a number")
	}
	if string(number) != strconv.Itoa(c.lines) {
		return nil, fmt.Errorf("line %.20q stands where line %d belongs", number, c.lines)
	}
	next := c.next(numbered)
	if fmt.Sprintf("%08x", next.sum) != string(sum) {
		return nil, errors.New("its checksum is another")
	}
	*c = next
	return record, nil
}

// ErrDamaged says that a file is not what was written.
var ErrDamaged = errors.New("it is damaged")

// Read calls each with each record, which it must not keep. It returns the chain and the bytes of the lines that were finished:
// a last one without its line end was not. An error of each, like a line that does not fit, is ErrDamaged, unless it says that
// another file is there and cannot be read now.
func Read(data []byte, each func(record []byte) error) (c Chain, size int, err error) {
	for {
		n := bytes.IndexByte(data[size:], '\n')
		if n < 0 {
			break
		}
		record, err := c.parse(data[size : size+n])
		if err == nil {
			err = each(record)
		}
		if other, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(other, fs.ErrNotExist) {
			return c, size, fmt.Errorf("byte %d: %w", size, err)
		}
		if err != nil {
			return c, size, fmt.Errorf("byte %d: %w: %w", size, ErrDamaged, err)
		}
		size += n + 1
	}
	if c.lines == 0 {
		return c, size, fmt.Errorf("%w: it holds no finished line", ErrDamaged)
	}
	return c, size, nil
}
