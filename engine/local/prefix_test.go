package local

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"molt/numeric/model"
)

// TestIndexFindsTheLongestPrefix compares the tree with a list of everything it was told.
func TestIndexFindsTheLongestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := newPages(400)
		index := newPrefixes(pool)
		var told [][]int32
		for range rapid.IntRange(0, 12).Draw(t, "sequences") {
			ids := drawIDs(t, "told")
			told = append(told, ids)
			tell(index, ids)
		}
		ids := drawIDs(t, "asked")
		var m match
		index.find(ids, &m)
		want := 0
		for _, known := range told {
			want = max(want, commonPrefix(known, ids))
		}
		if m.tokens() != want {
			t.Fatalf("found %d tokens of %v; want %d of %v", m.tokens(), ids, want, told)
		}
		for i, p := range m.path {
			if !slices.Equal(p.ids(), ids[i*model.PageTokens:][:model.PageTokens]) {
				t.Fatalf("page %d holds %v", i, p.ids())
			}
		}
		for index.evict() {
		}
		if len(pool.free) != 400 || len(index.root.children) > 0 {
			t.Fatalf("%d of 400 pages free after forgetting everything", len(pool.free))
		}
	})
}

// drawIDs draws sequences that often agree, over an alphabet of two.
func drawIDs(t *rapid.T, name string) []int32 {
	ids := make([]int32, rapid.IntRange(0, 200).Draw(t, name))
	for range rapid.IntRange(0, 2).Draw(t, "differences") {
		if len(ids) > 0 {
			ids[rapid.IntRange(0, len(ids)-1).Draw(t, "at")] = 1
		}
	}
	return ids
}

// tell adds a sequence as a request does, page by page, and gives its pages up.
func tell(x *prefixes, ids []int32) {
	at := &x.root
	for len(ids) > 0 {
		n := min(len(ids), model.PageTokens)
		page, _ := x.pages.take()
		next := x.add(at, ids[:n], page)
		x.pages.leave(page)
		if n == model.PageTokens {
			at = next
		}
		ids = ids[n:]
	}
}

func TestEvictionTakesTheLeastUsedLeaf(t *testing.T) {
	pool := newPages(10)
	index := newPrefixes(pool)
	a, b := slices.Repeat([]int32{1}, 130), slices.Repeat([]int32{2}, 64)
	tell(index, a) // two full pages and a tail of two
	tell(index, b)
	var m match
	index.find(a, &m)
	index.touch(m.path[1]) // the tail of a is now the oldest, then b, then a's pages from the last to the first
	for i, want := range []int{128, 128, 64, 0} {
		if !index.evict() {
			t.Fatalf("eviction %d found nothing", i)
		}
		if index.find(a, &m); m.tokens() != want {
			t.Errorf("after eviction %d the index knows %d tokens; want %d", i, m.tokens(), want)
		}
		if index.find(b, &m); (m.tokens() == 64) != (i == 0) {
			t.Errorf("after eviction %d the index knows %d tokens of the other sequence", i, m.tokens())
		}
	}
	if index.evict() {
		t.Error("evicted from an empty index")
	}
}

func TestEvictionSparesWhatIsUsed(t *testing.T) {
	pool := newPages(10)
	index := newPrefixes(pool)
	ids := slices.Repeat([]int32{1}, 64)
	tell(index, ids)
	var m match
	index.find(ids, &m)
	pool.use(m.path[0].page)
	if index.evict() {
		t.Error("evicted a page that a request uses")
	}
	pool.leave(m.path[0].page)
	if !index.evict() || len(pool.free) != 10 {
		t.Error("the page was not given back")
	}
}

// TestLongerBeginningsReplaceShorter keeps the index from filling up with beginnings of what it knows.
func TestLongerBeginningsReplaceShorter(t *testing.T) {
	pool := newPages(10)
	index := newPrefixes(pool)
	ids := []int32{5, 6, 7, 8, 9}
	for _, n := range []int{2, 4, 3, 5} {
		tell(index, ids[:n])
	}
	if n := len(index.root.children); n != 1 || index.root.children[0].n != 5 || len(pool.free) != 9 {
		t.Errorf("%d prefixes, %d pages free; want the longest alone", n, len(pool.free))
	}
}
