// How a name in a configuration finds its row.

package algo

import (
	"fmt"
	"slices"
	"strings"
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
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
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

// distance counts the letters to insert, delete or replace on the way from a to b (Levenshtein 1966).
func distance(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		diagonal := last[0]
		last[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = last[j+1]
			last[j+1] = min(cost, last[j]+1, diagonal+1)
		}
	}
	return last[len(b)]
}
