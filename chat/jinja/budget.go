// The budget of one render. A chat template is a program by a stranger, and a goroutine that renders cannot be stopped from
// outside, so every step that it takes and every byte and item that it makes is paid for, before it exists, in units of
// about a nanosecond. The same template and messages always end the same way, on any machine.

package jinja

import "errors"

const (
	baseUnits     = 100_000_000 // for templates and short conversations: some hundred times what published ones take
	unitsPerInput = 150         // for each byte of the variables
	unitsPerStep  = 50          // of a statement or an expression
	unitsPerItem  = 30          // of a list or mapping
	maxCalls      = 200         // macros inside macros
	maxDepth      = 400         // of values inside values
	maxRange      = 100_000     // numbers of a range, as in Python's sandbox
)

var errBudget = errors.New("it does more work than any chat template needs; it may loop or grow without end")

func (r *render) spend(units int) error {
	if units < 0 || units > r.units {
		r.units = 0
		return errBudget
	}
	r.units -= units
	return nil
}

// spendBytes pays for text.
func (r *render) spendBytes(n int) error { return r.spend(n) }

// spendItems pays for a list.
func (r *render) spendItems(n int) error {
	if n > maxTemplate<<8 {
		return errBudget
	}
	return r.spend(n * unitsPerItem)
}
