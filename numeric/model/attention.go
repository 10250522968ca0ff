package model

import (
	"math"

	"molt/numeric/kernel"
)

// sight is how the queries of a layer look at keys.
type sight struct {
	window int     // keys that each sees; 0 is all
	scale  float32 // on queries times keys
	limit  float32 // of the soft cap on scores; 0 is none
}

func (c Config) sight(l int) sight {
	s := sight{c.kind(l).Window, c.AttentionScale, c.AttentionCap}
	if s.scale == 0 {
		s.scale = float32(1 / math.Sqrt(float64(c.HeadDim)))
	}
	return s
}

// first is the first position that the last of so many keys sees.
func (s *sight) first(keys int) int {
	if s.window > 0 {
		return max(0, keys-s.window)
	}
	return 0
}

// attend computes a block's attention in layer l and adds it to the residual stream.
func (w *Work) attend(b block, l int) {
	c, a := &w.c, &w.layers[l]
	for i := b.lo; i < b.hi; {
		n := w.together(l, i, b.hi)
		for g := range c.KVHeads {
			w.attendTile(b.scratch, l, g, i, n)
		}
		i += n
	}
	mid := b.of(a.mid, c.Dim)
	for i := range b.rows() {
		copy(mid[i*c.Dim:][:c.Dim], a.x[w.output(l, b.lo+i)*c.Dim:])
	}
	ld := pad(c.qDim())
	w.join(b, w.attentionBranch(l), mid, b.of(a.mixed, ld), ld)
}

// attendOutputBackward takes a block's gradient of mid to the mixed values, for attendBackward, which also needs the rotated
// queries and keys again.
func (w *Work) attendOutputBackward(b block, l int, n normGrads) {
	c, k := &w.c, &w.back
	ld := pad(c.qDim())
	w.joinBackward(b, w.attentionBranch(l), b.of(k.dMixed, ld), ld, b.of(k.attended(l), c.Dim), b.of(k.dMid[l%2], c.Dim), n.post1)
	for t := b.lo; t < b.hi && l < c.Layers-1; t++ {
		w.rotate(t, l) // the last layer's are still there
	}
}

// together is the number of outputs of layer l from i on, before end, that attend in one tile: consecutive positions of one
// run.
func (w *Work) together(l, i, end int) int {
	t := w.output(l, i)
	n := 1
	for n < tile && i+n < end && w.output(l, i+n) == t+n && w.runOf[t+n] == w.runOf[t] {
		n++
	}
	return n
}

// attendTile mixes values for outputs i to i+n-1 of layer l, which attend together, for the query heads that share key/value
// head g.
func (w *Work) attendTile(s *scratch, l, g, i, n int) {
	c, t := &w.c, w.output(l, i)
	r := &w.runs[w.runOf[t]]
	hd, shared := c.HeadDim, c.Heads/c.KVHeads
	q := w.rotated[t*c.rotatedDim()+g*shared*hd:]
	y := w.layers[l].mixed[i*pad(c.qDim())+g*shared*hd:]
	keys := r.pos + t - r.row + 1 // that the first row sees
	if n == 1 {
		w.mix(s, r, l, g, y, hd, q, hd, shared, keys, 0)
		return
	}
	for j := range shared {
		w.mix(s, r, l, g, y[j*hd:], pad(c.qDim()), q[j*hd:], c.rotatedDim(), n, keys, 1)
	}
}

// mix computes y [n, hd] = softmax(scale q kᵀ) v, where row i sees the first keys+i*more positions of run r, or the last of
// these that the layer's window spans. What lies before all windows is skipped in whole pages, and values are mixed page by
// page wherever they lie, so that sums have one order.
func (w *Work) mix(s *scratch, r *run, l, g int, y []float32, ldy int, q []float32, ldq, n, keys, more int) {
	hd, sight := w.c.HeadDim, &w.m.sights[l]
	base, end := pageStart(sight.first(keys)), keys+(n-1)*more
	all := end - base
	ld := pad(all)
	for from, count := base, 0; from < end; from += count {
		k, rest := w.kv.keys(r, from, l, g)
		count = min(rest, end-from)
		kernel.Gemm(s.scores[from-base:], ld, q, ldq, 1, k, n, count, hd, false)
	}
	for i := range n {
		seen := keys + i*more
		sight.weigh(s.scores[i*ld:][:all], sight.first(seen)-base, seen-base)
	}
	for from, count := base, 0; from < end; from += count {
		v, rest := w.kv.values(r, from, l, g)
		count = min(rest, PageTokens, end-from)
		kernel.Gemm(y, ldy, s.scores[from-base:], ld, 1, v, n, hd, count, from > base)
	}
}

