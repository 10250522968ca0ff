package model

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"molt/numeric/kernel"

	"pgregory.net/rapid"
)

// eachPath runs a test on every kernel path of this machine.
func eachPath(t *testing.T, f func(t *testing.T)) {
	for _, path := range kernel.Paths() {
		t.Run(path, func(t *testing.T) {
			defer kernel.SetPath(path)()
			f(t)
		})
	}
}

// The headline law: log-probs from Extend have Forward's bits for any interleaving of chunks, batch composition, page
// order, page reuse, prefix sharing and thread count.
func TestExtendHasForwardsBits(t *testing.T) {
	models := map[string]*Model{}
	for name, c := range shapes {
		models[name] = newModel(t, c, 7)
	}
	names := rapid.SampledFrom(slices.Sorted(maps.Keys(shapes)))
	eachPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { newServing(t, models[names.Draw(t, "shape")]).check() })
	})
}

// serving plays an engine: it runs sequences through Extend in drawn pieces.
type serving struct {
	t    *rapid.T
	m    *Model
	w    *Work
	kv   *KV
	free []int32
	seqs []*served
}

// served is one sequence with what Forward says of it.
type served struct {
	Seq
	ids  []int32
	logp []float32 // [len(ids)], 0 for the first
}

func newServing(t *rapid.T, m *Model) *serving {
	s := &serving{t: t, m: m}
	pool := kernel.NewPool(rapid.IntRange(1, 3).Draw(t, "threads"))
	t.Cleanup(pool.Close)
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "ids"), 0))
	lengths := rapid.SliceOfN(rapid.IntRange(2, 90), 1, 4).Draw(t, "lengths")
	for i, n := range lengths {
		ids := make([]int32, n)
		for j := range ids {
			ids[j] = int32(rng.IntN(m.config.Vocab))
		}
		if i > 0 && rapid.Bool().Draw(t, "sharesPrefix") {
			copy(ids, s.seqs[i-1].ids[:min(n, len(s.seqs[i-1].ids))/2+1])
		}
		s.seqs = append(s.seqs, &served{ids: ids})
	}
	s.w = NewWork(m, pool, Budget{Tokens: 200, Grad: rapid.Bool().Draw(t, "grad")})
	t.Cleanup(s.w.Free)
	poison(s.w)
	s.forward(pool)
	s.pages()
	return s
}

// forward scores all sequences in one training pass.
func (s *serving) forward(pool *kernel.Pool) {
	b := Batch{Starts: []int32{0}}
	for _, q := range s.seqs {
		for i := 1; i < len(q.ids); i++ {
			b.Score = append(b.Score, int32(len(b.Tokens)+i))
			b.Temperature = append(b.Temperature, temperatureAt(i))
		}
		b.Tokens = append(b.Tokens, q.ids...)
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
	}
	w := NewWork(s.m, pool, Budget{Tokens: len(b.Tokens)})
	defer w.Free()
	poison(w)
	logp := s.m.Forward(w, b, Want{}).Logp
	for _, q := range s.seqs {
		n := len(q.ids) - 1
		q.logp = append([]float32{0}, logp[:n]...)
		logp = logp[n:]
	}
}

func temperatureAt(position int) float32 { return []float32{1, 0.7, 1.9}[position%3] }

