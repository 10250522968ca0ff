package model

import "molt/numeric/kernel"

// mlp adds layer l's SwiGLU MLP to a block of the residual stream (Shazeer 2020): x' = mid + (silu(h Wg) * (h Wu)) Wd with
// h = norm2(mid).
func (w *Work) mlp(b block, l int) {
	c, a, p := w.c, &w.layers[l], &w.m.products[l]
	mid := b.of(a.mid, c.Dim)
	kernel.RMSNorm(b.normed, mid, w.m.layers[l].norm2, b.rstd, b.rows(), c.Dim, c.NormEps)
	ld := pad(c.gateUp())
	gateUp := b.of(a.gateUp, ld)
	w.apply(&p.gateUp, gateUp, ld, b.normed, c.Dim, b.rows(), false)
	w.swiglu(b.act, gateUp, b.rows())
	x := b.of(w.layers[l+1].x, c.Dim)
	copy(x, mid)
	w.apply(&p.down, x, c.Dim, b.act, pad(c.FFN), b.rows(), true)
}

// mlpBackward takes a block's gradient from layer l's output to mid. It replaces the stored gate and up by their gradients
// and keeps what the weight gradients need.
func (w *Work) mlpBackward(b block, l int, n normGrads) {
	c, a, p, k := w.c, &w.layers[l], &w.m.products[l], &w.back
	f, ld, ldAct := c.FFN, pad(c.gateUp()), pad(c.FFN)
	gateUp, dx := b.of(a.gateUp, ld), b.of(k.dx, c.Dim)
	w.swiglu(b.of(k.act, ldAct), gateUp, b.rows())
	p.down.applyBackward(b.act, ldAct, dx, c.Dim, b.rows())
	for i := range b.rows() {
		gate, up := gateUp[i*ld:][:f], gateUp[i*ld+f:][:f]
		kernel.SwiGLUBackward(gate, up, b.act[i*ldAct:][:f], gate, up)
	}
	p.gateUp.applyBackward(b.dNormed, c.Dim, gateUp, ld, b.rows())
	mid, dMid, norm2 := b.of(a.mid, c.Dim), b.of(k.dMid[l%2], c.Dim), w.m.layers[l].norm2
	kernel.RMSNorm(b.of(k.normed2, c.Dim), mid, norm2, b.rstd, b.rows(), c.Dim, c.NormEps)
	copy(dMid, dx)
	kernel.RMSNormBackward(dMid, b.dNormed, mid, norm2, b.rstd, b.rows(), c.Dim)
	kernel.RMSNormBackwardWeight(n.norm2, b.dNormed, mid, b.rstd, b.rows(), c.Dim, c.Dim)
}

// swiglu writes act [rows, F].
func (w *Work) swiglu(act, gateUp []float32, rows int) {
	f, ldAct, ld := w.c.FFN, pad(w.c.FFN), pad(w.c.gateUp())
	for i := range rows {
		x := gateUp[i*ld:]
		kernel.SwiGLU(act[i*ldAct:][:f], x[:f], x[f:][:f])
	}
}
