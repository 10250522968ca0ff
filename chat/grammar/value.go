// Reading a schema's own JSON.

package grammar

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
)

// Bounds of a schema's text.
const (
	maxBytes   = 1 << 20
	maxNesting = 128
)

// value is a JSON value in the order in which it was written.
type value struct {
	kind    jsontext.Kind // of the token that it begins with; of a boolean, KindTrue for either
	text    string        // of a string; the literal of anything else that has no parts
	items   []*value
	members []member
}

type member struct {
	name  string
	value *value
}

func (v *value) get(name string) *value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func parse(text []byte) (*value, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes; at most %d", len(text), maxBytes)
	}
	if !jsontext.Value(text).IsValid() {
		return nil, fmt.Errorf("it is not one JSON value with names that differ, in UTF-8")
	}
	return readValue(jsontext.NewDecoder(strings.NewReader(string(text))), 0)
}

func readValue(d *jsontext.Decoder, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it is nested deeper than %d", maxNesting)
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &value{kind: t.Kind()}
	switch v.kind {
	case jsontext.KindBeginArray:
		for d.PeekKind() != jsontext.KindEndArray {
			item, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		_, err = d.ReadToken()
	case jsontext.KindBeginObject:
		for d.PeekKind() != jsontext.KindEndObject {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: strings.Clone(name.String())}
			if m.value, err = readValue(d, depth+1); err != nil {
				return nil, err
			}
			v.members = append(v.members, m)
		}
		_, err = d.ReadToken()
	default:
		v.text = strings.Clone(t.String())
	}
	if v.kind == jsontext.KindFalse {
		v.kind = jsontext.KindTrue
	}
	return v, err
}

// spell writes a value as a reply must.
func (v *value) spell() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v *value) write(b *strings.Builder) {
	switch v.kind {
	case jsontext.KindString:
		b.WriteString(quote(v.text))
	case jsontext.KindBeginArray:
		b.WriteByte('[')
		for i, item := range v.items {
			separate(b, i)
			item.write(b)
		}
		b.WriteByte(']')
	case jsontext.KindBeginObject:
		b.WriteByte('{')
		for i, m := range v.members {
			separate(b, i)
			b.WriteString(quote(m.name) + ": ")
			m.value.write(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.text)
	}
}

func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// quote spells a string with no more escapes than JSON demands.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			if i := strings.IndexByte("\b\t\n\f\r", c); i >= 0 {
				b.WriteByte('\\')
				b.WriteByte("btnfr"[i])
			} else {
				fmt.Fprintf(&b, `\u%04x`, c)
			}
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
