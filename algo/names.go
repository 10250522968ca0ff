// How a name in a configuration finds its row.

package algo

import (
	"fmt"
	"slices"
	"strings"

	"molt/internal/spell"
)

// find returns the row with this name or alias, or an error that lists the names, the most similar one first.
func find[T interface{ option() Option }](rows []T, name string) (T, error) {
	names := make([]string, len(rows))
	for i, r := range rows {
		o := r.option()
		if o.Called(name) {
			return r, nil
		}
		names[i] = o.Name
	}
	slices.SortStableFunc(names, func(a, b string) int { return spell.Distance(name, a) - spell.Distance(name, b) })
	var none T
	return none, fmt.Errorf("no such name: %q; valid, nearest first: %s", name, strings.Join(names, ", "))
}

// row is find for names that Check has accepted.
func row[T interface{ option() Option }](rows []T, name string) T {
	r, err := find(rows, name)
	if err != nil {
		panic("algo: " + err.Error())
	}
	return r
}
