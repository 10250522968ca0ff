// JSON as people wrote it: the order of keys and the literal of every number survive, because both reach the prompt.

package chat

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a Value.
type Kind uint8

const (
	KindNull Kind = iota
	KindBool
	KindInt   // a number without fraction and exponent
	KindFloat // any other number
	KindString
	KindArray
	KindObject
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}[k]
}

// Value is an immutable JSON value. The zero Value is null.
type Value struct {
	kind    Kind
	text    string // of a string; the literal of a number; "true" or "false"
	items   []Value
	members []Member
}

// Member is one entry of an object.
type Member struct {
	Name  string
	Value Value
}

// Bool returns a boolean value.
func Bool(b bool) Value { return Value{kind: KindBool, text: strconv.FormatBool(b)} }

// Int returns an integer value.
func Int(i int64) Value { return Value{kind: KindInt, text: strconv.FormatInt(i, 10)} }

// Float returns a number that reads as one with a fraction, also when it is whole. NaN and infinities panic: JSON has none.
func Float(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic("chat: Float of " + strconv.FormatFloat(f, 'g', -1, 64))
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return Value{kind: KindFloat, text: text}
}

// String returns a string value.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Array returns an array of copies of items.
func Array(items ...Value) Value { return Value{kind: KindArray, items: slices.Clone(items)} }

// Object returns an object with these members in this order. A name that appears twice panics.
func Object(members ...Member) Value {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.Name] {
			panic("chat: Object with two members " + strconv.Quote(m.Name))
		}
		seen[m.Name] = true
	}
	return Value{kind: KindObject, members: slices.Clone(members)}
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// Text returns the content of a string and "" for anything else.
func (v Value) Text() string {
	if v.kind != KindString {
		return ""
	}
	return v.text
}

// IsTrue reports whether the value is true.
func (v Value) IsTrue() bool { return v.kind == KindBool && v.text == "true" }

// Int64 returns an integer that fits.
func (v Value) Int64() (int64, bool) {
	if v.kind != KindInt {
		return 0, false
	}
	i, err := strconv.ParseInt(v.text, 10, 64)
	return i, err == nil
}

// Float64 returns a number that is finite in 64 bits.
func (v Value) Float64() (float64, bool) {
	if v.kind != KindInt && v.kind != KindFloat {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// Items returns the elements of an array. The caller must not change them.
func (v Value) Items() []Value { return v.items }

// Members returns the entries of an object in order. The caller must not change them.
func (v Value) Members() []Member { return v.members }

// Get returns the member of an object with this name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Equal reports whether two values mean the same: the order of keys does not matter, the literal of a number does.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.text != w.text || len(v.items) != len(w.items) || len(v.members) != len(w.members) {
		return false
	}
	for i := range v.items {
		if !v.items[i].Equal(w.items[i]) {
			return false
		}
	}
	return equalMembers(v.members, w.members)
}

func equalMembers(a, b []Member) bool {
	inOrder := true
	for i := range a {
		inOrder = inOrder && a[i].Name == b[i].Name
	}
	if inOrder {
		return slices.EqualFunc(a, b, func(x, y Member) bool { return x.Value.Equal(y.Value) })
	}
	other := make(map[string]Value, len(b))
	for _, m := range b {
		other[m.Name] = m.Value
	}
	for _, m := range a {
		w, ok := other[m.Name]
		if !ok || !m.Value.Equal(w) {
			return false
		}
	}
	return true
}

// String returns the value as compact JSON.
func (v Value) String() string { return string(v.AppendJSON(nil)) }
