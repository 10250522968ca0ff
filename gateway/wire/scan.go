// JSON read by spans. A conversation that grows is sent whole every time; parsing it whole every time costs more than
// anything else a gateway does. So a body is cut into the spans of its values without looking into them, and only spans
// that were not seen before are parsed. Every byte is validated once: a span that was never parsed is never used.

package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
)

var (
	errEnds  = errors.New("the text ends inside a value")
	errNoObj = errors.New("want a JSON object")
	errNoArr = errors.New("want a JSON array")
)

// Members calls member with the name of each value of a JSON object and everything from the value on. It returns the length
// of the value: that of Spans, or of Length.
func Members(data []byte, member func(name string, rest []byte) (int, error)) error {
	i := space(data, 0)
	if i == len(data) || data[i] != '{' {
		return errNoObj
	}
	seen := map[string]bool{}
	i, err := list(data, i+1, '}', func(i int) (int, error) {
		end, err := text(data, i)
		if err != nil {
			return 0, err
		}
		raw, err := jsontext.AppendUnquote(nil, data[i:end])
		if err != nil {
			return 0, err
		}
		name := string(raw)
		if seen[name] {
			return 0, fmt.Errorf("the name %.60q appears twice", name)
		}
		seen[name] = true
		i = space(data, end)
		if i == len(data) || data[i] != ':' {
			return 0, errors.New("no colon behind a name")
		}
		i = space(data, i+1)
		n, err := member(name, data[i:])
		return i + n, err
	})
	return finish(data, i, err)
}

// Length is the length of the value that data begins with.
func Length(data []byte) (int, error) { return skip(data, 0) }

// Spans returns the spans of the values of the array that data begins with, and the length of the array.
func Spans(data []byte) (spans [][]byte, length int, err error) {
	if len(data) == 0 || data[0] != '[' {
		return nil, 0, errNoArr
	}
	length, err = list(data, 1, ']', func(i int) (int, error) {
		end, err := skip(data, i)
		if err != nil {
			return 0, err
		}
		spans = append(spans, data[i:end])
		return end, nil
	})
	return spans, length, err
}

func finish(data []byte, i int, err error) error {
	if err == nil && space(data, i) != len(data) {
		return errors.New("there is more text after the value")
	}
	return err
}

// list reads entries with commas between them, up to the closing bracket. It returns the index behind that.
func list(data []byte, i int, closing byte, entry func(i int) (int, error)) (int, error) {
	i = space(data, i)
	if i < len(data) && data[i] == closing {
		return i + 1, nil
	}
	for {
		end, err := entry(i)
		if err != nil {
			return 0, err
		}
		i = space(data, end)
		switch {
		case i == len(data):
			return 0, errEnds
		case data[i] == closing:
			return i + 1, nil
		case data[i] != ',':
			return 0, errors.New("no comma between two values")
		}
		i = space(data, i+1)
	}
}

// space is the index of the first byte from i on that is no whitespace.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip is the index behind the value that begins at i. It looks at strings and brackets, not at what they hold.
func skip(data []byte, i int) (int, error) {
	depth := 0
	for from := i; i < len(data); {
		switch c := data[i]; c {
		case '"':
			end, err := text(data, i)
			if err != nil {
				return 0, err
			}
			i = end
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return closed(i, from)
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return closed(i, from)
			}
			i++
			continue
		default:
			for i < len(data) && literal[data[i]] {
				i++
			}
			if i < len(data) && !ends[data[i]] {
				return 0, errors.New("an unexpected character")
			}
		}
		if depth == 0 {
			return i, nil
		}
	}
	return 0, errEnds
}

func closed(i, from int) (int, error) {
	if i == from {
		return 0, errors.New("a value is missing")
	}
	return i, nil
}

var literal, ends = func() (in, out [256]bool) {
	for _, c := range []byte("truefalsn+-.0123456789eE") {
		in[c] = true
	}
	for _, c := range []byte("]},: \n\t\r") {
		out[c] = true
	}
	return in, out
}()

// text is the index behind the string that begins at i: behind the first quote that no backslash escapes.
func text(data []byte, i int) (int, error) {
	if i == len(data) || data[i] != '"' {
		return 0, errors.New("no string where one must be")
	}
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return 0, errEnds
		}
		quote := from + n
		slash := quote
		for slash > i+1 && data[slash-1] == '\\' {
			slash--
		}
		if from = quote + 1; (quote-slash)%2 == 0 {
			return from, nil
		}
	}
}
