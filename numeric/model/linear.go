package model

import "molt/numeric/kernel"

// linear is one projection y = x Wᵀ with its two packed copies of W: one that multiplies x in the forward, one that
// multiplies dy in the backward.
type linear struct {
	w        []float32 // [out, in]
	in, out  int
	forward  []float32 // packed operand [in, out]
	backward []float32 // packed operand [out, in]
}

// from is the forward operand for outputs n and up; n is a multiple of 16.
func (p *linear) from(n int) kernel.B { return kernel.Packed(p.forward[n*p.in:], p.in) }

// apply writes, or with add accumulates, y [rows, out] from x [rows, in]. An accumulated y comes first in the sum, so a
// residual or a bias costs nothing.
func (p *linear) apply(y []float32, ldy int, x []float32, ldx, rows int, add bool) {
	kernel.Gemm(y, ldy, x, ldx, 1, p.from(0), rows, p.out, p.in, add)
}

// apply is p.apply; in a wide pass the workers share out the columns.
func (w *Work) apply(p *linear, y []float32, ldy int, x []float32, ldx, rows int, add bool) {
	if !w.wide {
		p.apply(y, ldy, x, ldx, rows, add)
		return
	}
	w.product = product{p, y, ldy, x, ldx, rows, add}
	w.pool.Run(blocks(p.out, productColumns), &w.product)
	w.product = product{}
}

// product is one projection as a task over blocks of output features.
type product struct {
	p    *linear
	y    []float32
	ldy  int
	x    []float32
	ldx  int
	rows int
	add  bool
}

const productColumns = 128

func (t *product) Do(item, _ int) {
	n := item * productColumns
	kernel.Gemm(t.y[n:], t.ldy, t.x, t.ldx, 1, t.p.from(n), t.rows, min(productColumns, t.p.out-n), t.p.in, t.add)
}

// backFrom is the backward operand for the derivatives of outputs n and up.
func (p *linear) backFrom(n int) kernel.B {
	return kernel.B{Data: p.backward[n*kernel.Lanes:], PanelStride: p.out * kernel.Lanes, RowStride: kernel.Lanes}
}

// applyBackward writes dx [rows, in] from dy [rows, out].
func (p *linear) applyBackward(dx []float32, ldx int, dy []float32, ldy, rows int) {
	kernel.Gemm(dx, ldx, dy, ldy, 1, p.backFrom(0), rows, p.in, p.out, false)
}

// weightGrad is a projection's weight gradient: dW [out, in] += dyᵀ x, and its bias's if there is one.
type weightGrad struct {
	dw, bias []float32
	dy       []float32 // [T, ldy]
	ldy      int
	x        []float32 // [T, pad(in)]
	out, in  int
}

// stripRows is the number of output features in a strip, which weight gradients are shared out in.
const stripRows = 48

// strips is the number of strips of a weight gradient with so many output features.
func strips(out int) int { return (out + stripRows - 1) / stripRows }

// strip adds rows lo to hi-1 to one strip.
func (g weightGrad) strip(item, lo, hi int) {
	from := item * stripRows
	n, ldx := min(stripRows, g.out-from), pad(g.in)
	kernel.Gemm(g.dw[from*g.in:], g.in, g.dy[lo*g.ldy+from:], 1, g.ldy, kernel.RowMajor(g.x[lo*ldx:], ldx), n, g.in, hi-lo, true)
	for t := lo; g.bias != nil && t < hi; t++ {
		kernel.Add(g.bias[from:][:n], g.dy[t*g.ldy+from:][:n])
	}
}
