package model

import (
	"fmt"

	"molt/numeric/kernel"
)

// backward is what Backward keeps for all rows of one layer. Activation gradients flow by blocks of rows; weight gradients
// wait for all rows and are then shared out in strips of outputs.
type backward struct {
	g                       *Grads
	dLogp, dEntropy, dValue []float32

	dx      []float32    // [T, d] gradient of a layer's output, then of its input
	dMid    [2][]float32 // [T, d] gradient of mid, for even and odd layers
	dMixed  []float32    // [T, pad(H hd)] gradient of mixed
	dqkv    [2][]float32 // [T, pad((H+2G)hd)] gradient of qkv, for even and odd layers
	normed1 []float32    // [T, d] input of the qkv projection
	normed2 []float32    // [T, d] input of the gate and up projections
	act     []float32    // [T, pad(F)] input of the down projection
	norms   []float32    // [blocks, 4d+q+k] norms' weight gradients, block by block
	normLen int
	d, q, k int // widths of the norms

	dAttended, dFed []float32 // [T, d] gradients of what the o and down projections gave, where that is not the stream's
}

// normGrads are one block's weight gradients of the norms.
type normGrads struct{ norm1, norm2, post1, post2, q, k []float32 }

func (k *backward) carve(c Config, b Budget, floats func(int) []float32) {
	k.d = c.Dim
	k.q, k.k = c.qkNorm()
	k.normLen = 4*c.Dim + pad(k.q+k.k)
	for _, buffer := range []*[]float32{&k.dx, &k.dMid[0], &k.dMid[1], &k.normed1, &k.normed2} {
		*buffer = floats(b.Tokens * c.Dim)
	}
	if !c.direct() {
		k.dAttended, k.dFed = floats(b.Tokens*c.Dim), floats(b.Tokens*c.Dim)
	}
	k.dMixed = floats(b.Tokens * pad(c.qDim()))
	k.dqkv[0] = floats(b.Tokens * pad(c.qkv()))
	k.dqkv[1] = floats(b.Tokens * pad(c.qkv()))
	k.act = floats(b.Tokens * pad(c.FFN))
	k.norms = floats((2*groupBlocks + b.Tokens/maxBlock) * k.normLen)
}

// normSlot is the item-th block's place for norm gradients.
func (k *backward) normSlot(item int) normGrads {
	s := k.norms[item*k.normLen:][:k.normLen]
	cut := func(n int) (part []float32) {
		part, s = s[:n], s[n:]
		return part
	}
	return normGrads{norm1: cut(k.d), norm2: cut(k.d), post1: cut(k.d), post2: cut(k.d), q: cut(k.q), k: cut(k.k)}
}

// attended is the gradient of what layer l's o projection gave, fed that of the down projection's.
func (k *backward) attended(l int) []float32 {
	if k.dAttended == nil {
		return k.dMid[l%2]
	}
	return k.dAttended
}

func (k *backward) fed() []float32 {
	if k.dFed == nil {
		return k.dx
	}
	return k.dFed
}

// addNorm adds one norm's weight gradients to dw, block by block; a nil dw has no norm.
func (k *backward) addNorm(dw []float32, of func(normGrads) []float32, blocks int) {
	for i := 0; dw != nil && i < blocks; i++ {
		kernel.Add(dw, of(k.normSlot(i)))
	}
}

// Backward continues the chain rule from the derivatives by each lane, all [N], and adds to g. dEntropy and dValue may be
// nil, and must be where the lane was not wanted. It consumes the pass: a second call panics.
func (p *Pass) Backward(g *Grads, dLogp, dEntropy, dValue []float32) {
	w := p.w
	n := len(p.Logp)
	fits := func(lane, d []float32) bool { return d == nil || lane != nil && len(d) == n }
	if !p.live || len(dLogp) != n || !fits(p.Entropy, dEntropy) || !fits(p.Value, dValue) {
		panic(fmt.Sprintf("model: Backward: a pass (alive: %t) with lanes of %d, %d, %d; derivatives by them of %d, %d, %d", p.live,
			n, len(p.Entropy), len(p.Value), len(dLogp), len(dEntropy), len(dValue)))
	}
	p.live = false
	if n == 0 {
		return
	}
	w.m.refreshBackward(w.pool)
	k := &w.back
	k.g, k.dLogp, k.dEntropy, k.dValue = g, dLogp, dEntropy, dValue
	w.headBackward()
	w.stackBackward()
	k.g, k.dLogp, k.dEntropy, k.dValue = nil, nil, nil, nil
}

// headBackward goes from the lanes to the gradient of the last layer's output.
func (w *Work) headBackward() {
	s, k := &w.scored, &w.back
	clear(k.norms)
	parts := blocks(s.n, w.blockRows(s.n))
	for s.from = w.c.lastChunk(); s.from >= 0; s.from -= vocabChunk {
		w.runBlocks(parts, (*headBackward)(w))
		w.pool.Run(strips(min(vocabChunk, w.c.Vocab-s.from)), (*unembedBackward)(w))
	}
	k.addNorm(k.g.norm, func(n normGrads) []float32 { return n.norm1 }, parts)
	if k.dValue != nil {
		w.scoreBackward()
	}
}

