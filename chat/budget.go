// The budget of one render: how much work a template may still do. It counts units of about a nanosecond of the slowest
// path instead of reading a clock, so that the same template and messages always end the same way.

package chat

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ardanlabs/jinja"
)

const (
	baseUnits     = 100_000_000 // for templates and short conversations: some hundred times what published ones take
	unitsPerInput = 150         // for each byte of the messages and tools
	unitsPerByte  = 8           // of text or list that a template makes
	unitsPerItem  = 50          // of a list that a template makes
	unitsPerToken = 20          // of a tag, each time it is executed
	unitsPerRound = 300         // of a loop
	unitsPerCall  = 1000        // of a macro
	maxCalls      = 50          // macros inside macros
	maxRange      = 100_000     // numbers of a range, as in Python's sandbox
	maxIndent     = 16          // columns
)

var errBudget = errors.New("it does more work than any chat template needs; it may loop or grow without end")

// budget belongs to one render, which is one goroutine.
type budget struct {
	units   int64
	calls   int
	maxBody int64
}

func (b *budget) charge(units int64) error {
	if units < 0 || units > b.units {
		b.units = 0
		return errBudget
	}
	b.units -= units
	return nil
}

// one wraps a check of its first argument, which it returns.
func one(check func(v jinja.Value) error) func(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		if len(args) != 1 {
			return jinja.None(), fmt.Errorf("%d values where one belongs", len(args))
		}
		return args[0], check(args[0])
	}
}

// functions are what guard.go's rewriting calls.
func (b *budget) functions() map[string]jinja.Value {
	size := func(factor int64) func(v jinja.Value) error {
		return func(v jinja.Value) error { return b.chargeSize(v, factor) }
	}
	out := map[string]jinja.Value{}
	for name, f := range map[string]func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error){
		"__use":     one(size(1)),
		"__grow":    one(size(unitsPerByte)),
		"__out":     one(size(unitsPerByte)),
		"__touch":   one(b.touch),
		"__span":    one(b.span),
		"__ends":    one(b.ends),
		"__sort":    one(size(64)),
		"__square":  one(b.square),
		"__json":    b.json,
		"__join":    b.join,
		"__indent":  b.indent,
		"__each":    b.each,
		"__iter":    b.iterate,
		"__call":    b.call,
		"__replace": b.replace,
		"__plus":    b.plus,
		"__times":   b.times,
		"__modulo":  modulo,
		"__raise":   raise,
		"range":     b.numbers,
	} {
		out[name] = jinja.NewCallable("guard."+name, f)
	}
	return out
}

// chargeSize charges the printed size of v, everything inside included, while it walks: a value that shares its parts is
// as large as it prints.
func (b *budget) chargeSize(v jinja.Value, factor int64) error { return b.chargeNested(v, factor, 0) }

func (b *budget) chargeNested(v jinja.Value, factor int64, depth int) error {
	const each = 4 // bytes of punctuation
	if depth > 2*maxDepth {
		return fmt.Errorf("a value is nested deeper than %d", 2*maxDepth)
	}
	switch {
	case v.IsString():
		return b.charge(factor * (each + int64(len(v.AsString()))))
	case v.IsList():
		for _, item := range v.AsList().Items {
			if err := b.chargeNested(item, factor, depth+1); err != nil {
				return err
			}
		}
	case v.IsDict():
		d := v.AsDict()
		for _, key := range d.Keys {
			if err := b.charge(factor * int64(each+len(key))); err != nil {
				return err
			}
			if err := b.chargeNested(d.Data[key], factor, depth+1); err != nil {
				return err
			}
		}
	}
	return b.charge(factor * each)
}

// touch charges an operation that looks at all of a string.
func (b *budget) touch(v jinja.Value) error {
	if v.IsString() || v.IsDict() {
		return b.charge(unitsPerByte * length(v))
	}
	return nil
}

// span charges an operation that makes a list of the characters, items or entries of v.
func (b *budget) span(v jinja.Value) error { return b.charge(unitsPerItem * length(v)) }

// ends charges first and last, which make a list of anything but a list.
func (b *budget) ends(v jinja.Value) error {
	if v.IsList() {
		return nil
	}
	return b.span(v)
}

func length(v jinja.Value) int64 {
	switch {
	case v.IsString():
		return int64(len(v.AsString()))
	case v.IsList():
		return int64(v.AsList().Len())
	case v.IsDict():
		return int64(v.AsDict().Len())
	}
	return 0
}

// square charges an operation that compares each item with each.
func (b *budget) square(v jinja.Value) error {
	return b.chargeSize(v, max(1, min(length(v), math.MaxInt32)))
}

// iterate charges all rounds of a loop: (iterable, units of a round).
func (b *budget) iterate(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	v, round := args[0], args[1].AsInt()
	if !v.IsList() && !v.IsDict() && !v.IsString() && !v.IsUndefined() {
		return v, fmt.Errorf("a loop over %s, which has no items", kindOf(v))
	}
	n := length(v)
	if n > math.MaxInt32 || round > math.MaxInt32 {
		return v, errBudget
	}
	return v, b.charge(n * round)
}

// call makes a macro count its calls.
func (b *budget) call(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 || !args[0].IsCallable() {
		return args[0], nil // the library says that it cannot be called
	}
	macro := args[0].AsCallable()
	if macro.Name == "dict" || strings.Contains(macro.Name, ".") { // the library's own: no macro has such a name
		return args[0], b.charge(unitsPerCall)
	}
	return jinja.NewCallable(macro.Name, func(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
		if b.calls++; b.calls > maxCalls {
			return jinja.None(), fmt.Errorf("macros call each other deeper than %d", maxCalls)
		}
		defer func() { b.calls-- }()
		if err := b.charge(unitsPerCall + b.maxBody); err != nil {
			return jinja.None(), err
		}
		return macro.Fn(args, kwargs)
	}), nil
}

// numbers is range.
func (b *budget) numbers(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	bounds := [3]int64{0, 0, 1} // from, to, step
	if len(args) < 1 || len(args) > 3 {
		return jinja.None(), fmt.Errorf("range: %d arguments; want 1 to 3", len(args))
	}
	for i, arg := range args {
		if !arg.IsInt() {
			return jinja.None(), fmt.Errorf("range: %s is no integer", kindOf(arg))
		}
		if len(args) == 1 {
			i = 1
		}
		bounds[i] = arg.AsInt()
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return jinja.None(), fmt.Errorf("range: a step of 0")
	}
	var items []jinja.Value
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(items) == maxRange {
			return jinja.None(), fmt.Errorf("range: more than %d numbers", maxRange)
		}
		items = append(items, jinja.NewInt(i))
		if step > 0 && i > math.MaxInt64-step || step < 0 && i < math.MinInt64-step {
			break
		}
	}
	return jinja.NewList(items), b.charge(32 * int64(len(items)))
}

func raise(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	return jinja.None(), errors.New(args[0].AsString())
}
