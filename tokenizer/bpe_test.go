package tokenizer

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMergesLikeTheDefinition compares both ways to merge with the definition, also on lists of merges in an order that
// no training gives.
func TestMergesLikeTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		m := randomBPE(random)
		for range 20 {
			ids := make([]int32, 1+random.IntN(40))
			for i := range ids {
				ids[i] = int32(random.IntN(3))
			}
			guarded := random.IntN(2) == 0
			want := byDefinition(m, ids, guarded)
			w := workspace{ids: slices.Clone(ids)}
			m.mergeShort(guarded, &w)
			if !slices.Equal(w.ids, want) {
				t.Fatalf("short: %v gave %v, want %v", ids, w.ids, want)
			}
			w.ids = ids
			for range 2 { // the second time with a used workspace
				if got := m.mergeLong(nil, guarded, &w); !slices.Equal(got, want) {
					t.Fatalf("long: %v gave %v, want %v", ids, got, want)
				}
			}
		}
	}
}

// randomBPE has three characters and a shuffled list of merges of them and of each other.
func randomBPE(r *rand.Rand) *bpe {
	m := &bpe{merges: newMergeTable(12)}
	pieces := []string{"a", "b", "c"}
	var pairs [][3]int32
	seen := map[[2]int32]bool{}
	for range 12 {
		left, right := int32(r.IntN(len(pieces))), int32(r.IntN(len(pieces)))
		text := pieces[left] + pieces[right]
		if seen[[2]int32{left, right}] || len(text) > 8 {
			continue
		}
		seen[[2]int32{left, right}] = true
		id := slices.Index(pieces, text)
		if id < 0 {
			id, pieces = len(pieces), append(pieces, text)
		}
		pairs = append(pairs, [3]int32{left, right, int32(id)})
	}
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	for i, p := range pairs {
		m.merges.add(pairKey(p[0], p[1]), merge{int32(i), p[2]})
	}
	m.control = make([]bool, len(pieces))
	m.control[r.IntN(len(pieces))] = true
	return m
}

// byDefinition merges the pair of lowest rank, leftmost first, until there is none.
func byDefinition(m *bpe, ids []int32, guarded bool) []int32 {
	ids = slices.Clone(ids)
	for {
		at, best := -1, merge{rank: noRank}
		for i := 1; i < len(ids); i++ {
			if to := m.pair(ids[i-1], ids[i], guarded); to.rank < best.rank {
				at, best = i-1, to
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = best.id
		ids = slices.Delete(ids, at+1, at+2)
	}
}

// TestMergeTable: pairs that collide are found all the same.
func TestMergeTable(t *testing.T) {
	table := newMergeTable(1000)
	var keys []uint64
	for k := uint64(0); len(keys) < 200; k++ { // keys of one home
		if table.home(k) == 7 {
			keys = append(keys, k)
		}
	}
	for i, k := range keys {
		if !table.add(k, merge{int32(i), 1}) || table.add(k, merge{0, 0}) {
			t.Fatalf("key %d", i)
		}
	}
	for i, k := range keys {
		if got, ok := table.get(k); !ok || got.rank != int32(i) {
			t.Errorf("key %d: %v %v", i, got, ok)
		}
	}
	if _, ok := table.get(keys[len(keys)-1] + 1); ok {
		t.Error("a pair that was never added was found")
	}
	if len(table.overflow) == 0 {
		t.Error("200 colliding pairs should overflow")
	}
}
