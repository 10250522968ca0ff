// JSON objects whose members keep their order.

package tokenizer

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
)

type object []member

type member struct {
	name  string
	value jsontext.Value
}

// maxMembers bounds the objects that are changed, which takes time that grows with their square.
const maxMembers = 1 << 10

// readObject reads a text, which may be absent.
func readObject(what string, text []byte) (object, error) {
	if text == nil {
		return nil, nil
	}
	o := object{}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", what, readable(err))
	}
	return o, nil
}

// readSmallObject refuses one with many members.
func readSmallObject(what string, text []byte) (object, error) {
	o, err := readObject(what, text)
	if err == nil && len(o) > maxMembers {
		err = fmt.Errorf("%s: has %d members; at most %d", what, len(o), maxMembers)
	}
	return o, err
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *object) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != '{' {
		return fmt.Errorf("a JSON %s does not belong here", kind)
	}
	dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := member{name: name.String()}
		if err := json.UnmarshalDecode(dec, &m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	_, err := dec.ReadToken()
	return err
}

func (o object) find(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// get returns nil for a member that is absent.
func (o object) get(name string) jsontext.Value {
	if i := o.find(name); i >= 0 {
		return o[i].value
	}
	return nil
}

// with sets a member, in its place where there is one.
func (o object) with(name string, value jsontext.Value) object {
	o = slices.Clone(o)
	if i := o.find(name); i >= 0 {
		o[i].value = value
		return o
	}
	return append(o, member{name, value})
}

func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// emptyValue reports whether a value is absent, or holds nothing.
func emptyValue(v jsontext.Value) bool {
	return null(v) || v.Kind() != '0' && len(v) >= 2 && strings.TrimSpace(string(v[1:len(v)-1])) == ""
}

// united is the elements of a list, which may be absent, and then those of another that it lacks.
func united(a, b jsontext.Value) (jsontext.Value, error) {
	var all, more []jsontext.Value
	if !null(a) {
		if err := json.Unmarshal(a, &all); err != nil {
			return nil, readable(err)
		}
	}
	if err := json.Unmarshal(b, &more); err != nil {
		return nil, readable(err)
	}
	seen := make(map[string]bool, len(all))
	for _, v := range all {
		seen[string(v)] = true
	}
	for _, v := range more {
		if !seen[string(v)] {
			all, seen[string(v)] = append(all, v), true
		}
	}
	return json.Marshal(all)
}
