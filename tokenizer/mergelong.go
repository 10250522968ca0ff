// Merging a long piece. All candidates of one rank wait in one bucket, and only the ranks are kept in a heap: so ten
// million characters cost ten million short steps, not ten million walks through a heap of that size.

package tokenizer

import "slices"

// symbol is a node of the list of what the piece has become so far.
type symbol struct{ id, prev, next int32 } // id -1: merged away; prev, next -1: none

// bucket holds where one pair of ids may be merged. An entry is stale once either side has changed.
type bucket struct {
	left, right int32
	to          merge
	at          []int32
	queued      bool // its rank is in the heap
}

// long is the state of a long piece.
type long struct {
	symbols []symbol
	buckets []bucket
	byRank  map[int32]int
	ranks   []rank // heap
}

type rank int32

func (r rank) before(s rank) bool { return r < s }

// mergeLong appends what the characters w.ids are merged to.
func (m *bpe) mergeLong(dst []int32, guarded bool, w *workspace) []int32 {
	l := &w.long
	l.start(w.ids)
	for at := range l.symbols {
		m.propose(l, int32(at), guarded)
	}
	for len(l.ranks) > 0 {
		r := l.ranks[0]
		l.ranks = siftDown(l.ranks)
		m.mergeBucket(l, l.byRank[int32(r)], guarded)
	}
	for at := int32(0); at >= 0; at = l.symbols[at].next {
		dst = append(dst, l.symbols[at].id)
	}
	return dst
}

func (l *long) start(ids []int32) {
	l.symbols, l.buckets = l.symbols[:0], l.buckets[:0]
	if l.byRank == nil {
		l.byRank = make(map[int32]int)
	}
	clear(l.byRank)
	for i, id := range ids {
		l.symbols = append(l.symbols, symbol{id, int32(i) - 1, int32(i) + 1})
	}
	l.symbols[len(ids)-1].next = -1
}

// mergeBucket merges all pairs of one rank, from left to right. When that brings up a lower rank, which a list of merges
// made by training never does, it goes first.
func (m *bpe) mergeBucket(l *long, i int, guarded bool) {
	places, to := l.buckets[i].at, l.buckets[i].to
	l.buckets[i].at, l.buckets[i].queued = nil, false
	if !slices.IsSorted(places) {
		slices.Sort(places)
	}
	for n, at := range places {
		left := &l.symbols[at]
		if left.id != l.buckets[i].left || left.next < 0 || l.symbols[left.next].id != l.buckets[i].right {
			continue
		}
		right := &l.symbols[left.next]
		right.id = -1
		left.id, left.next = to.id, right.next
		if left.next >= 0 {
			l.symbols[left.next].prev = at
		}
		m.propose(l, left.prev, guarded)
		m.propose(l, at, guarded)
		if len(l.ranks) > 0 && int32(l.ranks[0]) < to.rank && n+1 < len(places) {
			l.buckets[i].at = append(places[n+1:], l.buckets[i].at...)
			l.queue(i)
			return
		}
	}
}

// propose puts the pair that starts at at into its bucket if it can be merged.
func (m *bpe) propose(l *long, at int32, guarded bool) {
	if at < 0 || l.symbols[at].next < 0 {
		return
	}
	left, right := l.symbols[at].id, l.symbols[l.symbols[at].next].id
	to := m.pair(left, right, guarded)
	if to.rank == noRank {
		return
	}
	i, ok := l.byRank[to.rank]
	if !ok {
		i = len(l.buckets)
		l.buckets = append(l.buckets, bucket{left: left, right: right, to: to})
		l.byRank[to.rank] = i
	}
	l.buckets[i].at = append(l.buckets[i].at, at)
	l.queue(i)
}

func (l *long) queue(i int) {
	if b := &l.buckets[i]; !b.queued {
		b.queued = true
		l.ranks = append(l.ranks, rank(b.to.rank))
		siftUp(l.ranks)
	}
}
