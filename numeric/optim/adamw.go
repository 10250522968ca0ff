package optim

import "molt/numeric/kernel"

// piece is a range of a parameter that AdamW steps.
type piece struct {
	rule
	w, g []float32
	m, v []float32 // nil where mv is not
	mv   []float32 // both moments in bfloat16; see half.go

	parameter, from int // for rounding: its ordinal, and where the range begins
}

func (o *Optimizer) addElements(p Param, r rule, ordinal int) {
	var m, v, mv []float32
	if o.config.Adam.BF16 {
		mv = o.moment("adam.mv.", p)
	} else {
		m, v = o.moment("adam.m.", p), o.moment("adam.v.", p)
	}
	for lo := 0; lo < p.size(); lo += kernel.SumChunk {
		hi := min(lo+kernel.SumChunk, p.size())
		next := piece{rule: r, w: p.Data[lo:hi], g: p.Grad[lo:hi], parameter: ordinal, from: lo}
		if mv != nil {
			next.mv = mv[lo:hi]
		} else {
			next.m, next.v = m[lo:hi], v[lo:hi]
		}
		o.elements = append(o.elements, next)
	}
}

func (o *Optimizer) stepElements(pool *kernel.Pool, lr, scale float64) {
	a := o.config.Adam
	step := kernel.AdamW{LR: lr, Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, GradScale: scale, Step: o.Steps}
	pool.Run(len(o.elements), &adamStep{step, o.elements, o.scratch})
}

// adamStep is a step as a task over pieces.
type adamStep struct {
	kernel.AdamW
	pieces  []piece
	scratch []scratch
}

func (t *adamStep) Do(item, worker int) {
	p, step := &t.pieces[item], t.AdamW
	step.LR *= p.rate
	step.Decay = p.decay
	if p.mv == nil {
		step.Update(p.w, p.m, p.v, p.g)
		return
	}
	s := &t.scratch[worker]
	m, v := s.m[:len(p.mv)], s.v[:len(p.mv)]
	unpack(m, v, p.mv)
	step.Update(p.w, m, v, p.g)
	pack(p.mv, m, v, salt(step.Step, p.parameter), p.from)
}
