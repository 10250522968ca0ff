// How segments become micro-batches: bins of bounded size. Every item is in exactly one of them.

package algo

import "slices"

// Pack puts items into micro-batches of at most budget tokens, each into the first that has room (first fit). It returns
// the indices of the items in each, ascending. An item above the budget has a micro-batch of its own.
func Pack(size []int, budget int) [][]int {
	var bins [][]int
	var used []int
	for i, n := range size {
		b := slices.IndexFunc(used, func(u int) bool { return u+n <= budget })
		if b < 0 {
			b = len(bins)
			bins, used = append(bins, nil), append(used, 0)
		}
		bins[b] = append(bins[b], i)
		used[b] += n
	}
	return bins
}