// pageStart rounds a position down to the start of its page.
func pageStart(position int) int { return position / PageTokens * PageTokens }

// mixBackward is the backward of mix for n rows, the first of which sees keys positions: it writes dq and adds to dk and dv.
func (w *Work) mixBackward(s *scratch, l, keys, n int, dq, dk, dv []float32, ldd int, dy []float32, ldy int, q, k []float32, ldq int) {
	hd, sight := w.c.HeadDim, &w.m.sights[l]
	base := pageStart(sight.first(keys))
	all := keys + n - 1 - base
	ld := pad(all)
	kernel.Gemm(s.scores, ld, q, ldq, 1, kernel.Packed(s.keys[base*hd:], hd), n, all, hd, false)
	kernel.Gemm(s.dScores, ld, dy, ldy, 1, kernel.Packed(s.values[base*hd:], hd), n, all, hd, false)
	for i := range n {
		sight.weighBackward(s.dScores[i*ld:][:all], s.scores[i*ld:][:all], s.capped, sight.first(keys+i)-base, keys+i-base)
	}
	kernel.Gemm(dv[base*ldd:], ldd, s.scores, 1, ld, kernel.RowMajor(dy, ldy), all, hd, n, true)
	kernel.Gemm(dq, ldd, s.dScores, ld, 1, kernel.RowMajor(k[base*ldq:], ldq), n, hd, all, false)
	kernel.Gemm(dk[base*ldd:], ldd, s.dScores, 1, ld, kernel.RowMajor(q, ldq), all, hd, n, true)
}

// weigh turns a row of products q kᵀ into probabilities: those of lo to hi-1; the others are 0.
func (s *sight) weigh(row []float32, lo, hi int) {
	clear(row[:lo])
	if s.limit == 0 {
		kernel.Softmax(row[lo:], hi-lo, s.scale)
		return
	}
	kernel.Softcap(row[lo:hi], s.scale, s.limit)
	kernel.Softmax(row[lo:], hi-lo, 1)
}

// weighBackward turns a row of products into probabilities p, and dp, the gradient of these, into that of the products.
// capped is scratch.
func (s *sight) weighBackward(dp, p, capped []float32, lo, hi int) {
	clear(p[:lo])
	clear(dp[:lo])
	p, dp = p[lo:], dp[lo:]
	n := hi - lo
	if s.limit == 0 {
		kernel.Softmax(p, n, s.scale)
		kernel.SoftmaxBackward(dp, p, n, s.scale)
		return
	}
	kernel.Softcap(p[:n], s.scale, s.limit)
	capped = capped[:copy(capped, p[:n])]
	kernel.Softmax(p, n, 1)
	kernel.SoftmaxBackward(dp, p, n, 1)
	kernel.SoftcapBackward(dp[:n], capped, s.scale, s.limit)
}

// attendBackward computes the gradients of one run's rotated queries and keys and of its values, for key/value head g: with
// p the probabilities, dv = pᵀ dy, ds = p (dy vᵀ - rowsum(p dy vᵀ)) scale, dq = ds k, dk = dsᵀ q. The probabilities are
// computed again.
func (w *Work) attendBackward(s *scratch, r *run, l, g int, dqkv []float32) {
	c := &w.c
	hd, shared, ldq, ld := c.HeadDim, c.Heads/c.KVHeads, c.rotatedDim(), pad(c.qkv())
	keyAt, valueAt := c.qDim()+g*hd, c.qDim()+c.kvDim()+g*hd
	keys, values := w.rotated[r.row*ldq+keyAt:], w.layers[l].qkv[r.row*ld+valueAt:]
	kernel.PackT(s.keys, keys, ldq, r.len, hd)
	kernel.PackT(s.values, values, ld, r.len, hd)
	dk, dv := dqkv[r.row*ld+keyAt:], dqkv[r.row*ld+valueAt:]
	for i := range r.len {
		clear(dk[i*ld:][:hd])
		clear(dv[i*ld:][:hd])
		if l == c.Layers-1 { // for rows that are no outputs
			clear(dqkv[(r.row+i)*ld+g*shared*hd:][:shared*hd])
		}
	}
	end := w.outputsBefore(l, r.row+r.len)
	for i := w.outputsBefore(l, r.row); i < end; {
		t, n := w.output(l, i), w.together(l, i, end)
		for h := g * shared; h < (g+1)*shared; h++ {
			q, dq := w.rotated[t*ldq+h*hd:], dqkv[t*ld+h*hd:]
			dy := w.back.dMixed[i*pad(c.qDim())+h*hd:]
			w.mixBackward(s, l, t-r.row+1, n, dq, dk, dv, ld, dy, pad(c.qDim()), q, keys, ldq)
		}
		i += n
	}
}
