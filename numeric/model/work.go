package model

import "molt/numeric/kernel"

// Budget bounds what one pass may hold; memory is reserved for it once.
type Budget struct {
	Tokens int  // most tokens in one Extend or Forward
	Score  int  // most scored tokens in one Forward, most wanted hidden states in one Extend; 0 means Tokens
	Grad   bool // reserve what Backward needs
}

// Work is the memory and the threads of one pass at a time: scratch, activations, results. It serves one model shape.
type Work struct {
	pool *kernel.Pool
}

// NewWork reserves memory off the Go heap for passes of m within b, run on pool; Free gives it back. A pool may serve several
// Works as long as their passes do not overlap.
func NewWork(m *Model, pool *kernel.Pool, b Budget) *Work { panic("model: NewWork is not built yet") }

// WorkBytes is the memory that NewWork reserves for a pool of so many threads.
func WorkBytes(c Config, threads int, b Budget) int64 { panic("model: WorkBytes is not built yet") }

// Fits reports why b is malformed or beyond the budget, naming the offending index; nil when Forward would take it.
func (w *Work) Fits(b Batch) error { panic("model: Fits is not built yet") }

// Free releases the memory; w must not be used afterwards.
func (w *Work) Free() { panic("model: Free is not built yet") }
