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

func TestBalance(t *testing.T) {
	for _, c := range []struct {
		size       []int
		k          int
		equalCount bool
		want       [][]int
	}{
		{[]int{10, 9, 8, 7, 6, 5, 4, 3}, 4, true, [][]int{{3, 4}, {2, 5}, {1, 6}, {0, 7}}},
		{[]int{6, 5, 4, 3}, 4, true, [][]int{{0}, {1}, {2}, {3}}},
		{[]int{8, 7, 6, 5, 4}, 2, false, [][]int{{1, 3, 4}, {0, 2}}},
		{[]int{100, 1, 1, 1, 1, 1}, 3, false, [][]int{{0}, {1, 3, 4}, {2, 5}}},
		{[]int{5, 3, 7, 2, 6}, 3, false, [][]int{{3, 4}, {0, 1}, {2}}},
		{[]int{4, 4, 4}, 2, true, [][]int{{0, 1}, {2}}}, // counts that do not divide: one more, none left out
		{[]int{7}, 3, false, [][]int{{0}, nil, nil}},
		{nil, 2, false, [][]int{nil, nil}},
	} {
		if diff := cmp.Diff(c.want, Balance(c.size, c.k, c.equalCount)); diff != "" {
			t.Errorf("Balance(%v, %d, %v): %s", c.size, c.k, c.equalCount, diff)
		}
	}
	mustPanic(t, "no parts", func() { Balance([]int{1}, 0, false) })
}

// Whatever the sizes: every item is somewhere exactly once, and the bounds hold.
func TestPackingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 40).Draw(t, "size")
		budget := rapid.IntRange(1, 60).Draw(t, "budget")
		k := rapid.IntRange(1, 6).Draw(t, "k")
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

		for _, equalCount := range []bool{false, true} {
			parts := Balance(size, k, equalCount)
			everyOnce(t, parts, len(size))
			equal(t, "parts", len(parts), k)
			for _, p := range parts {
				if equalCount {
					equal(t, "counts differ by one at most", len(p) >= len(size)/k && len(p) <= (len(size)+k-1)/k, true)
				}
				equal(t, "difference is at most the largest item", total(parts[0])-total(p) <= slices.Max(append(size, 0)), true)
			}
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