// pages deals out the pages in a drawn order and fills them with what must never be read.
func (s *serving) pages() {
	kv, err := NewKV(s.m.config, 2*len(s.seqs)+1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(kv.Free)
	fill(kv.data, float32(math.NaN()))
	s.kv = kv
	for i := range kv.Pages() {
		s.free = append(s.free, int32(i))
	}
	s.free = rapid.Permutation(s.free).Draw(s.t, "pages")
}

func (s *serving) page() int32 {
	p := s.free[0]
	s.free = s.free[1:]
	return p
}

// cover gives q pages for n positions.
func (s *serving) cover(q *served, n int) {
	for len(q.Pages)*PageTokens < n {
		q.Pages = append(q.Pages, s.page())
	}
}

// share starts q from the KV of an earlier sequence with the same prefix: full pages are shared, the last is copied.
func (s *serving) share(q, from *served) {
	n := 0
	for n < min(from.Len, len(q.ids)-1) && q.ids[n] == from.ids[n] {
		n++
	}
	if n == 0 || !rapid.Bool().Draw(s.t, "share") {
		return
	}
	q.Len = n
	q.Pages = slices.Clone(from.Pages[:n/PageTokens])
	if n%PageTokens > 0 {
		q.Pages = append(q.Pages, s.page())
		s.kv.CopyPage(q.Pages[n/PageTokens], from.Pages[n/PageTokens])
	}
}

func (s *serving) check() {
	for {
		spans, chosen := s.draw()
		if len(spans) == 0 {
			return
		}
		want := make([]bool, len(spans))
		for i := range want {
			want[i] = rapid.IntRange(0, 3).Draw(s.t, "want") > 0
		}
		s.extend(spans, chosen, want)
	}
}

// draw chooses the spans of the next call: none when all sequences are done.
func (s *serving) draw() (spans []Span, chosen []*served) {
	room := s.w.budget.Tokens
	left := false
	for i, q := range s.seqs {
		if q.Len == 0 && i > 0 {
			s.share(q, s.seqs[i-1])
		}
		n := len(q.ids) - 1 - q.Len // the last id is only scored
		if n == 0 {
			continue
		}
		left = true
		n = min(n, room, rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 90)).Draw(s.t, "chunk"))
		if n == 0 || !rapid.Bool().Draw(s.t, "takes part") {
			continue
		}
		room -= n
		s.cover(q, q.Len+n)
		spans = append(spans, Span{&q.Seq, q.ids[q.Len:][:n]})
		chosen = append(chosen, q)
	}
	if left && len(spans) == 0 {
		return s.draw()
	}
	return spans, chosen
}

func (s *serving) extend(spans []Span, chosen []*served, want []bool) {
	vocab := s.m.config.Vocab
	hidden := s.m.Extend(s.w, s.kv, spans, want)
	rows := len(hidden) / s.m.config.Dim
	logits := make([]float32, rows*vocab)
	s.m.Logits(s.w, logits, hidden, rows)
	for i, q := range chosen {
		q.Len += len(spans[i].Tokens)
		if !want[i] {
			continue
		}
		row := logits[:vocab]
		logits = logits[vocab:]
		Temper(row, temperatureAt(q.Len))
		got := row[q.ids[q.Len]] - LogSumExp(row)
		if math.Float32bits(got) != math.Float32bits(q.logp[q.Len]) {
			s.t.Fatalf("position %d: Extend's log-prob is %x, Forward's %x", q.Len, got, q.logp[q.Len])
		}
	}
}

