// One line of a file becomes one prompt, or one sentence.

package prompts

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep arrays and objects of a row may nest.
const maxDepth = 64

// parseRow reads one line, without its end. ID is empty where k.ID is.
func parseRow(line []byte, k *Keys) (Prompt, *fault) {
	if f := scan(line); f != nil {
		return Prompt{}, f
	}
	members, f := split(line, k)
	if f != nil {
		return Prompt{}, f
	}
	var p Prompt
	for _, read := range []func(*Prompt, map[string]jsontext.Value, *Keys) *fault{readImages, readTask, readTools, readLabel, readID} {
		if f := read(&p, members, k); f != nil {
			return Prompt{}, f
		}
	}
	return p, nil
}

// scan refuses what no parser should see, without looking at the grammar: bytes that are not text, NUL, deep nesting.
func scan(line []byte) *fault {
	if !utf8.Valid(line) {
		return &fault{what: fmt.Sprintf("not UTF-8 at byte %d", invalidAt(line)), fix: "save the file as UTF-8"}
	}
	depth, inString := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == 0:
			return &fault{what: fmt.Sprintf("a NUL byte at byte %d", i), fix: "remove it"}
		case inString && c == '\\':
			if bytes.HasPrefix(line[i+1:], []byte("u0000")) {
				return &fault{what: fmt.Sprintf("an escaped NUL at byte %d", i), fix: "remove it"}
			}
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return &fault{what: fmt.Sprintf("nested deeper than %d levels", maxDepth), fix: "flatten the row, or hold the value as text"}
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func invalidAt(line []byte) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(line)
}

// split gives the members of the object on the line. Those that k names come with a copy of the line's bytes, others
// without a value.
func split(line []byte, k *Keys) (map[string]jsontext.Value, *fault) {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil {
			return nil, syntax(err)
		}
		return nil, &fault{what: "a row must be an object", fix: `write {"key": value, ...} on each line`}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	members := map[string]jsontext.Value{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, syntax(err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, syntax(err)
		}
		if k.reads(key) {
			value = value.Clone()
		} else {
			value = nil
		}
		members[key] = value
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &fault{what: "more text after the object", fix: "write one object on each line"}
	}
	return members, nil
}

func (k *Keys) reads(key string) bool {
	switch key {
	case k.Input, k.Messages, k.Label, k.Tools, k.ID, k.Images:
		return true
	}
	return false
}

func syntax(err error) *fault {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &fault{what: "the object is cut off", fix: "write each object whole on one line"}
	}
	what := strings.TrimPrefix(err.Error(), "jsontext: ")
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &fault{what: what, fix: "keep one of the two members"}
	}
	return &fault{what: "not JSON: " + what, fix: "write one JSON object on each line"}
}
