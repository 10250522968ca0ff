package model

import "molt/numeric/kernel"

// mlp adds layer l's gated MLP to a block of the residual stream (Shazeer 2020): (silu(h Wg) * (h Wu)) Wd, or gelu for silu,
// with h = norm2(mid).
func (w *Work) mlp(b block, l int) {
	c, a, p := &w.c, &w.layers[l], &w.m.layers[l]
	mid := b.of(a.mid, c.Dim)
	w.leave(b, b.normed, mid, p.norm2)
	ld := pad(c.gateUp())
	gateUp := b.of(a.gateUp, ld)
	spread(gateUp, p.gateUpBias, ld, b.rows())
	w.apply(&w.m.products[l].gateUp, gateUp, ld, b.normed, c.Dim, b.rows(), p.gateUpBias != nil)
	w.gate(b.act, gateUp, b.rows())
	x := b.of(w.layers[l+1].x, c.Dim)
	copy(x, mid)
	w.join(b, w.mlpBranch(l), x, b.act, pad(c.FFN))
}

// mlpBackward takes a block's gradient from layer l's output to mid. It replaces the stored gate and up by their gradients
// and keeps what the weight gradients need.
func (w *Work) mlpBackward(b block, l int, n normGrads) {
	c, a, p, k := &w.c, &w.layers[l], &w.m.products[l], &w.back
	ld, ldAct := pad(c.gateUp()), pad(c.FFN)
	gateUp, dx := b.of(a.gateUp, ld), b.of(k.dx, c.Dim)
	w.gate(b.of(k.act, ldAct), gateUp, b.rows())
	w.joinBackward(b, w.mlpBranch(l), b.act, ldAct, b.of(k.fed(), c.Dim), dx, n.post2)
	w.gateBackward(gateUp, b.act, b.rows())
	p.gateUp.applyBackward(b.dNormed, c.Dim, gateUp, ld, b.rows())
	mid, dMid, norm2 := b.of(a.mid, c.Dim), b.of(k.dMid[l%2], c.Dim), w.m.layers[l].norm2
	w.leave(b, b.of(k.normed2, c.Dim), mid, norm2)
	copy(dMid, dx)
	w.leaveBackward(b, dMid, b.dNormed[:len(dMid)], mid, norm2, n.norm2)
}

// gate writes act [rows, F].
func (w *Work) gate(act, gateUp []float32, rows int) {
	f, ldAct, ld := w.c.FFN, pad(w.c.FFN), pad(w.c.gateUp())
	for i := range rows {
		y, gate, up := act[i*ldAct:][:f], gateUp[i*ld:][:f], gateUp[i*ld+f:][:f]
		if w.c.GELU {
			kernel.GeGLU(y, gate, up)
		} else {
			kernel.SwiGLU(y, gate, up)
		}
	}
}

// gateBackward replaces gate and up by their gradients, from that of act.
func (w *Work) gateBackward(gateUp, dAct []float32, rows int) {
	f, ldAct, ld := w.c.FFN, pad(w.c.FFN), pad(w.c.gateUp())
	for i := range rows {
		dy, gate, up := dAct[i*ldAct:][:f], gateUp[i*ld:][:f], gateUp[i*ld+f:][:f]
		if w.c.GELU {
			kernel.GeGLUBackward(gate, up, dy, gate, up)
		} else {
			kernel.SwiGLUBackward(gate, up, dy, gate, up)
		}
	}
}
