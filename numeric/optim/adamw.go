package optim

import "molt/numeric/kernel"

// piece is a range of a parameter that AdamW steps.
type piece struct {
	rule
	w, m, v, g []float32
}

func (o *Optimizer) addElements(p Param, r rule) {
	m, v := o.moment("adam.m.", p), o.moment("adam.v.", p)
	for lo := 0; lo < len(m); lo += kernel.SumChunk {
		hi := min(lo+kernel.SumChunk, len(m))
		o.elements = append(o.elements, piece{r, p.Data[lo:hi], m[lo:hi], v[lo:hi], p.Grad[lo:hi]})
	}
}

func (o *Optimizer) stepElements(pool *kernel.Pool, lr, scale float64) {
	a := o.config.Adam
	step := kernel.AdamW{LR: lr, Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, GradScale: scale, Step: o.Steps}
	pool.Run(len(o.elements), &adamStep{step, o.elements})
}

// adamStep is a step as a task over pieces.
type adamStep struct {
	kernel.AdamW
	pieces []piece
}

func (t *adamStep) Do(item, _ int) {
	p, step := &t.pieces[item], t.AdamW
	step.LR *= p.rate
	step.Decay = p.decay
	step.Update(p.w, p.m, p.v, p.g)
}
