// Values of templates. A value is a Go any that holds one of:
//
//	nil          None
//	bool, int64, float64, string
//	Int          an integer that does not fit into 64 bits: it can be printed and compared, not computed with
//	markup       a string that the filters safe and escape made
//	*List        a list, a tuple, a range, a view of a dictionary
//	*Dict        a mapping in the order of insertion
//	*Function    a macro, a method, a global
//	*namespace   what namespace() makes
//	*generator   what map, select and their like make
//	Undefined    what a name or an attribute that is not there gives

package jinja

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Int is the decimal literal of an integer of more than 64 bits.
type Int string

// Undefined is the value of what does not exist. Almost everything that is done with it fails.
type Undefined struct {
	what string // for the error: a sentence, or the kind of the object that lacks name
	name string // "" with a sentence
}

func (u Undefined) err() error {
	switch {
	case u.name == "":
		return errors.New(u.what)
	case u.what == "":
		return fmt.Errorf("%q is undefined", u.name)
	}
	return fmt.Errorf("%q object has no attribute %q", u.what, u.name)
}

// markup is text that is already escaped.
type markup string

// List is a list, or something else with items in order. It never changes.
type List struct {
	items []any
	form  form
}

// form is what Python has in place of a list.
type form uint8

const (
	isList form = iota
	isTuple
	isRange // has items and a length, but cannot be added or written as JSON
	isView  // of a dictionary: has no items by index either
)

// NewList returns a list that keeps items.
func NewList(items []any) *List { return &List{items: items} }

func tuple(items ...any) *List { return &List{items, isTuple} }

// Dict is a mapping. It does not change once a template has it.
type Dict struct {
	keys   []any
	values []any
	index  map[any]int // by hashKey
}

// NewDict returns an empty mapping with room for n entries.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]any, 0, n), values: make([]any, 0, n), index: make(map[any]int, n)}
}

// Set adds or replaces an entry.
func (d *Dict) Set(key string, value any) { d.set(key, key, value) }

func (d *Dict) set(hash, key, value any) {
	if i, ok := d.index[hash]; ok {
		d.values[i] = value
		return
	}
	d.index[hash] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, value)
}

func (d *Dict) get(key any) (any, bool) {
	hash, err := hashKey(key)
	if err != nil {
		return nil, false
	}
	i, ok := d.index[hash]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

// items are pairs of key and value.
func (d *Dict) items() []any {
	pairs := make([]any, len(d.keys))
	for i := range d.keys {
		pairs[i] = tuple(d.keys[i], d.values[i])
	}
	return pairs
}

// none and tupleKey stand for keys that are no simple Go value.
type (
	none     struct{}
	tupleKey string
)

// hashKey is what a key is found by: keys that are equal in Python have the same.
func hashKey(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return none{}, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
		return v, nil
	case markup:
		return string(v), nil
	case int64, string, Int:
		return v, nil
	case *List:
		if v.form != isTuple {
			break
		}
		key := tupleKey("")
		for _, item := range v.items {
			part, err := hashKey(item)
			if err != nil {
				return nil, err
			}
			key += tupleKey(fmt.Sprintf("%T:%q,", part, fmt.Sprint(part)))
		}
		return key, nil
	}
	return nil, fmt.Errorf("unhashable type: %s", kind(v))
}

// Function is something that can be called.
type Function struct {
	name string
	call func(r *render, a arguments) (any, error)
}

// NewFunction makes a function of positional arguments.
func NewFunction(name string, f func(args []any) (any, error)) *Function {
	return &Function{name, func(_ *render, a arguments) (any, error) {
		if len(a.named) > 0 {
			return nil, fmt.Errorf("%s() takes no keyword arguments", name)
		}
		return f(a.values)
	}}
}

// namespace is the one thing that a template can change.
type namespace struct{ dict *Dict }

// generator yields its items once, and has neither a length nor a text.
type generator struct{ items []any }

// kind names the type of a value in errors, as Python does.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return [...]string{"list", "tuple", "range", "dict_view"}[v.form]
	case *Dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *generator:
		return "generator"
	case Undefined:
		return "Undefined"
	}
	return "function"
}

// truth is what an if makes of a value.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *List:
		return len(v.items) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

// text returns a string or markup as a string.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// integer returns an int or bool as a number.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// number returns any number as a float.
func number(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	if i, ok := integer(v); ok {
		return float64(i), true
	}
	if i, ok := v.(Int); ok {
		f, _ := strconv.ParseFloat(string(i), 64)
		return f, true
	}
	return 0, false
}
