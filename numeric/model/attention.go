package model

import (
	"math"

	"molt/numeric/kernel"
)

func (c Config) rotatedDim() int { return pad(c.qDim() + c.kvDim()) }
func (c Config) scale() float32  { return float32(1 / math.Sqrt(float64(c.HeadDim))) }

// project computes a block's queries, keys and values for layer l, and writes keys and values to the KV.
func (w *Work) project(b block, l int) {
	c, a, p := w.c, &w.layers[l], &w.m.layers[l]
	kernel.RMSNorm(b.normed, b.of(a.x, c.Dim), p.norm1, b.rstd, b.rows(), c.Dim, c.NormEps)
	ld := pad(c.qkv())
	qkv := b.of(a.qkv, ld)
	spread(qkv, p.qkvBias, ld, b.rows())
	w.apply(&w.m.products[l].qkv, qkv, ld, b.normed, c.Dim, b.rows(), p.qkvBias != nil)
	for t := b.lo; t < b.hi; t++ {
		w.rotate(t, l)
		w.cache(t, l)
	}
}

// spread writes a bias to every row, for a product to add to.
func spread(y, bias []float32, ld, rows int) {
	for i := 0; bias != nil && i < rows; i++ {
		copy(y[i*ld:], bias)
	}
}

// rotate writes a row's normed and rotated queries and keys.
func (w *Work) rotate(t, l int) {
	c, p := w.c, &w.m.layers[l]
	q, n := c.qDim(), c.qDim()+c.kvDim()
	x, y := w.layers[l].qkv[t*pad(c.qkv()):][:n], w.rotated[t*c.rotatedDim():][:n]
	if c.QKNorm {
		qRstd, kRstd := w.headRstd(t)
		kernel.RMSNorm(y[:q], x[:q], p.qNorm, qRstd, c.Heads, c.HeadDim, c.NormEps)
		kernel.RMSNorm(y[q:], x[q:], p.kNorm, kRstd, c.KVHeads, c.HeadDim, c.NormEps)
	} else {
		copy(y, x)
	}
	cos, sin := w.rotation(t)
	kernel.Rope(y, cos, sin, c.HeadDim)
}

// rotateBackward turns the gradient of a row's rotated queries and keys into that of the projected ones in place, and adds
// the norms' weight gradients to n.
func (w *Work) rotateBackward(t, l int, s *scratch, dqkv []float32, n normGrads) {
	c, p := w.c, &w.m.layers[l]
	q, both := c.qDim(), c.qDim()+c.kvDim()
	dx := dqkv[t*pad(c.qkv()):][:both]
	cos, sin := w.rotation(t)
	kernel.RopeBackward(dx, cos, sin, c.HeadDim)
	if !c.QKNorm {
		return
	}
	x := w.layers[l].qkv[t*pad(c.qkv()):][:both]
	qRstd, kRstd := w.headRstd(t)
	w.headNormBackward(dx[:q], x[:q], p.qNorm, qRstd, n.q, s.dHeads)
	w.headNormBackward(dx[q:], x[q:], p.kNorm, kRstd, n.k, s.dHeads)
}

// headNormBackward replaces the gradient of normed heads by that of the heads x.
func (w *Work) headNormBackward(dx, x, weight, rstd, dWeight, dy []float32) {
	hd := w.c.HeadDim
	dy = dy[:len(dx)]
	copy(dy, dx)
	clear(dx)
	kernel.RMSNormBackward(dx, dy, x, weight, rstd, len(rstd), hd)
	kernel.RMSNormBackwardWeight(dWeight, dy, x, rstd, len(rstd), hd, hd)
}

func (w *Work) headRstd(t int) (q, k []float32) {
	c := w.c
	r := w.rstd[t*(c.Heads+c.KVHeads):][:c.Heads+c.KVHeads]
	return r[:c.Heads], r[c.Heads:]
}

func (w *Work) rotation(t int) (cos, sin []float32) {
	r := &w.runs[w.runOf[t]]
	return w.m.rope.at(r.pos + t - r.row)
}

// cache writes a row's keys and values.
func (w *Work) cache(t, l int) {
	c, r := w.c, &w.runs[w.runOf[t]]
	hd := c.HeadDim
	keys := w.rotated[t*c.rotatedDim()+c.qDim():]
	values := w.layers[l].qkv[t*pad(c.qkv())+c.qDim()+c.kvDim():]
	for g := range c.KVHeads {
		w.kv.store(r, r.pos+t-r.row, l, g, keys[g*hd:][:hd], values[g*hd:][:hd])
	}
}

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
		clear(dqkv[(r.row+i)*ld+g*shared*hd:][:shared*hd]) // rows that are no outputs stay so
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

// attendInputBackward is the backward of project and of the residual around attention, for a block: from the gradients of
// layer l's queries, keys and values and of mid to that of x.
func (w *Work) attendInputBackward(b block, l int, n normGrads) {
	c, a, p := w.c, &w.layers[l], &w.m.layers[l]
	dqkv, ld := w.back.dqkv[l%2], pad(c.qkv())
	for t := b.lo; t < b.hi; t++ {
		w.rotateBackward(t, l, b.scratch, dqkv, n)
	}
	w.m.products[l].qkv.applyBackward(b.dNormed, c.Dim, b.of(dqkv, ld), ld, b.rows())
	x, dx := b.of(a.x, c.Dim), b.of(w.back.dx, c.Dim)
	kernel.RMSNorm(b.of(w.back.normed1, c.Dim), x, p.norm1, b.rstd, b.rows(), c.Dim, c.NormEps)
	w.residualBackward(b, l)
	kernel.RMSNormBackward(dx, b.dNormed, x, p.norm1, b.rstd, b.rows(), c.Dim)
	kernel.RMSNormBackwardWeight(n.norm1, b.dNormed, x, b.rstd, b.rows(), c.Dim, c.Dim)
}

// residualBackward starts the gradient of a block of layer l's input with that of mid.
func (w *Work) residualBackward(b block, l int) {
	d, k := w.c.Dim, &w.back
	if l < w.c.Layers-1 {
		copy(b.of(k.dx, d), b.of(k.dMid[l%2], d))
		return
	}
	clear(b.of(k.dx, d))
	for i := w.outputsBefore(l, b.lo); i < w.outputsBefore(l, b.hi); i++ {
		copy(k.dx[w.output(l, i)*d:][:d], k.dMid[l%2][i*d:])
	}
}
