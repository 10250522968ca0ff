package model

import "molt/numeric/kernel"

// Attention and MLP are branches off the residual stream: x' = x + s post(f(pre(x))), where pre and post are RMSNorms or
// nothing and s is Config.ResidualScale. What f computes last, its output projection, is part of join.

// leave writes a block's input y of a branch from its stream [rows, d].
func (w *Work) leave(b block, y, stream, pre []float32) {
	d := w.c.Dim
	if pre == nil {
		copy(y, stream)
		return
	}
	kernel.RMSNorm(y, stream, pre, b.rstd, b.rows(), d, w.c.NormEps)
}

// leaveBackward adds to dStream the gradient that comes through the branch's input. b.rstd is as leave left it.
func (w *Work) leaveBackward(b block, dStream, dy, stream, pre, dPre []float32) {
	d := w.c.Dim
	if pre == nil {
		kernel.Add(dStream, dy)
		return
	}
	kernel.RMSNormBackward(dStream, dy, stream, pre, b.rstd, b.rows(), d)
	kernel.RMSNormBackwardWeight(dPre, dy, stream, b.rstd, b.rows(), d, d)
}

// branch is how one branch comes back to the stream.
type branch struct {
	p    *linear   // the output projection
	bias []float32 // [d] or nil
	post []float32 // [d] or nil
	out  []float32 // [T, d] what the projection gave, for the backward of post; nil when that is not kept
}

// direct reports whether branches add to the stream as they are, so that the product itself can.
func (c *Config) direct() bool { return c.Norms == PreNorm && c.ResidualScale == 0 }

// join adds a branch to a block's stream [rows, d]; x [rows, ldx] is the input of its output projection.
func (w *Work) join(b block, r branch, stream, x []float32, ldx int) {
	d := w.c.Dim
	if w.c.direct() {
		for i := 0; r.bias != nil && i < b.rows(); i++ {
			kernel.Add(stream[i*d:][:d], r.bias)
		}
		w.apply(r.p, stream, d, x, ldx, b.rows(), true)
		return
	}
	out := b.out[:b.rows()*d]
	if r.out != nil {
		out = b.of(r.out, d)
	}
	spread(out, r.bias, d, b.rows())
	w.apply(r.p, out, d, x, ldx, b.rows(), r.bias != nil)
	if r.post != nil {
		y := b.normed[:b.rows()*d]
		kernel.RMSNorm(y, out, r.post, b.rstd, b.rows(), d, w.c.NormEps)
		out = y
	}
	if s := w.c.ResidualScale; s != 0 {
		kernel.Axpy(stream, s, out)
	} else {
		kernel.Add(stream, out)
	}
}

// joinBackward takes a block's gradient of the stream to the input x of the branch's output projection, and writes dOut, that
// of what the projection gave, for its weight gradient. The stream's own gradient stays as it is. In a direct block dOut is
// dStream.
func (w *Work) joinBackward(b block, r branch, dx []float32, ldx int, dOut, dStream, dPost []float32) {
	d := w.c.Dim
	if !w.c.direct() {
		dy := b.normed[:b.rows()*d]
		copy(dy, dStream)
		if s := w.c.ResidualScale; s != 0 {
			kernel.Scale(dy, s)
		}
		if r.post == nil {
			copy(dOut, dy)
		} else {
			out := b.of(r.out, d)
			kernel.RMSNorm(b.out[:b.rows()*d], out, r.post, b.rstd, b.rows(), d, w.c.NormEps) // for rstd
			clear(dOut)
			kernel.RMSNormBackward(dOut, dy, out, r.post, b.rstd, b.rows(), d)
			kernel.RMSNormBackwardWeight(dPost, dy, out, b.rstd, b.rows(), d, d)
		}
	}
	r.p.applyBackward(dx, ldx, dOut, d, b.rows())
}

// attention and mlpBranch are the two branches of layer l.
func (w *Work) attentionBranch(l int) branch {
	p := &w.m.layers[l]
	return branch{&w.m.products[l].o, p.oBias, p.post1, w.layers[l].attended}
}

func (w *Work) mlpBranch(l int) branch {
	p := &w.m.layers[l]
	return branch{&w.m.products[l].down, p.downBias, p.post2, w.layers[l].fed}
}
