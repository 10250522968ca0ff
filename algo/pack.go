// How segments become micro-batches: bins of bounded size, or parts of equal weight. Every item is in exactly one of
// them; nothing is left out to make counts divide.

package algo

import (
	"cmp"
	"slices"
)

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

// Balance divides items into k parts of nearly equal total size, and returns the ascending indices of each, largest part
// first. With equalCount the parts also have equally many items, give or take one. It is the largest differencing method
// (Karmarkar and Karp 1982): start with one partition for each item; join the two whose parts differ most, largest part
// to smallest, until one is left. The result depends on nothing but its arguments. It panics unless k ≥ 1.
func Balance(size []int, k int, equalCount bool) [][]int {
	if k < 1 {
		mustHave("parts of a balance", k, 1)
	}
	queue := singles(size, k, equalCount)
	slices.SortFunc(queue, partition.compare)
	for len(queue) > 1 {
		joined := queue[0].join(queue[1])
		queue = queue[2:]
		at, _ := slices.BinarySearchFunc(queue, joined, partition.compare)
		queue = slices.Insert(queue, at, joined)
	}
	out := make([][]int, k)
	for p := range queue {
		for i, part := range queue[p] {
			out[i] = slices.Sorted(slices.Values(part.items))
		}
	}
	return out
}

// singles makes the partitions to start from: one item each, or k items of similar size with one for each part.
func singles(size []int, k int, equalCount bool) []partition {
	order := make([]int, len(size))
	for i := range order {
		order[i] = i
	}
	step := 1
	if equalCount {
		step = k
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[a], size[b]) })
	}
	var out []partition
	for len(order) > 0 {
		n := (len(order)-1)%step + 1
		p := make(partition, k)
		for i, item := range order[:n] {
			p[i] = part{sum: size[item], items: []int{item}}
		}
		slices.SortFunc(p, part.compare)
		out, order = append(out, p), order[n:]
	}
	return out
}

// part is a set of items. Parts are ordered largest first, ties by count and then by items.
type part struct {
	sum   int
	items []int
}

func (a part) compare(b part) int {
	return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(len(b.items), len(a.items)), slices.Compare(b.items, a.items))
}

// partition is k parts, in order. Partitions are ordered by the difference between their parts, largest first.
type partition []part

func (p partition) difference() int { return p[0].sum - p[len(p)-1].sum }

func (p partition) compare(q partition) int {
	return cmp.Or(cmp.Compare(q.difference(), p.difference()), p[0].compare(q[0]))
}

func (p partition) join(q partition) partition {
	out := make(partition, len(p))
	for i, a := range p {
		b := q[len(q)-1-i]
		out[i] = part{sum: a.sum + b.sum, items: slices.Concat(a.items, b.items)}
	}
	slices.SortFunc(out, part.compare)
	return out
}
