package model

import "molt/numeric/kernel"

// vocabChunk is the number of logits that are alive for a row at once; log-sum-exp streams over such chunks. Changing it
// changes bits.
const vocabChunk = 512

// scored is the head's part of a pass: N rows of the residual stream and what each should predict.
type scored struct {
	n       int
	rows    []int32   // [N] row of the pass, ascending
	targets []int32   // [N] id to score
	inverse []float32 // [N] 1/temperature
	hidden  []float32 // [N, d] final-norm hidden states
	lse     []float32 // [N]
	logp    []float32 // [N]
	entropy []float32 // [N]
	value   []float32 // [N]

	// Backward only.
	logits  []float32 // [N, vocabChunk] tempered logits of a chunk, then their gradients; Forward leaves the last chunk's
	dHidden []float32 // [N, d]
	from    int       // first id of the chunk
}

func (s *scored) carve(c Config, b Budget, floats func(int) []float32) {
	n := b.score()
	s.hidden = floats(n * c.Dim)
	for _, lane := range []*[]float32{&s.inverse, &s.lse, &s.logp, &s.entropy, &s.value} {
		*lane = floats(n)
	}
	if b.Grad {
		s.logits = floats(n * vocabChunk)
		s.dHidden = floats(n * c.Dim)
	}
}

// Temper divides a row of logits by the temperature in place, as Forward does. The temperature must be above 0.
func Temper(logits []float32, temperature float32) { temper(logits, 1/temperature) }

func temper(logits []float32, inverse float32) {
	if inverse != 1 {
		kernel.Scale(logits, inverse)
	}
}

// LogSumExp is the normaliser of a row of logits [V], already divided by the temperature: the log-prob of id i is
// logits[i]-LogSumExp(logits), with the bits that Forward gives.
func LogSumExp(logits []float32) float32 {
	s := kernel.NewLogSumExp()
	for len(logits) > vocabChunk {
		s.Add(logits[:vocabChunk])
		logits = logits[vocabChunk:]
	}
	s.Add(logits)
	return s.Value()
}

// finalNorm writes a block's final-norm hidden states.
func (w *Work) finalNorm(b block) {
	d := w.c.Dim
	kernel.RMSNorm(b.of(w.scored.hidden, d), b.of(w.layers[w.c.Layers].x, d), w.m.norm, b.rstd, b.rows(), d, w.c.NormEps)
}

// finalNormBackward takes a block's gradient from the hidden states to the last layer's output.
func (w *Work) finalNormBackward(b block, n normGrads) {
	d := w.c.Dim
	x, dx, dy := b.of(w.layers[w.c.Layers].x, d), b.of(w.back.dx, d), b.of(w.scored.dHidden, d)
	kernel.RMSNorm(b.normed, x, w.m.norm, b.rstd, b.rows(), d, w.c.NormEps) // for rstd
	clear(dx)
	kernel.RMSNormBackward(dx, dy, x, w.m.norm, b.rstd, b.rows(), d)
	kernel.RMSNormBackwardWeight(n.norm1, dy, x, b.rstd, b.rows(), d, d)
}

// squash scales and caps a product of hidden states and the head: what comes out are logits.
func (c *Config) squash(y []float32) {
	scale := c.LogitScale
	switch {
	case c.LogitCap != 0 && scale != 0:
		kernel.Softcap(y, scale, c.LogitCap)
	case c.LogitCap != 0:
		kernel.Softcap(y, 1, c.LogitCap)
	case scale != 0:
		kernel.Scale(y, scale)
	}
}

// squashBackward turns the gradient of logits into that of the product; y are the logits times inverse.
func (c *Config) squashBackward(dy, y []float32, inverse float32) {
	scale := c.LogitScale
	if scale == 0 {
		scale = 1
	}
	if c.LogitCap != 0 {
		kernel.SoftcapBackward(dy, y, scale, float32(c.LogitCap*inverse))
	} else if scale != 1 {
		kernel.Scale(dy, scale)
	}
}

// logits writes a chunk of a block's logits, tempered, to y [rows, vocabChunk]: ids from up to from+n.
func (w *Work) logits(b block, y []float32, from, n int) {
	s, d := &w.scored, w.c.Dim
	kernel.Gemm(y, vocabChunk, b.of(s.hidden, d), d, 1, w.m.unembed.from(from), b.rows(), n, d, false)
	for i := range b.rows() {
		w.c.squash(y[i*vocabChunk:][:n])
		temper(y[i*vocabChunk:][:n], s.inverse[b.lo+i])
	}
}

