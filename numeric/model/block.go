package model

import (
	"slices"
	"sync/atomic"

	"molt/numeric/kernel"
)

// Blocks of rows are the unit of work for everything but attention's backward and weight gradients. A block runs through
// several operators in a row on one worker, so its activations stay in that core's cache; more rows read weights less often.
const (
	maxBlock    = 96
	minBlock    = 8
	groupBlocks = 4  // blocks in a group of backward; see stackBackward
	tile        = 24 // rows that attend together
)

// block is a range of rows on one worker.
type block struct {
	lo, hi int
	*scratch
}

// of is the block's part of a buffer whose rows are ld apart.
func (b block) of(buffer []float32, ld int) []float32 { return buffer[b.lo*ld : b.hi*ld] }

func (b block) rows() int { return b.hi - b.lo }

// blockRows chooses the size of blocks: so many that every worker gets as many. Results do not depend on it, but a norm's
// weight gradient sums block by block, so a pass with gradients must not look at the number of threads.
func (w *Work) blockRows(rows int) int {
	if w.wide {
		return maxBlock
	}
	least, multiple := w.pool.Threads(), w.pool.Threads()
	if w.budget.Grad {
		least, multiple = 2*groupBlocks, groupBlocks
	}
	n := blocks(max(least, blocks(rows, maxBlock)), multiple) * multiple
	return max(minBlock, blocks(blocks(rows, n), 4)*4)
}

func blocks(rows, size int) int { return (rows + size - 1) / size }

// runBlocks runs t over n blocks. t asks deal for each.
func (w *Work) runBlocks(n int, t kernel.Task) {
	w.dealt = n
	for i := range w.turns {
		w.turns[i].Store(0)
	}
	w.pool.Run(n, t)
}

// turn counts the blocks taken from one worker's share, on a cache line of its own.
type turn struct {
	atomic.Int64
	_ [56]byte
}

// deal gives a worker its next block: of its own share, which is the same rows in every stage and so still in its core's
// cache; when that is done, of the others'.
func (w *Work) deal(worker int) int {
	threads := len(w.turns)
	for i := range threads {
		of := (worker + i) % threads
		first, end := w.dealt*of/threads, w.dealt*(of+1)/threads
		if next := first + int(w.turns[of].Add(1)) - 1; next < end {
			return next
		}
	}
	panic("model: more blocks asked for than dealt")
}

// blockAt is the item-th block of so many rows.
func (w *Work) blockAt(item, worker, rows int) block {
	size := w.blockRows(rows)
	return block{item * size, min(rows, (item+1)*size), &w.scratch[worker]}
}

// outputs is the number of rows that go on after layer l's queries, keys and values.
func (w *Work) outputs(l int) int {
	if l == w.c.Layers-1 {
		return w.scored.n
	}
	return w.rows
}

// output is the row of the pass that is row i of layer l's later activations.
func (w *Work) output(l, i int) int {
	if l == w.c.Layers-1 {
		return int(w.scored.rows[i])
	}
	return i
}

// outputsBefore counts the outputs of layer l that are rows of the pass before row t.
func (w *Work) outputsBefore(l, t int) int {
	if l == w.c.Layers-1 {
		i, _ := slices.BinarySearch(w.scored.rows[:w.scored.n], int32(t))
		return i
	}
	return t
}
