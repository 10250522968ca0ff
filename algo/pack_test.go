package algo

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPack(t *testing.T) {
	for _, c := range []struct {
		size   []int
		budget int
		want   [][]int
	}{
		{[]int{5, 3, 7, 2, 6}, 10, [][]int{{0, 1, 3}, {2}, {4}}},
		{[]int{5, 3, 7, 2, 6}, 20, [][]int{{0, 1, 2, 3}, {4}}},
		{[]int{11, 2}, 10, [][]int{{0}, {1}}}, // an oversize item has a micro-batch of its own
		{[]int{2, 11, 2}, 10, [][]int{{0, 2}, {1}}},
		{nil, 10, nil},
	} {
		if diff := cmp.Diff(c.want, Pack(c.size, c.budget)); diff != "" {
			t.Errorf("Pack(%v, %d): %s", c.size, c.budget, diff)
		}
	}
}

// Whatever the sizes: every item is somewhere exactly once, and the bounds hold.
func TestPackingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 40).Draw(t, "size")
		budget := rapid.IntRange(1, 60).Draw(t, "budget")
		total := func(items []int) (sum int) {
			for _, i := range items {
				sum += size[i]
			}
			return sum
		}

		bins := Pack(size, budget)
		everyOnce(t, bins, len(size))
		for _, b := range bins {
			equal(t, "inside the budget, or alone", total(b) <= budget || len(b) == 1, true)
		}

	})
}

func everyOnce(t tester, parts [][]int, n int) {
	t.Helper()
	var all []int
	for _, p := range parts {
		equal(t, "ascending", slices.IsSorted(p), true)
		all = append(all, p...)
	}
	slices.Sort(all)
	equal(t, "items", len(all), n)
	for i, item := range all {
		equal(t, "item", item, i)
	}
}