// scoring is Forward's head as a task over blocks of scored rows.
type scoring Work

func (t *scoring) Do(_, worker int) {
	w := (*Work)(t)
	s := &w.scored
	b := w.blockAt(w.deal(worker), worker, s.n)
	for i := range b.rows() {
		b.lse[i] = kernel.NewLogSumExp()
	}
	y := b.scratch.logits
	if w.budget.Grad {
		y = b.of(s.logits, vocabChunk)
	}
	for from := 0; from < w.c.Vocab; from += vocabChunk {
		n := min(vocabChunk, w.c.Vocab-from)
		w.logits(b, y, from, n)
		for i := range b.rows() {
			row := y[i*vocabChunk:][:n]
			b.lse[i].Add(row)
			if id := int(s.targets[b.lo+i]) - from; id >= 0 && id < n {
				b.picked[i] = row[id]
			}
		}
	}
	for i := range b.rows() {
		w.finish(b.lo+i, &b.lse[i], b.picked[i])
	}
}

// finish fills the lanes of scored row i.
func (w *Work) finish(i int, lse *kernel.LogSumExp, target float32) {
	s, d := &w.scored, w.c.Dim
	s.lse[i] = lse.Value()
	s.logp[i] = target - s.lse[i]
	if w.want.Entropy {
		s.entropy[i] = lse.Entropy()
	}
	if w.want.Value {
		s.value[i] = kernel.Dot(s.hidden[i*d:][:d], w.m.score)
	}
}

// lastChunk is the first id of the last chunk.
func (c Config) lastChunk() int { return (c.Vocab - 1) / vocabChunk * vocabChunk }

// headBackward is one chunk of ids of the head's backward, as a task over blocks of scored rows: the logits' gradients, then
// the chunk's part of the hidden states'. Chunks come last first, since the last one's logits are still there; the others
// are computed again.
type headBackward Work

func (t *headBackward) Do(_, worker int) {
	w := (*Work)(t)
	s, d, item := &w.scored, w.c.Dim, w.deal(worker)
	b := w.blockAt(item, worker, s.n)
	n, last := min(vocabChunk, w.c.Vocab-s.from), s.from == w.c.lastChunk()
	logits, dHidden := b.of(s.logits, vocabChunk), b.of(s.dHidden, d)
	if !last {
		w.logits(b, logits, s.from, n)
	}
	for i := range b.rows() {
		w.logitsBackward(logits[i*vocabChunk:][:n], b.capped, b.lo+i)
	}
	kernel.Gemm(dHidden, d, logits, vocabChunk, 1, w.m.unembed.backFrom(s.from), b.rows(), d, n, !last)
	if s.from > 0 {
		return
	}
	for i := 0; i < b.rows() && w.back.dValue != nil; i++ {
		kernel.Axpy(dHidden[i*d:][:d], w.back.dValue[b.lo+i], w.m.score)
	}
	w.finalNormBackward(b, w.back.normSlot(item))
}

// logitsBackward replaces a chunk of row i's tempered logits by the gradient of the head's product. capped is scratch.
func (w *Work) logitsBackward(x, capped []float32, i int) {
	s, k := &w.scored, &w.back
	var entropy, dEntropy float32
	if k.dEntropy != nil {
		entropy, dEntropy = s.entropy[i], k.dEntropy[i]
	}
	capped = capped[:copy(capped, x)]
	kernel.LogSumExpBackward(x, s.lse[i], entropy, k.dLogp[i], dEntropy, s.inverse[i])
	if id := int(s.targets[i]) - s.from; id >= 0 && id < len(x) {
		x[id] += float32(k.dLogp[i] * s.inverse[i])
	}
	w.c.squashBackward(x, capped, s.inverse[i])
}

// unembedBackward is the weight gradient of a chunk of ids, as a task over strips of ids.
type unembedBackward Work

func (t *unembedBackward) Do(item, _ int) {
	w := (*Work)(t)
	s, d := &w.scored, w.c.Dim
	n := min(vocabChunk, w.c.Vocab-s.from)
	weightGrad{w.back.g.head[s.from*d:], nil, s.logits, vocabChunk, s.hidden, n, d}.strip(item, 0, s.n)
}

// scoreBackward adds the value head's weight gradient.
func (w *Work) scoreBackward() {
	d := w.c.Dim
	for i := range w.scored.n {
		kernel.Axpy(w.back.g.score, w.back.dValue[i], w.scored.hidden[i*d:][:d])
	}
}
