package prompts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// set makes prompts a1 to an of a set called a.
func set(name string, n int, weight float64) *Set {
	s := &Set{Name: name, weight: weight}
	for i := range n {
		s.rows = append(s.rows, Prompt{ID: fmt.Sprint(name, i+1), Source: name, Input: "task"})
	}
	return s
}

func stream(t testing.TB, c Config, sets ...*Set) *Stream {
	t.Helper()
	s, err := NewStream(c, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ids reads at most n prompts.
func ids(s *Stream, n int) string {
	var got []string
	for range n {
		p, ok := s.Next()
		if !ok {
			got = append(got, "end")
			break
		}
		got = append(got, p.ID)
	}
	return strings.Join(got, " ")
}

func TestMixing(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    Config
		sets []*Set
		want string
	}{
		{"one set", Config{Epochs: 1}, []*Set{set("a", 3, 0)}, "a1 a2 a3 end"},
		{"two epochs", Config{Epochs: 2}, []*Set{set("a", 2, 0)}, "a1 a2 a1 a2 end"},
		{"no end", Config{}, []*Set{set("a", 2, 0)}, "a1 a2 a1 a2 a1 a2 a1 a2 a1 a2 a1 a2"},
		{"by size", Config{Epochs: 1}, []*Set{set("a", 4, 0), set("b", 2, 0)}, "a1 b1 a2 a3 b2 a4 end"},
		{"by weight", Config{}, []*Set{set("a", 9, 3), set("b", 9, 1)}, "a1 a2 b1 a3 a4 a5 b2 a6 a7 a8 b3 a9"},
		{"each", Config{Epochs: 1}, []*Set{set("a", 4, 1), set("b", 2, 1)}, "a1 b1 a2 b2 a3 a4 end"},
		{"first", Config{Epochs: 1, Exhausted: EndFirst}, []*Set{set("a", 4, 1), set("b", 2, 1)}, "a1 b1 a2 b2 end"},
		{"all", Config{Epochs: 1, Exhausted: EndAll}, []*Set{set("a", 4, 1), set("b", 2, 1)}, "a1 b1 a2 b2 a3 b1 a4 end"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ids(stream(t, tc.c, tc.sets...), 12); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestShuffle: literal orders, computed apart in Python, so that no change of Go or of this code reorders anybody's run.
func TestShuffle(t *testing.T) {
	s := stream(t, Config{Seed: 1, Shuffle: true}, set("a", 6, 0))
	got := []string{ids(s, 6), ids(s, 6)}
	want := []string{"a6 a3 a4 a2 a5 a1", "a1 a2 a4 a5 a6 a3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestSeeds: a row's seed is the same for everybody who asks, and another one in each epoch, set and run.
func TestSeeds(t *testing.T) {
	a := set("a", 2, 0)
	s := stream(t, Config{Seed: 1}, a)
	var seeds []uint64
	for range 4 {
		p, _ := s.Next()
		seeds = append(seeds, p.Seed)
	}
	if seeds[0] != 195730636410207734 { // computed apart in Python
		t.Errorf("the first seed is %d", seeds[0])
	}
	if all := a.All(1); all[0].Seed != seeds[0] || all[1].Seed != seeds[1] || all[1].ID != "a2" {
		t.Errorf("All gives %+v, the stream gave %d", all, seeds)
	}
	seeds = append(seeds, set("b", 2, 0).All(1)[0].Seed, a.All(2)[0].Seed)
	slices.Sort(seeds)
	if len(slices.Compact(seeds)) != 6 {
		t.Errorf("seeds repeat: %d", seeds)
	}
	if a.rows[0].Seed != 0 {
		t.Error("the set was changed")
	}
}

// TestResume: from any point, a cursor that went through JSON gives the same prompts as going on.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Seed:      rapid.Uint64().Draw(t, "seed"),
			Shuffle:   rapid.Bool().Draw(t, "shuffle"),
			Epochs:    rapid.Int64Range(0, 3).Draw(t, "epochs"),
			Exhausted: rapid.SampledFrom([]Exhausted{"", EndEach, EndFirst, EndAll}).Draw(t, "exhausted"),
		}
		var sets []*Set
		for i := range rapid.IntRange(1, 3).Draw(t, "sets") {
			sets = append(sets, set(string(rune('a'+i)), rapid.IntRange(1, 7).Draw(t, "rows"), rapid.SampledFrom([]float64{0, 0.3, 1, 2.5}).Draw(t, "weight")))
		}
		s, err := NewStream(c, sets...)
		if err != nil {
			t.Fatal(err)
		}
		ids(s, rapid.IntRange(0, 40).Draw(t, "read"))
		data, err := json.Marshal(s.Cursor())
		if err != nil {
			t.Fatal(err)
		}
		var cursor Cursor
		if err := json.Unmarshal(data, &cursor); err != nil {
			t.Fatal(err)
		}
		again, err := NewStream(c, sets...)
		if err != nil {
			t.Fatal(err)
		}
		ids(again, rapid.IntRange(0, 10).Draw(t, "read before")) // Seek does not depend on where it starts
		if err := again.Seek(cursor); err != nil {
			t.Fatal(err)
		}
		if want, got := ids(s, 60), ids(again, 60); got != want {
			t.Fatalf("resumed\n got  %s\n want %s", got, want)
		}
	})
}

// TestEachRowOnce: without repetition every row is shown exactly Epochs times, each epoch of a set complete before the next.
func TestEachRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epochs := rapid.IntRange(1, 3).Draw(t, "epochs")
		a, b := set("a", rapid.IntRange(1, 9).Draw(t, "a"), 0), set("b", rapid.IntRange(1, 9).Draw(t, "b"), 2)
		s, err := NewStream(Config{Epochs: int64(epochs), Shuffle: true, Seed: rapid.Uint64().Draw(t, "seed")}, a, b)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		perSet := map[string]int{}
		for p, ok := s.Next(); ok; p, ok = s.Next() {
			n := map[string]*Set{"a": a, "b": b}[p.Source].Len()
			if epoch := perSet[p.Source] / n; seen[p.ID] != epoch {
				t.Fatalf("%s was shown %d times before epoch %d of its set was through", p.ID, seen[p.ID], epoch)
			}
			seen[p.ID]++
			perSet[p.Source]++
		}
		if len(seen) != a.Len()+b.Len() || perSet["a"] != epochs*a.Len() || perSet["b"] != epochs*b.Len() {
			t.Fatalf("shown: %v", seen)
		}
	})
}

