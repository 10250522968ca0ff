package optim

import (
	"math"

	"molt/numeric/kernel"
)

// matrix is a parameter [rows, cols] that Muon steps.
type matrix struct {
	rule
	rows, cols int
	w, m, g    []float32 // weights, running mean of the gradients, gradients
}

func (o *Optimizer) addMatrix(p Param, r rule) {
	o.matrices = append(o.matrices, matrix{r, p.Shape[0], p.Shape[1], p.Data, o.moment("muon.m.", p), p.Grad})
}

// stepMatrix is one step of Muon, with g the scaled gradient and mu the momentum:
//
//	m = mu m + (1-mu) g
//	u = mu m + (1-mu) g, or m without Nesterov
//	w = (1 - lr decay) w - lr sqrt(rows/cols) orthogonal(u)
//
// The shape's factor takes an orthogonal matrix, of spectral norm 1, to one of RMS operator norm 1, so that one learning
// rate suits every shape (Yang, Simon and Bernstein 2023, arXiv 2310.17813). It is that of the original; Jordan's own is
// sqrt(max(1, rows/cols)), Moonshot's 0.2 sqrt(max(rows, cols)). Decay takes the learning rate without it, as everywhere.
func (o *Optimizer) stepMatrix(pool *kernel.Pool, t *matrix, lr, scale float64) {
	lr *= t.rate
	u := o.scratch.x[:len(t.w)]
	t.blend(pool, u, o.config.Muon, scale)
	u = o.scratch.orthogonal(pool, t.rows, t.cols)
	keep, move := float32(1-float64(lr*t.decay)), float32(-lr*math.Sqrt(float64(t.rows)/float64(t.cols)))
	each(pool, len(t.w), func(lo, hi int) {
		kernel.Scale(t.w[lo:hi], keep)
		kernel.Axpy(t.w[lo:hi], move, u[lo:hi])
	})
}

// blend takes the gradient into the running mean and writes what is to be made orthogonal to u.
func (t *matrix) blend(pool *kernel.Pool, u []float32, c Muon, scale float64) {
	mu, rest := float32(c.Momentum), float32((1-c.Momentum)*scale)
	each(pool, len(u), func(lo, hi int) {
		u, m, g := u[lo:hi], t.m[lo:hi], t.g[lo:hi]
		kernel.Scale(m, mu)
		kernel.Axpy(m, rest, g)
		copy(u, m)
		if c.Nesterov {
			kernel.Scale(u, mu)
			kernel.Axpy(u, rest, g)
		}
	})
}

// each shares out ranges of n elements, cut at multiples of kernel.SumChunk.
func each(pool *kernel.Pool, n int, do func(lo, hi int)) {
	pool.Run((n+kernel.SumChunk-1)/kernel.SumChunk, ranges{n, do})
}

type ranges struct {
	n  int
	do func(lo, hi int)
}

func (t ranges) Do(item, _ int) {
	lo := item * kernel.SumChunk
	t.do(lo, min(lo+kernel.SumChunk, t.n))
}
