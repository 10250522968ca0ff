package model

import (
	"math"

	"molt/numeric/kernel"
)

func (c Config) scale() float32 { return float32(1 / math.Sqrt(float64(c.HeadDim))) }

// attend computes a block's attention in layer l and adds it to the residual stream.
func (w *Work) attend(b block, l int) {
	c, a := w.c, &w.layers[l]
	for i := b.lo; i < b.hi; {
		n := w.together(l, i, b.hi)
		for g := range c.KVHeads {
			w.attendTile(b.scratch, l, g, i, n)
		}
		i += n
	}
	mid, bias := b.of(a.mid, c.Dim), w.m.layers[l].oBias
	for i := range b.rows() {
		row := mid[i*c.Dim:][:c.Dim]
		copy(row, a.x[w.output(l, b.lo+i)*c.Dim:])
		if bias != nil {
			kernel.Add(row, bias)
		}
	}
	ld := pad(c.qDim())
	w.apply(&w.m.products[l].o, mid, c.Dim, b.of(a.mixed, ld), ld, b.rows(), true)
}

// attendOutputBackward takes a block's gradient of mid to the mixed values, for attendBackward, which also needs the rotated
// queries and keys again.
func (w *Work) attendOutputBackward(b block, l int) {
	c, k := w.c, &w.back
	ld := pad(c.qDim())
	w.m.products[l].o.applyBackward(b.of(k.dMixed, ld), ld, b.of(k.dMid[l%2], c.Dim), c.Dim, b.rows())
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
	c, t := w.c, w.output(l, i)
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

// mix computes y [n, hd] = softmax(q kᵀ / sqrt(hd)) v, where row i sees the first keys+i*more positions of run r.
func (w *Work) mix(s *scratch, r *run, l, g int, y []float32, ldy int, q []float32, ldq, n, keys, more int) {
	hd := w.c.HeadDim
	all := keys + (n-1)*more
	ld := pad(all)
	for from := 0; from < all; from += r.span {
		k, _ := w.kv.extent(r, from/r.span, l, g)
		kernel.Gemm(s.scores[from:], ld, q, ldq, 1, k, n, min(r.span, all-from), hd, false)
	}
	for i := range n {
		kernel.Softmax(s.scores[i*ld:][:all], keys+i*more, w.c.scale())
	}
	for from := 0; from < all; from += r.span {
		_, v := w.kv.extent(r, from/r.span, l, g)
		kernel.Gemm(y, ldy, s.scores[from:], ld, 1, v, n, hd, min(r.span, all-from), from > 0)
	}
}

// mixBackward is the backward of mix for n rows, the first of which sees keys positions: it writes dq and adds to dk and dv.
func (w *Work) mixBackward(s *scratch, keys, n int, dq, dk, dv []float32, ldd int, dy []float32, ldy int, q, k []float32, ldq int) {
	hd, all := w.c.HeadDim, keys+n-1
	ld, scale := pad(all), w.c.scale()
	kernel.Gemm(s.scores, ld, q, ldq, 1, kernel.Packed(s.keys, hd), n, all, hd, false)
	kernel.Gemm(s.dScores, ld, dy, ldy, 1, kernel.Packed(s.values, hd), n, all, hd, false)
	for i := range n {
		p, dp := s.scores[i*ld:][:all], s.dScores[i*ld:][:all]
		kernel.Softmax(p, keys+i, scale)
		kernel.SoftmaxBackward(dp, p, keys+i, scale)
	}
	kernel.Gemm(dv, ldd, s.scores, 1, ld, kernel.RowMajor(dy, ldy), all, hd, n, true)
	kernel.Gemm(dq, ldd, s.dScores, ld, 1, kernel.RowMajor(k, ldq), n, hd, all, false)
	kernel.Gemm(dk, ldd, s.dScores, 1, ld, kernel.RowMajor(q, ldq), all, hd, n, true)
}

// attendBackward computes the gradients of one run's rotated queries and keys and of its values, for key/value head g: with
// p the probabilities, dv = pᵀ dy, ds = p (dy vᵀ - rowsum(p dy vᵀ)) / sqrt(hd), dq = ds k, dk = dsᵀ q. The probabilities
// are computed again.
func (w *Work) attendBackward(s *scratch, r *run, l, g int, dqkv []float32) {
	c := w.c
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
			w.mixBackward(s, t-r.row+1, n, dq, dk, dv, ld, dy, pad(c.qDim()), q, keys, ldq)
		}
		i += n
	}
}
