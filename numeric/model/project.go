package model

import "molt/numeric/kernel"

func (c Config) rotatedDim() int { return pad(c.qDim() + c.kvDim()) }

// project computes a block's queries, keys and values for layer l, and writes keys and values to the KV.
func (w *Work) project(b block, l int) {
	c, a, p := &w.c, &w.layers[l], &w.m.layers[l]
	w.leave(b, b.normed, b.of(a.x, c.Dim), p.norm1)
	ld := pad(c.qkv())
	qkv := b.of(a.qkv, ld)
	spread(qkv, p.qkvBias, ld, b.rows())
	w.apply(&w.m.products[l].qkv, qkv, ld, b.normed, c.Dim, b.rows(), p.qkvBias != nil)
	for t := b.lo; t < b.hi; t++ {
		w.rotate(t, l)
		w.cache(t, l)
	}
}

// projectBackward is the backward of project and of the residual around attention: from the gradients of layer l's queries,
// keys and values and of mid to that of x.
func (w *Work) projectBackward(b block, l int, n normGrads) {
	c, a, p := &w.c, &w.layers[l], &w.m.layers[l]
	dqkv, ld := w.back.dqkv[l%2], pad(c.qkv())
	for t := b.lo; t < b.hi; t++ {
		w.rotateBackward(t, l, b.scratch, dqkv, n)
	}
	w.m.products[l].qkv.applyBackward(b.dNormed, c.Dim, b.of(dqkv, ld), ld, b.rows())
	x, dx := b.of(a.x, c.Dim), b.of(w.back.dx, c.Dim)
	w.leave(b, b.of(w.back.normed1, c.Dim), x, p.norm1)
	w.residualBackward(b, l)
	w.leaveBackward(b, dx, b.dNormed[:len(dx)], x, p.norm1, n.norm1)
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

// spread writes a bias to every row, for a product to add to.
func spread(y, bias []float32, ld, rows int) {
	for i := 0; bias != nil && i < rows; i++ {
		copy(y[i*ld:], bias)
	}
}

// rotate writes a row's normed and rotated queries and keys.
func (w *Work) rotate(t, l int) {
	c, p := &w.c, &w.m.layers[l]
	q, n := c.qDim(), c.qDim()+c.kvDim()
	x, y := w.layers[l].qkv[t*pad(c.qkv()):][:n], w.rotated[t*c.rotatedDim():][:n]
	if p.qNorm != nil {
		qRstd, kRstd := w.headRstd(t)
		kernel.RMSNorm(y[:q], x[:q], p.qNorm, qRstd, len(qRstd), len(p.qNorm), c.NormEps)
		kernel.RMSNorm(y[q:], x[q:], p.kNorm, kRstd, len(kRstd), len(p.kNorm), c.NormEps)
	} else {
		copy(y, x)
	}
	if !c.kind(l).NoRope {
		cos, sin := w.rotation(t, l)
		kernel.Rope(y, cos, sin, c.HeadDim)
	}
}

// rotateBackward turns the gradient of a row's rotated queries and keys into that of the projected ones in place, and adds
// the norms' weight gradients to n.
func (w *Work) rotateBackward(t, l int, s *scratch, dqkv []float32, n normGrads) {
	c, p := &w.c, &w.m.layers[l]
	q, both := c.qDim(), c.qDim()+c.kvDim()
	dx := dqkv[t*pad(c.qkv()):][:both]
	if !c.kind(l).NoRope {
		cos, sin := w.rotation(t, l)
		kernel.RopeBackward(dx, cos, sin, c.HeadDim)
	}
	if p.qNorm == nil {
		return
	}
	x := w.layers[l].qkv[t*pad(c.qkv()):][:both]
	qRstd, kRstd := w.headRstd(t)
	w.headNormBackward(dx[:q], x[:q], p.qNorm, qRstd, n.q, s.dHeads)
	w.headNormBackward(dx[q:], x[q:], p.kNorm, kRstd, n.k, s.dHeads)
}

// headNormBackward replaces the gradient of normed heads by that of the heads x.
func (w *Work) headNormBackward(dx, x, weight, rstd, dWeight, dy []float32) {
	n := len(weight)
	dy = dy[:len(dx)]
	copy(dy, dx)
	clear(dx)
	kernel.RMSNormBackward(dx, dy, x, weight, rstd, len(rstd), n)
	kernel.RMSNormBackwardWeight(dWeight, dy, x, rstd, len(rstd), n, n)
}

// headRstd is where a row's norms of queries and of keys leave their rstd: one for each head, or one for all.
func (w *Work) headRstd(t int) (q, k []float32) {
	c := &w.c
	r := w.rstd[t*(c.Heads+c.KVHeads):][:c.Heads+c.KVHeads]
	if c.QKNormWide {
		return r[:1], r[1:2]
	}
	return r[:c.Heads], r[c.Heads:]
}

// rotation is that of row t in layer l.
func (w *Work) rotation(t, l int) (cos, sin []float32) {
	r, rope := &w.runs[w.runOf[t]], &w.m.ropes[0]
	if w.c.kind(l).LocalRope {
		rope = &w.m.ropes[1]
	}
	return rope.at(r.pos + t - r.row)
}

// cache writes a row's keys and values.
func (w *Work) cache(t, l int) {
	c, r := &w.c, &w.runs[w.runOf[t]]
	hd := c.HeadDim
	keys := w.rotated[t*c.rotatedDim()+c.qDim():]
	values := w.layers[l].qkv[t*pad(c.qkv())+c.qDim()+c.kvDim():]
	for g := range c.KVHeads {
		w.kv.store(r, r.pos+t-r.row, l, g, keys[g*hd:][:hd], values[g*hd:][:hd])
	}
}
