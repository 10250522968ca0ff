package local

import (
	"math"

	"molt/numeric/kernel"
	"molt/numeric/model"
)

// optimizer is AdamW over all parameters of a model. Pieces of kernel.SumChunk elements are the unit of work: elements
// step independently, and the norm adds up whole pieces in order, so threads change no bit.
type optimizer struct {
	adam    Adam
	grads   *model.Grads
	m, v    *model.Grads // first and second moments
	steps   int          // taken; skipped ones do not count
	pieces  []piece
	squares []float64 // [pieces]
	update  kernel.AdamW
}

// piece is a range of one parameter.
type piece struct {
	w, m, v, g []float32
	decay      bool
}

func newOptimizer(weights []model.Param, shape model.Config, adam Adam) (*optimizer, error) {
	o := &optimizer{adam: adam}
	for _, buffer := range []**model.Grads{&o.grads, &o.m, &o.v} {
		var err error
		if *buffer, err = model.NewGrads(shape); err != nil {
			return nil, err
		}
	}
	for i, p := range weights {
		w, m, v, g := p.Data, o.m.Params()[i].Data, o.v.Params()[i].Data, o.grads.Params()[i].Data
		for from := 0; from < len(w); from += kernel.SumChunk {
			to := min(from+kernel.SumChunk, len(w))
			o.pieces = append(o.pieces, piece{w[from:to], m[from:to], v[from:to], g[from:to], p.Decay})
		}
	}
	o.squares = make([]float64, len(o.pieces))
	return o, nil
}

func (o *optimizer) free() {
	o.grads.Free()
	o.m.Free()
	o.v.Free()
}

// norm is the global norm of the gradients.
func (o *optimizer) norm(pool *kernel.Pool) float64 {
	pool.Run(len(o.pieces), (*squaring)(o))
	var sum float64
	for _, s := range o.squares {
		sum += s
	}
	return math.Sqrt(sum)
}

// squaring is norm as a task over pieces.
type squaring optimizer

func (t *squaring) Do(item, _ int) { t.squares[item] = kernel.SumSquares(t.pieces[item].g) }

// step updates the weights. Gradients whose norm exceeds clip are scaled down to it; 0 does not clip.
func (o *optimizer) step(pool *kernel.Pool, lr, norm, clip float64) {
	o.steps++
	o.update = kernel.AdamW{LR: lr, Beta1: o.adam.Beta1, Beta2: o.adam.Beta2, Eps: o.adam.Eps, GradScale: 1, Step: o.steps}
	if clip > 0 && norm > clip {
		o.update.GradScale = clip / norm
	}
	pool.Run(len(o.pieces), (*updating)(o))
}

// updating is step as a task over pieces.
type updating optimizer

func (t *updating) Do(item, _ int) {
	p, u := &t.pieces[item], t.update
	if p.decay {
		u.Decay = t.adam.Decay
	}
	u.Update(p.w, p.m, p.v, p.g)
}