// A layer too large for a core's cache, and few rows: products are shared out by columns.
func TestWidePassHasForwardsBits(t *testing.T) {
	c := Config{Vocab: 30, Dim: 256, Layers: 1, Heads: 8, KVHeads: 2, HeadDim: 32, FFN: 520, MaxPositions: 20, NormEps: 1e-6,
		RopeTheta: 10000, QKNorm: true, QKVBias: true, OBias: true}
	if c.layerSize() < wideLayer {
		t.Fatalf("a layer of %d weights is not wide", c.layerSize())
	}
	m := newModel(t, c, 5)
	ids := []int32{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	b := Batch{Tokens: ids, Starts: []int32{0, int32(len(ids))}}
	for i := range ids[1:] {
		b.Score = append(b.Score, int32(i+1))
	}
	eachPath(t, func(t *testing.T) {
		want := m.Forward(newWork(t, m, 1, Budget{Tokens: len(ids)}), b, Want{}).Logp
		w := newWork(t, m, 3, Budget{Tokens: len(ids)})
		kv, err := NewKV(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer kv.Free()
		seq, row := &Seq{Pages: []int32{0}}, make([]float32, c.Vocab)
		for _, n := range []int{4, 1, 1, 5} {
			m.Logits(w, row, m.Extend(w, kv, []Span{{seq, ids[seq.Len:][:n]}}, []bool{true}), 1)
			seq.Len += n
			if got := row[ids[seq.Len]] - LogSumExp(row); got != want[seq.Len-1] {
				t.Errorf("position %d: %x, Forward %x", seq.Len, got, want[seq.Len-1])
			}
		}
	})
}

// Gradients and lanes have the same bits at any thread count, on any path.
func TestBitsDoNotDependOnThreadsOrPath(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 3)
		l := newLoss(rand.New(rand.NewPCG(8, 8)), c, 70, 2, 65, 7)
		var first []float32
		eachPath(t, func(t *testing.T) {
			for _, threads := range []int{1, 2, 3, 6, 9} {
				got := everything(t, m, l, threads)
				if first == nil {
					first = got
				}
				if i := firstDifference(first, got); i >= 0 {
					t.Fatalf("%d threads: float %d is %x, before %x", threads, i, got[i], first[i])
				}
			}
		})
	})
}

// everything is all that a pass computes, lanes first.
func everything(t *testing.T, m *Model, l loss, threads int) []float32 {
	w := newWork(t, m, threads, Budget{Tokens: len(l.batch.Tokens), Grad: true})
	g := newGrads(t, m.config)
	p := m.Forward(w, l.batch, l.want(m.config))
	all := slices.Concat(p.Logp, p.Entropy, p.Value)
	p.Backward(g, l.dLogp, l.dEntropy, l.dValue)
	return append(all, g.flat...)
}

func firstDifference(a, b []float32) int {
	if len(a) != len(b) {
		panic(fmt.Sprintf("%d and %d floats", len(a), len(b)))
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// A sequence's log-probs do not depend on the others in the batch.
func TestForwardBitsDoNotDependOnTheBatch(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 3)
		b := randomBatch(rand.New(rand.NewPCG(8, 8)), c, 130, 2, 65, 7, 40)
		w := newWork(t, m, 2, Budget{Tokens: len(b.Tokens)})
		all := slices.Clone(m.Forward(w, b, Want{}).Logp)
		var alone []float32
		for i, lo := range b.Starts[:len(b.Starts)-1] {
			alone = append(alone, m.Forward(w, b.sequence(i, lo), Want{}).Logp...)
		}
		if i := firstDifference(all, alone); i >= 0 {
			t.Errorf("score %d is %x in the batch, %x alone", i, all[i], alone[i])
		}
	})
}

func (b Batch) sequence(i int, lo int32) Batch {
	hi := b.Starts[i+1]
	one := Batch{Tokens: b.Tokens[lo:hi], Starts: []int32{0, hi - lo}}
	for j, t := range b.Score {
		if t >= lo && t < hi {
			one.Score = append(one.Score, t-lo)
			one.Temperature = append(one.Temperature, b.Temperature[j])
		}
	}
	return one
}

// A model may generate and score at the same time, each on its own Work and pool.
func TestWorksShareAModel(t *testing.T) {
	c := shapes["2:1, qk norm, value head"]
	m := newModel(t, c, 3)
	b := randomBatch(rand.New(rand.NewPCG(8, 8)), c, 30, 20)
	var group sync.WaitGroup
	works := []*Work{
		newWork(t, m, 2, Budget{Tokens: 50}), newWork(t, m, 1, Budget{Tokens: 50, Grad: true}), newWork(t, m, 3, Budget{Tokens: 50}),
	}
	want := slices.Clone(m.Forward(works[0], b, Want{}).Logp)
	for _, w := range works {
		group.Go(func() {
			for range 20 {
				if i := firstDifference(want, m.Forward(w, b, Want{}).Logp); i >= 0 {
					t.Errorf("score %d differs beside other passes", i)
				}
			}
		})
	}
	group.Wait()
}
