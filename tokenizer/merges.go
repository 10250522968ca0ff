// The table of merges: open addressing over pairs of ids. Pairs that would be searched long, by chance or because a file
// wants it so, go to a map whose seed nobody knows.

package tokenizer

import "math/bits"

const maxProbes = 16

// mergeTable maps pairs of ids to merges. The zero value is not ready; see newMergeTable.
type mergeTable struct {
	slots    []mergeSlot // a power of two of them
	shift    int
	overflow map[uint64]merge
	count    int
}

type mergeSlot struct {
	key uint64
	merge
}

type merge struct{ rank, id int32 }

const noPair = ^uint64(0)

func pairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(uint32(right)) }

func newMergeTable(n int) *mergeTable {
	size := bits.Len(uint(2*n + 1))
	t := &mergeTable{slots: make([]mergeSlot, 1<<size), shift: 64 - size, overflow: make(map[uint64]merge)}
	for i := range t.slots {
		t.slots[i].key = noPair
	}
	return t
}

// add reports false for a pair that is there already.
func (t *mergeTable) add(key uint64, m merge) bool {
	if _, ok := t.get(key); ok {
		return false
	}
	t.count++
	at := t.home(key)
	for i := range maxProbes {
		if slot := &t.slots[(at+i)&(len(t.slots)-1)]; slot.key == noPair {
			*slot = mergeSlot{key, m}
			return true
		}
	}
	t.overflow[key] = m
	return true
}

func (t *mergeTable) home(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> t.shift) }

func (t *mergeTable) get(key uint64) (merge, bool) {
	at := t.home(key)
	for i := range maxProbes {
		slot := &t.slots[(at+i)&(len(t.slots)-1)]
		if slot.key == key {
			return slot.merge, true
		}
		if slot.key == noPair {
			return merge{}, false
		}
	}
	m, ok := t.overflow[key]
	return m, ok
}
