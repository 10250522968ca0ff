package optim

import (
	"cmp"
	"math"
	"slices"

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

// arrange puts the matrices that take longest first, so that threads end together.
func arrange(matrices []matrix) {
	work := func(t matrix) int { return t.rows * t.cols * min(t.rows, t.cols) }
	slices.SortStableFunc(matrices, func(a, b matrix) int { return cmp.Compare(work(b), work(a)) })
}

func (o *Optimizer) stepMatrices(pool *kernel.Pool, lr, scale float64) {
	pool.Run(len(o.matrices), &muonStep{o, lr, scale})
}

// muonStep is a step as a task over matrices: there are many, and each is work enough for one thread.
type muonStep struct {
	*Optimizer
	lr, scale float64
}

func (t *muonStep) Do(item, worker int) {
	t.matrices[item].step(&t.scratch[worker], t.config.Muon, t.lr, t.scale)
}

// step is one step of Muon, with g the scaled gradient and mu the momentum:
//
//	m = mu m + (1-mu) g
//	u = mu m + (1-mu) g, or m without Nesterov
//	w = (1 - lr decay) w - lr sqrt(rows/cols) orthogonal(u)
//
// The shape's factor takes an orthogonal matrix, of spectral norm 1, to one of RMS operator norm 1, so that one learning
// rate suits every shape (Yang, Simon and Bernstein 2023, arXiv 2310.17813). It is that of the original; Jordan's own is
// sqrt(max(1, rows/cols)), Moonshot's 0.2 sqrt(max(rows, cols)). Decay takes the learning rate without it, as everywhere.
func (t *matrix) step(s *scratch, c Muon, lr, scale float64) {
	lr *= t.rate
	mu, rest := float32(c.Momentum), float32((1-c.Momentum)*scale)
	kernel.Scale(t.m, mu)
	kernel.Axpy(t.m, rest, t.g)
	u := s.x[:len(t.m)]
	copy(u, t.m)
	if c.Nesterov {
		kernel.Scale(u, mu)
		kernel.Axpy(u, rest, t.g)
	}
	u = s.orthogonal(t.rows, t.cols)
	kernel.Scale(t.w, float32(1-float64(lr*t.decay)))
	kernel.Axpy(t.w, float32(-lr*math.Sqrt(float64(t.rows)/float64(t.cols))), u)
}
