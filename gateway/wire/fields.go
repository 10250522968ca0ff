// Typed reading of parsed JSON, with problems that name the field.

package wire

import (
	"fmt"

	"molt/chat"
)

// Fields reads the members of an object and keeps the first problem.
type Fields struct {
	Value   chat.Value
	Path    string // of the object, "" for the request
	Problem *Problem
}

// Read starts reading an object.
func Read(v chat.Value, path string) *Fields {
	f := &Fields{Value: v, Path: path}
	if v.Kind() != chat.KindObject {
		f.fail(path, "is of type %s; want an object", v.Kind())
	}
	return f
}

func (f *Fields) fail(param, format string, args ...any) {
	if f.Problem == nil {
		f.Problem = Badf(param, format, args...)
	}
}

// At is the path of a member.
func (f *Fields) At(name string) string { return Join(f.Path, name) }

// Join appends a name to a path; either may be empty.
func Join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// Index appends an index to a path.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Get returns a member that is there and not null.
func (f *Fields) Get(name string) (chat.Value, bool) {
	v, ok := f.Value.Get(name)
	return v, ok && v.Kind() != chat.KindNull
}

// Text reads a string; missing and null are "".
func (f *Fields) Text(name string) string {
	v, ok := f.Get(name)
	if ok && v.Kind() != chat.KindString {
		f.fail(f.At(name), "is of type %s; want a string", v.Kind())
	}
	return v.Text()
}

// Need reads a string that must be there.
func (f *Fields) Need(name string) string {
	text := f.Text(name)
	if text == "" {
		f.fail(f.At(name), "is missing")
	}
	return text
}

// Flag reads a boolean; missing and null are what otherwise says.
func (f *Fields) Flag(name string, otherwise bool) bool {
	v, ok := f.Get(name)
	if !ok {
		return otherwise
	}
	if v.Kind() != chat.KindBool {
		f.fail(f.At(name), "is of type %s; want true or false", v.Kind())
	}
	return v.IsTrue()
}

// Number reads a finite number in a range; nil when it is missing or null.
func (f *Fields) Number(name string, low, high float64) *float64 {
	v, ok := f.Get(name)
	if !ok {
		return nil
	}
	x, ok := v.Float64()
	if !ok || !(x >= low && x <= high) {
		f.fail(f.At(name), "is %.40s; want a number from %v to %v", v, low, high)
		return nil
	}
	return &x
}

// temperature reads 0, which takes the likeliest token, or what an engine can divide logits by.
func (f *Fields) temperature(name string) *float64 {
	t := f.Number(name, 0, 1e4)
	if t != nil && *t != 0 && *t < 1e-4 {
		f.fail(f.At(name), "is %v; want 0, or a number from 0.0001 to 10000", *t)
		return nil
	}
	return t
}

// Int reads an integer in a range; nil when it is missing or null.
func (f *Fields) Int(name string, low, high int64) *int64 {
	v, ok := f.Get(name)
	if !ok {
		return nil
	}
	x, ok := v.Int64()
	if !ok || x < low || x > high {
		f.fail(f.At(name), "is %.40s; want an integer from %d to %d", v, low, high)
		return nil
	}
	return &x
}

// Items reads an array; missing and null are empty.
func (f *Fields) Items(name string) []chat.Value {
	v, ok := f.Get(name)
	if ok && v.Kind() != chat.KindArray {
		f.fail(f.At(name), "is of type %s; want an array", v.Kind())
	}
	return v.Items()
}

// Stops reads stop strings: one, or a list.
func (f *Fields) Stops(name string) []string {
	v, ok := f.Get(name)
	if !ok {
		return nil
	}
	if v.Kind() == chat.KindString {
		v = chat.Array(v)
	}
	var stops []string
	for _, s := range v.Items() {
		if s.Kind() == chat.KindString && s.Text() != "" {
			stops = append(stops, s.Text())
		}
	}
	if v.Kind() != chat.KindArray || len(stops) != len(v.Items()) || len(stops) > MaxStops {
		f.fail(f.At(name), "is %.60s; want a string that is not empty, or up to %d of them", v, MaxStops)
	}
	return stops
}
