package model

import "molt/numeric/kernel"

// embed looks up a block's rows of the residual stream.
func (w *Work) embed(b block) {
	d := w.c.Dim
	for t := b.lo; t < b.hi; t++ {
		copy(w.layers[0].x[t*d:][:d], w.m.embed[int(w.ids[t])*d:][:d])
	}
	if w.c.EmbedScale != 0 {
		kernel.Scale(b.of(w.layers[0].x, d), w.c.EmbedScale)
	}
}

// embedColumns is the width of the strips that share out the embedding's gradient.
const embedColumns = 64

// embedBackward adds a strip of columns of the residual stream's gradient to the rows of the ids, in token order.
func (w *Work) embedBackward(strip int) {
	d := w.c.Dim
	from := strip * embedColumns
	n := min(embedColumns, d-from)
	for t := range w.rows {
		dEmbed, dx := w.back.g.embed[int(w.ids[t])*d+from:][:n], w.back.dx[t*d+from:][:n]
		if w.c.EmbedScale != 0 {
			kernel.Axpy(dEmbed, w.c.EmbedScale, dx)
		} else {
			kernel.Add(dEmbed, dx)
		}
	}
}
