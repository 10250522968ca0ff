// The members of a row that a prompt is made of.

package prompts

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

func readImages(_ *Prompt, members map[string]jsontext.Value, k *Keys) *fault {
	v, ok := members[k.Images]
	if k.Images == "" || !ok || v.Kind() == 'n' || string(v) == "[]" || string(v) == `""` {
		return nil
	}
	return &fault{k.Images, "holds images, which no engine here can read", "remove the row, or the key where the text stands alone"}
}

// readTask reads what the prompt asks: messages under their own key, or text or messages under the input key.
func readTask(p *Prompt, members map[string]jsontext.Value, k *Keys) *fault {
	if k.Messages != "" {
		v, f := member(members, k.Messages)
		if f != nil {
			return f
		}
		p.Messages = v
		return messages(k.Messages, v)
	}
	v, f := member(members, k.Input)
	if f != nil {
		return f
	}
	if v.Kind() == '[' {
		p.Messages = v
		return messages(k.Input, v)
	}
	if v.Kind() != '"' {
		return &fault{k.Input, kind(v) + " where text or an array of messages is needed", "write it as a JSON string"}
	}
	if p.Input = text(v); strings.TrimSpace(p.Input) == "" {
		return &fault{k.Input, "empty", "write the task, or remove the row"}
	}
	return nil
}

// messages checks no more than what an array of messages must be for anyone: what a message means is for others to know.
func messages(key string, v jsontext.Value) *fault {
	if v.Kind() != '[' {
		return &fault{key, kind(v) + " where an array of messages is needed", `write [{"role": "user", "content": "..."}]`}
	}
	return objects(key, v, "message", false)
}

func readTools(p *Prompt, members map[string]jsontext.Value, k *Keys) *fault {
	if k.Tools == "" {
		return nil
	}
	v, f := member(members, k.Tools)
	if f != nil || v.Kind() == 'n' {
		return f
	}
	if v.Kind() != '[' {
		return &fault{k.Tools, kind(v) + " where an array of tool definitions is needed", "write an array, [] or null for none"}
	}
	p.Tools = v
	return objects(k.Tools, v, "tool definition", true)
}

// objects checks that an array holds objects and nothing else.
func objects(key string, v jsontext.Value, what string, mayBeEmpty bool) *fault {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return syntax(err)
	}
	n := 0
	for ; d.PeekKind() != ']'; n++ {
		one, err := d.ReadValue()
		if err != nil {
			return syntax(err)
		}
		if one.Kind() != '{' {
			return &fault{key, fmt.Sprintf("%s %d is %s, not an object", what, n, kind(one)), "write every " + what + " as an object"}
		}
	}
	if n == 0 && !mayBeEmpty {
		return &fault{key, "no " + what, "write at least one, or remove the row"}
	}
	return nil
}

func readLabel(p *Prompt, members map[string]jsontext.Value, k *Keys) *fault {
	if k.Label == "" {
		return nil
	}
	v, f := member(members, k.Label)
	if f != nil {
		return f
	}
	switch v.Kind() {
	case 'n': // no label
	case '"':
		p.Label = text(v)
	default:
		p.Label = string(v)
	}
	return nil
}

func readID(p *Prompt, members map[string]jsontext.Value, k *Keys) *fault {
	if k.ID == "" {
		return nil
	}
	v, f := member(members, k.ID)
	if f != nil {
		return f
	}
	switch v.Kind() {
	case '"':
		p.ID = text(v)
	case '0':
		p.ID = string(v)
	}
	if p.ID == "" || len(p.ID) > maxID || strings.ContainsFunc(p.ID, unicode.IsControl) {
		return &fault{k.ID, "not an id", fmt.Sprintf("write text of 1 to %d bytes without control characters, or a number", maxID)}
	}
	return nil
}

const maxID = 256

// member gives the value of a key that every row must have.
func member(members map[string]jsontext.Value, key string) (jsontext.Value, *fault) {
	if v, ok := members[key]; ok {
		return v, nil
	}
	return nil, &fault{key, Missing, "add it, or name the key that the rows use: " + keys(members)}
}

// keys lists what a row has, for the sentence that says what it lacks.
func keys(members map[string]jsontext.Value) string {
	names := slices.Sorted(maps.Keys(members))
	if len(names) == 0 {
		return "this row has none"
	}
	const most = 8
	tail := ""
	if len(names) > most {
		names, tail = names[:most], ", ..."
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%.40q", name)
	}
	return strings.Join(names, ", ") + tail
}

// text is the value of a JSON string.
func text(v jsontext.Value) string {
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		panic("prompts: a string that was read before: " + err.Error())
	}
	return string(s)
}

func kind(v jsontext.Value) string {
	switch v.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "text"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "nothing"
}
