package model

import (
	"fmt"

	"molt/numeric/kernel"
)

// Budget bounds what one pass may hold; memory is reserved for it once.
type Budget struct {
	Tokens int  // most tokens in one Extend or Forward
	Score  int  // most scored tokens in one Forward, most wanted hidden states in one Extend; 0 means Tokens
	Grad   bool // reserve what Backward needs
}

func (b Budget) score() int {
	if b.Score == 0 {
		return b.Tokens
	}
	return min(b.Score, b.Tokens)
}

// Work is the memory and the threads of one pass at a time: scratch, activations, results.
type Work struct {
	m      *Model
	c      Config
	pool   *kernel.Pool
	budget Budget
	arena  *kernel.Arena

	// The current pass.
	rows    int     // tokens
	ids     []int32 // [T]
	runs    []run
	runOf   []int32 // [T] index into runs
	kv      *KV
	ownKV   KV // for training
	want    Want
	layer   int           // that is being computed
	lo, hi  int           // its rows that are, in Backward
	turns   []turn        // [threads] see deal
	dealt   int           // blocks
	wide    bool          // see wideRows
	layers  []activations // [Layers+1]; the last has only x, [N, d]
	rotated []float32     // [T, pad((H+G)hd)] queries and keys of one layer, normed and rotated
	rstd    []float32     // [T, H+G] of those norms
	scratch []scratch     // for each worker

	scored  scored
	back    backward
	pass    Pass
	unembed unembedding
	product product
}

// activations are what a layer computes for each token. Of the last layer, only the rows that the head wants go on after
// queries, keys and values: there T is N for what follows. Backward needs all activations; without it every layer shares
// one set and mid is x.
type activations struct {
	x      []float32 // [T, d] input
	qkv    []float32 // [T, pad((H+2G)hd)] queries, keys and values as projected
	mixed  []float32 // [T, pad(H hd)] values mixed by attention
	mid    []float32 // [T, d] x plus attention
	gateUp []float32 // [T, pad(2F)]

	attended, fed []float32 // [T, d] what attention and MLP gave before their norms; only where these exist, with gradients
}

// scratch is one worker's memory for a block of rows.
type scratch struct {
	normed []float32 // [maxBlock, d]
	rstd   []float32 // [maxBlock]
	act    []float32 // [maxBlock, pad(F)]
	scores []float32 // [max(tile, H/G), pad(MaxPositions)] attention scores, then probabilities
	logits []float32 // [maxBlock, vocabChunk] unless the pass keeps them
	lse    []kernel.LogSumExp
	picked []float32 // [maxBlock] logit of the target
	out    []float32 // [maxBlock, d] of a branch that does not add to the stream as it is

	// Backward only.
	dNormed []float32 // [maxBlock, d]
	dScores []float32 // as scores
	keys    []float32 // [hd, pad(MaxPositions)] packed
	values  []float32 // [hd, pad(MaxPositions)] packed
	dHeads  []float32 // [pad((H+G)hd)]
	capped  []float32 // [max(pad(MaxPositions), vocabChunk)] a row of scores or logits after its soft cap
}

// NewWork reserves memory off the Go heap for passes of m within b, run on pool; Free gives it back. A pool may serve several
// Works as long as their passes do not overlap.
func NewWork(m *Model, pool *kernel.Pool, b Budget) *Work {
	if b.Tokens < 1 || b.Score < 0 {
		panic(fmt.Sprintf("model: a budget of %d tokens, %d scored", b.Tokens, b.Score))
	}
	w := &Work{m: m, pool: pool}
	w.arena = kernel.NewArena(int(WorkBytes(m.config, pool.Threads(), b) / 4))
	w.carve(m.config, pool.Threads(), b, w.arena.Floats)
	w.turns = make([]turn, pool.Threads())
	w.ids = make([]int32, b.Tokens)
	w.runOf = make([]int32, b.Tokens)
	w.runs = make([]run, 0, b.Tokens)
	w.scored.rows = make([]int32, b.score())
	w.scored.targets = make([]int32, b.score())
	w.pass.w = w
	return w
}

// WorkBytes is the memory that NewWork reserves for a pool of so many threads.
func WorkBytes(c Config, threads int, b Budget) int64 {
	total := int64(0)
	new(Work).carve(c, threads, b, func(n int) []float32 {
		total += 4 * int64(pad(n))
		return nil
	})
	return total
}

// Free releases the memory; w must not be used afterwards.
func (w *Work) Free() { w.arena.Free() }

// carve gives every buffer its memory.
func (w *Work) carve(c Config, threads int, b Budget, floats func(int) []float32) {
	w.c, w.budget = c, b
	w.carveLayers(c, b, floats)
	w.rotated = floats(b.Tokens * c.rotatedDim())
	w.rstd = floats(b.Tokens * (c.Heads + c.KVHeads))
	w.ownKV = KV{layers: 2, heads: c.KVHeads, headDim: c.HeadDim}
	w.ownKV.data = floats(w.ownKV.spanLen(ownSlots(b.Tokens)))
	w.scratch = make([]scratch, threads)
	for i := range w.scratch {
		w.scratch[i] = newScratch(c, b, floats)
	}
	w.scored.carve(c, b, floats)
	if b.Grad {
		w.back.carve(c, b, floats)
	}
}

// ownSlots is the positions of a Work's own KV: sequences, of two tokens or more, start on whole panels.
func ownSlots(tokens int) int { return kernel.Lanes * ((tokens + 1) / 2) }

func (w *Work) carveLayers(c Config, b Budget, floats func(int) []float32) {
	w.layers = make([]activations, c.Layers+1)
	for l := range c.Layers {
		a, rows := &w.layers[l], b.Tokens
		if l > 0 && !b.Grad {
			*a = w.layers[0]
			continue
		}
		a.x = floats(rows * c.Dim)
		a.qkv = floats(rows * pad(c.qkv()))
		if l == c.Layers-1 && b.Grad {
			rows = b.score()
		}
		a.mixed = floats(rows * pad(c.qDim()))
		a.gateUp = floats(rows * pad(c.gateUp()))
		a.mid = a.x
		if b.Grad {
			a.mid = floats(rows * c.Dim)
		}
		if b.Grad && c.Norms != PreNorm {
			a.attended, a.fed = floats(rows*c.Dim), floats(rows*c.Dim)
		}
	}
	last, end := &w.layers[c.Layers-1], &w.layers[c.Layers]
	end.x = floats(b.score() * c.Dim)
	if !b.Grad {
		last.mid = end.x
	}
}

func newScratch(c Config, b Budget, floats func(int) []float32) scratch {
	block := min(maxBlock, b.Tokens)
	s := scratch{
		normed: floats(block * c.Dim),
		rstd:   floats(block),
		act:    floats(block * pad(c.FFN)),
		scores: floats(max(tile, c.Heads/c.KVHeads) * pad(c.MaxPositions)),
		lse:    make([]kernel.LogSumExp, block),
		picked: floats(block),
	}
	if !c.direct() {
		s.out = floats(block * c.Dim)
	}
	if !b.Grad {
		s.logits = floats(block * vocabChunk)
	} else {
		s.dNormed = floats(block * c.Dim)
		s.dScores = floats(tile * pad(c.MaxPositions))
		s.keys = floats(c.HeadDim * pad(c.MaxPositions))
		s.values = floats(c.HeadDim * pad(c.MaxPositions))
		s.dHeads = floats(c.rotatedDim())
		if c.AttentionCap != 0 || c.LogitCap != 0 {
			s.capped = floats(max(pad(c.MaxPositions), vocabChunk))
		}
	}
	return s
}
