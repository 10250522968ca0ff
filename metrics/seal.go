// A line of events.jsonl ends with a checksum of what stands before it, so that a flipped bit is found, and in which line:
//
//	{"seq":12, … ,"data":{ … },"crc":"9a3f00c1"}
//
// Lines without one were written by an older program; in a file that has some, every later line has one.

package metrics

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// checksum spells a checksum of text.
func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) }

const (
	sealBefore = `,"crc":"`
	sealAfter  = `"}`
	sealLen    = len(sealBefore) + 8 + len(sealAfter)
)

// seal ends a JSON object with its checksum.
func seal(object []byte) []byte {
	open := bytes.TrimSuffix(object, []byte("}"))
	return fmt.Appendf(open, "%s%s%s", sealBefore, checksum(open), sealAfter)
}

// checkSeal reports whether a line has a checksum, and whether it is another than its text has.
func checkSeal(line []byte) (sealed bool, err error) {
	line = bytes.TrimRight(line, "\r\n")
	at := len(line) - sealLen
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sealBefore)) || !bytes.HasSuffix(line, []byte(sealAfter)) {
		return false, nil
	}
	if says, is := string(line[at+len(sealBefore):len(line)-len(sealAfter)]), checksum(line[:at]); says != is {
		return true, fmt.Errorf("its checksum is %s where the line says %s: something changed it after it was written", is, says)
	}
	return true, nil
}
