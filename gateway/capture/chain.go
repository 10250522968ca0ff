// Lines of a journal: a checksum, the line's number, and a record. The checksum goes on from that of the line before.

package capture

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chain is the end of what has been written or read. The zero chain begins a journal.
type chain struct {
	lines int
	sum   uint32
}

// next is the chain behind one line more: its number and its record.
func (c chain) next(numbered []byte) chain {
	return chain{c.lines + 1, crc32.Update(c.sum, castagnoli, numbered)}
}

// add makes the line of a record.
func (c *chain) add(record []byte) []byte {
	numbered := append(fmt.Appendf(make([]byte, 0, len(record)+20), "%d ", c.lines), record...)
	*c = c.next(numbered)
	return append(append(fmt.Appendf(make([]byte, 0, len(numbered)+10), "%08x ", c.sum), numbered...), '\n')
}

// parse reads the next line, without its end.
func (c *chain) parse(line []byte) (record, error) {
	var r record
	sum, numbered, _ := bytes.Cut(line, []byte(" "))
	number, body, ok := bytes.Cut(numbered, []byte(" "))
	if !ok {
		return r, errors.New("it does not begin with a checksum and a number")
	}
	if string(number) != strconv.Itoa(c.lines) {
		return r, fmt.Errorf("line %.20q stands where line %d belongs", number, c.lines)
	}
	next := c.next(numbered)
	if fmt.Sprintf("%08x", next.sum) != string(sum) {
		return r, errors.New("its checksum is another")
	}
	*c = next
	return r, json.Unmarshal(body, &r)
}