func TestSeekRefusesOtherData(t *testing.T) {
	c := Config{Seed: 1, Epochs: 2}
	cursor := stream(t, c, set("a", 3, 0)).Cursor()
	changed := set("a", 3, 0)
	changed.rows[1].Label = "other"
	for name, s := range map[string]*Stream{
		"a changed row":  stream(t, c, changed),
		"another seed":   stream(t, Config{Seed: 2, Epochs: 2}, set("a", 3, 0)),
		"another weight": stream(t, c, set("a", 3, 1)),
		"more sets":      stream(t, c, set("a", 3, 0), set("b", 1, 0)),
	} {
		if err := s.Seek(cursor); err == nil || !strings.Contains(err.Error(), "belongs to other prompt sets or settings") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := stream(t, c, set("a", 3, 0))
	for _, bad := range []Position{{0, 3}, {0, -1}, {-1, 0}, {1 << 40, 0}} {
		cursor.Sets[0] = bad
		if err := s.Seek(cursor); err == nil || !strings.Contains(err.Error(), `of set "a", which has 3 rows`) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestNewStreamRefuses(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		sets []*Set
		want string
	}{
		{Config{}, nil, "a stream without a set"},
		{Config{}, []*Set{set("a", 1, 0), set("a", 2, 0)}, `two sets are called "a"`},
		{Config{}, []*Set{set("a", 0, 0)}, `set "a" has no rows`},
		{Config{Epochs: -1, Exhausted: "never"}, []*Set{set("a", 1, 0)}, `Exhausted is "never"; want "each", "first" or "all"`},
		{Config{Epochs: -1}, []*Set{set("a", 1, 0)}, "Epochs is -1"},
	} {
		if _, err := NewStream(tc.c, tc.sets...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

// TestShufflesAreFair: over many epochs each row comes first about equally often.
func TestShufflesAreFair(t *testing.T) {
	const n, epochs = 5, 10_000
	first := make([]int, n)
	for epoch := range int64(epochs) {
		first[shuffled(n, 7, "a", epoch)[0]]++
	}
	for row, times := range first {
		if times < 1850 || times > 2150 { // 2000 ± 3.75 standard deviations of 40
			t.Errorf("row %d came first in %d of %d epochs", row, times, epochs)
		}
	}
}
