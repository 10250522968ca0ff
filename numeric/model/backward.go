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
	norms   []float32    // [blocks, 2d+2hd] norms' weight gradients, block by block
	normLen int
	hd, d   int
}

// normGrads are one block's weight gradients of the norms.
type normGrads struct{ norm1, norm2, q, k []float32 }

func (k *backward) carve(c Config, b Budget, floats func(int) []float32) {
	k.d, k.hd, k.normLen = c.Dim, c.HeadDim, 2*c.Dim+pad(2*c.HeadDim)
	for _, buffer := range []*[]float32{&k.dx, &k.dMid[0], &k.dMid[1], &k.normed1, &k.normed2} {
		*buffer = floats(b.Tokens * c.Dim)
	}
	k.dMixed = floats(b.Tokens * pad(c.qDim()))
	k.dqkv[0] = floats(b.Tokens * pad(c.qkv()))
	k.dqkv[1] = floats(b.Tokens * pad(c.qkv()))
	k.act = floats(b.Tokens * pad(c.FFN))
	k.norms = floats((8 + b.Tokens/maxBlock) * k.normLen)
}

// normSlot is the item-th block's place for norm gradients.
func (k *backward) normSlot(item int) normGrads {
	s := k.norms[item*k.normLen:][:k.normLen]
	return normGrads{norm1: s[:k.d], norm2: s[k.d:][:k.d], q: s[2*k.d:][:k.hd], k: s[2*k.d+k.hd:][:k.hd]}
}

// addNorm adds one norm's weight gradients to dw, block by block.
func (k *backward) addNorm(dw []float32, of func(normGrads) []float32, blocks int) {
	for i := range blocks {
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
		w.pool.Run(parts, (*headBackward)(w))
		w.pool.Run(strips(min(vocabChunk, w.c.Vocab-s.from)), (*unembedBackward)(w))
	}
	k.addNorm(k.g.norm, func(n normGrads) []float32 { return n.norm1 }, parts)
	if k.dValue != nil {
		w.scoreBackward()
	}
}

// stackBackward is the backward of stack, two barriers a layer. Layer -1 is the embedding.
func (w *Work) stackBackward() {
	for w.layer = w.c.Layers - 1; w.layer >= -1; w.layer-- {
		clear(w.back.norms)
		rows := w.outputs(w.layer)
		w.pool.Run(blocks(rows, w.blockRows(rows)), (*stageBackward)(w))
		w.pool.Run(w.gradItems(), (*grads)(w))
	}
}

// stageBackward goes, as a task over blocks of rows, from the gradients of the queries, keys and values of the layer above
// to those of this layer's attention.
type stageBackward Work

func (t *stageBackward) Do(item, worker int) {
	w := (*Work)(t)
	b := w.blockAt(item, worker, w.outputs(w.layer))
	n := w.back.normSlot(item)
	if above := w.layer + 1; above < w.c.Layers {
		w.projectBackward(b, above, n)
	}
	if w.layer >= 0 {
		w.mlpBackward(b, w.layer, n)
		w.attendOutputBackward(b, w.layer)
	}
}

// grads is everything that waited for all rows, as a task: attention's backward, which the layer's own stageBackward
// prepared, and the weight gradients, which are independent of it. The qkv projection's lags one layer behind.
type grads Work

func (t *grads) Do(item, worker int) {
	w := (*Work)(t)
	for _, p := range w.gradParts() {
		if item < p.items {
			p.do(w, item, worker)
			return
		}
		item -= p.items
	}
}

type gradPart struct {
	items int
	do    func(w *Work, item, worker int)
}

func (w *Work) gradItems() int {
	n := 0
	for _, p := range w.gradParts() {
		n += p.items
	}
	return n
}

func (w *Work) gradParts() [7]gradPart {
	c := w.c
	parts := [7]gradPart{{1, (*Work).normSums}}
	if w.layer >= 0 {
		parts[1] = gradPart{len(w.runs) * c.KVHeads, (*Work).attendGrads}
		parts[2] = gradPart{strips(c.gateUp()), (*Work).gateUpGrads}
		parts[3] = gradPart{strips(c.Dim), (*Work).downGrads}
		parts[4] = gradPart{strips(c.Dim), (*Work).oGrads}
	} else {
		parts[5] = gradPart{blocks(c.Dim, embedColumns), (*Work).embedBackward}
	}
	if w.layer+1 < c.Layers {
		parts[6] = gradPart{strips(c.qkv()), (*Work).qkvGrads}
	}
	return parts
}

func (w *Work) attendGrads(item, worker int) {
	r, g := &w.runs[item/w.c.KVHeads], item%w.c.KVHeads
	w.attendBackward(&w.scratch[worker], r, w.layer, g, w.back.dqkv[w.layer%2])
}

func (w *Work) gateUpGrads(strip, _ int) {
	c, k := w.c, &w.back
	backwardWeight(k.g.layers[w.layer].gateUp, nil, w.layers[w.layer].gateUp, pad(c.gateUp()), k.normed2, c.Dim, c.Dim, c.gateUp(), strip, w.outputs(w.layer))
}

func (w *Work) downGrads(strip, _ int) {
	c, k := w.c, &w.back
	backwardWeight(k.g.layers[w.layer].down, nil, k.dx, c.Dim, k.act, pad(c.FFN), c.FFN, c.Dim, strip, w.outputs(w.layer))
}

func (w *Work) oGrads(strip, _ int) {
	c, k, g := w.c, &w.back, &w.back.g.layers[w.layer]
	backwardWeight(g.o, g.oBias, k.dMid[w.layer%2], c.Dim, w.layers[w.layer].mixed, pad(c.qDim()), c.qDim(), c.Dim, strip, w.outputs(w.layer))
}

func (w *Work) qkvGrads(strip, _ int) {
	c, k, g := w.c, &w.back, &w.back.g.layers[w.layer+1]
	backwardWeight(g.qkv, g.qkvBias, k.dqkv[(w.layer+1)%2], pad(c.qkv()), k.normed1, c.Dim, c.Dim, c.qkv(), strip, w.rows)
}

// normSums adds up what the blocks of the last stageBackward left.
func (w *Work) normSums(_, _ int) {
	c, k, rows := w.c, &w.back, w.outputs(w.layer)
	parts := blocks(rows, w.blockRows(rows))
	if w.layer >= 0 {
		k.addNorm(k.g.layers[w.layer].norm2, func(n normGrads) []float32 { return n.norm2 }, parts)
	}
	if w.layer+1 == c.Layers {
		return
	}
	g := &k.g.layers[w.layer+1]
	k.addNorm(g.norm1, func(n normGrads) []float32 { return n.norm1 }, parts)
	if c.QKNorm {
		k.addNorm(g.qNorm, func(n normGrads) []float32 { return n.q }, parts)
		k.addNorm(g.kNorm, func(n normGrads) []float32 { return n.k }, parts)
	}
}
