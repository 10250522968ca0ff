// Names that cannot be guessed, and what they are made of.

package capture

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// callID names a call of a turn: nine letters and digits, as Mistral's templates want, that nobody can guess who does not
// know the turn's name.
func callID(turn string, index int) string {
	sum := sha256.Sum256([]byte("call " + turn + " " + strconv.Itoa(index)))
	n := binary.LittleEndian.Uint64(sum[:])
	var id [9]byte
	for i := range id {
		id[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(id[:])
}

func prefix(handle string) string {
	before, _, _ := strings.Cut(handle, "_")
	return before
}

func lastField(handle string) string { return handle[strings.LastIndexByte(handle, '_')+1:] }