// stackBackward is the backward of stack. Layer -1 is the embedding. A layer's rows go through in groups whose activations
// are still in cache when the weight gradients sum over them; several groups at once where there are more threads.
func (w *Work) stackBackward() {
	for w.layer = w.c.Layers - 1; w.layer >= -1; w.layer-- {
		clear(w.back.norms)
		rows := w.outputs(w.layer)
		size := w.blockRows(rows)
		for w.lo = 0; w.lo < rows; w.lo = w.hi {
			w.hi = min(rows, w.lo+size*groupBlocks*blocks(w.pool.Threads(), groupBlocks))
			w.runBlocks(blocks(w.hi-w.lo, size), (*stageBackward)(w))
			w.pool.Run(w.weightStrips(), (*weightGrads)(w))
		}
		w.pool.Run(w.restItems(), (*rest)(w))
	}
}

// stageBackward goes, as a task over blocks of rows, from the gradients of the queries, keys and values of the layer above
// to those of this layer's attention.
type stageBackward Work

func (t *stageBackward) Do(_, worker int) {
	w := (*Work)(t)
	rows := w.outputs(w.layer)
	item := w.lo/w.blockRows(rows) + w.deal(worker)
	b, n := w.blockAt(item, worker, rows), w.back.normSlot(item)
	if above := w.layer + 1; above < w.c.Layers {
		w.projectBackward(b, above, n)
	}
	if w.layer >= 0 {
		w.mlpBackward(b, w.layer, n)
		w.attendOutputBackward(b, w.layer, n)
	}
}

// weightGrads adds groups of rows to the weight gradients of the projections that stageBackward went through, as a task
// over strips of outputs. A sum goes on group by group, however many there are at once.
type weightGrads Work

func (t *weightGrads) Do(item, _ int) {
	w := (*Work)(t)
	for _, g := range w.weightParts() {
		if n := strips(g.out); item >= n {
			item -= n
			continue
		}
		size := groupBlocks * w.blockRows(w.outputs(w.layer))
		for lo := w.lo; lo < w.hi; lo += size {
			g.strip(item, lo, min(lo+size, w.hi))
		}
		return
	}
}

func (w *Work) weightStrips() int {
	n := 0
	for _, g := range w.weightParts() {
		n += strips(g.out)
	}
	return n
}

// weightParts are the projections of stageBackward.
func (w *Work) weightParts() (parts [4]weightGrad) {
	c, k, l := &w.c, &w.back, w.layer
	if l >= 0 {
		a, g := &w.layers[l], &k.g.layers[l]
		parts[0] = weightGrad{g.gateUp, g.gateUpBias, a.gateUp, pad(c.gateUp()), k.normed2, c.gateUp(), c.Dim}
		parts[1] = weightGrad{g.down, g.downBias, k.fed(), c.Dim, k.act, c.Dim, c.FFN}
		parts[2] = weightGrad{g.o, g.oBias, k.attended(l), c.Dim, a.mixed, c.Dim, c.qDim()}
	}
	if l++; l < c.Layers {
		g := &k.g.layers[l]
		parts[3] = weightGrad{g.qkv, g.qkvBias, k.dqkv[l%2], pad(c.qkv()), k.normed1, c.qkv(), c.Dim}
	}
	return parts
}

// rest is what waits for all rows of a layer, as a task: attention's backward for each run and key/value head, or, below all
// layers, the embedding's gradient by strips of columns; and the norms'.
type rest Work

func (w *Work) restItems() int {
	if w.layer < 0 {
		return 1 + blocks(w.c.Dim, embedColumns)
	}
	return 1 + len(w.runs)*w.c.KVHeads
}

func (t *rest) Do(item, worker int) {
	w := (*Work)(t)
	switch item--; {
	case item < 0:
		w.normGrads()
	case w.layer < 0:
		w.embedBackward(item)
	default:
		r, g := &w.runs[item/w.c.KVHeads], item%w.c.KVHeads
		w.attendBackward(&w.scratch[worker], r, w.layer, g, w.back.dqkv[w.layer%2])
	}
}

// normGrads adds up what the blocks of the last stageBackward left.
func (w *Work) normGrads() {
	c, k, rows := &w.c, &w.back, w.outputs(w.layer)
	parts := blocks(rows, w.blockRows(rows))
	if w.layer >= 0 {
		g := &k.g.layers[w.layer]
		k.addNorm(g.norm2, func(n normGrads) []float32 { return n.norm2 }, parts)
		k.addNorm(g.post1, func(n normGrads) []float32 { return n.post1 }, parts)
		k.addNorm(g.post2, func(n normGrads) []float32 { return n.post2 }, parts)
	}
	if w.layer+1 == c.Layers {
		return
	}
	g := &k.g.layers[w.layer+1]
	k.addNorm(g.norm1, func(n normGrads) []float32 { return n.norm1 }, parts)
	k.addNorm(g.qNorm, func(n normGrads) []float32 { return n.q }, parts)
	k.addNorm(g.kNorm, func(n normGrads) []float32 { return n.k }, parts)
}
