// Values from and to JSON text.

package chat

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth bounds the nesting of a value: templates and printers walk values recursively.
const maxDepth = 128

// ParseValue reads exactly one JSON value. Duplicate keys, text that is not UTF-8, and nesting deeper than 128 are
// refused.
func ParseValue(data []byte) (Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	v, err := readValue(d, 0)
	if err != nil {
		return Value{}, fmt.Errorf("chat: reading JSON: %w", plain(err))
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return Value{}, fmt.Errorf("chat: reading JSON: there is more text after the value")
	}
	return v, nil
}

// plain names an unexpected end, which the decoder reports in two ways.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the text ends inside the value")
	}
	return err
}

func readValue(d *jsontext.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := d.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch token.Kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		return Bool(token.Bool()), nil
	case jsontext.KindString:
		return String(token.String()), nil
	case jsontext.KindNumber:
		return number(token.String()), nil
	case jsontext.KindBeginArray:
		return readArray(d, depth+1)
	case jsontext.KindBeginObject:
		return readObject(d, depth+1)
	}
	return Value{}, nil
}

func number(literal string) Value {
	literal = strings.Clone(literal)
	if strings.ContainsAny(literal, ".eE") {
		return Value{kind: KindFloat, text: literal}
	}
	return Value{kind: KindInt, text: literal}
}

func readArray(d *jsontext.Decoder, depth int) (Value, error) {
	v := Value{kind: KindArray}
	for d.PeekKind() != jsontext.KindEndArray {
		item, err := readValue(d, depth)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.ReadToken()
	return v, err
}

func readObject(d *jsontext.Decoder, depth int) (Value, error) {
	v := Value{kind: KindObject}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return v, err
		}
		key := name.String()
		value, err := readValue(d, depth)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, Member{key, value})
	}
	_, err := d.ReadToken()
	return v, err
}

// AppendJSON appends the value as compact JSON. Bytes of a string that are not UTF-8 become U+FFFD.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindString:
		dst, _ = jsontext.AppendQuote(dst, v.text) // an error only says that bytes were replaced
		return dst
	case KindArray:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = jsontext.AppendQuote(dst, m.Name)
			dst = m.Value.AppendJSON(append(dst, ':'))
		}
		return append(dst, '}')
	}
	return append(dst, v.text...)
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) (err error) {
	*v, err = ParseValue(data)
	return err
}
