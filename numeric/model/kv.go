package model

import (
	"fmt"

	"molt/numeric/kernel"
)

// PageTokens is the number of consecutive positions in one page of KV.
const PageTokens = 64

// KV is a pool of pages. A page holds the keys and values of PageTokens consecutive positions of one sequence, for all
// layers. Who owns a page, and who shares it, is the caller's affair. Nothing of a page is read but positions that were
// written.
//
// A page is one part for each layer and key/value head: the keys as a packed operand [hd, 64], so that queries times keys
// is a product over hd; then the values as rows [64, pad(hd)], so that probabilities times values is a product over keys.
type KV struct {
	arena   *kernel.Arena
	data    []float32
	pages   int
	layers  int
	heads   int
	headDim int
}

// NewKV allocates a pool of pages off the Go heap; Free gives it back.
func NewKV(c Config, pages int) (*KV, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if pages < 1 {
		return nil, fmt.Errorf("model: a KV pool of %d pages; it needs at least 1", pages)
	}
	kv := &KV{pages: pages, layers: c.Layers, heads: c.KVHeads, headDim: c.HeadDim}
	kv.arena = kernel.NewArena(pages * kv.spanLen(PageTokens))
	kv.data = kv.arena.Floats(pages * kv.spanLen(PageTokens))
	return kv, nil
}

// KVBytes is the memory of a pool of pages.
func KVBytes(c Config, pages int) int64 {
	kv := KV{layers: c.Layers, heads: c.KVHeads, headDim: c.HeadDim}
	return 4 * int64(pages) * int64(kv.spanLen(PageTokens))
}

// Pages is the size of the pool: page ids are 0..Pages-1.
func (kv *KV) Pages() int { return kv.pages }

// Free releases the memory; kv must not be used afterwards.
func (kv *KV) Free() { kv.arena.Free() }

// CopyPage copies a page, for all layers: copy-on-write for a shared page that two continuations will write to.
func (kv *KV) CopyPage(dst, src int32) {
	n := kv.spanLen(PageTokens)
	copy(kv.data[int(dst)*n:][:n], kv.data[int(src)*n:][:n])
}

// partLen is the floats of one layer and head for span positions, spanLen those of all.
func (kv *KV) partLen(span int) int { return span * (kv.headDim + pad(kv.headDim)) }
func (kv *KV) spanLen(span int) int { return kv.layers * kv.heads * kv.partLen(span) }

// run is one sequence's part of a pass: rows row..row+len-1 are its positions pos..pos+len-1. Its KV lies in extents of
// span positions: pages of the caller's pool, or, in training, one extent of the Work's own that holds all of it.
type run struct {
	row, len, pos int
	pages         []int32 // nil in training
	base          int     // offset of the only extent, when pages is nil
	span          int
}

// part is what r has for one layer and key/value head in the extent of a position, and the position's place in it. A Work's
// own KV holds two layers, used in turn: the layer that attends and the one that is being filled.
func (kv *KV) part(r *run, position, layer, head int) (part []float32, at int) {
	i, at, n := position/r.span, position%r.span, kv.partLen(r.span)
	base := r.base
	if r.pages != nil {
		base = int(r.pages[i]) * kv.spanLen(r.span)
	}
	return kv.data[base+(layer%kv.layers*kv.heads+head)*n:][:n], at
}

// keys are r's keys as an operand [hd, n], from a position that is a multiple of 16 to the end of its extent.
func (kv *KV) keys(r *run, position, layer, head int) (keys kernel.B, n int) {
	part, at := kv.part(r, position, layer, head)
	return kernel.Packed(part[at*kv.headDim:r.span*kv.headDim], kv.headDim), r.span - at
}

// values are r's values as an operand [n, hd], from a position to the end of its extent.
func (kv *KV) values(r *run, position, layer, head int) (values kernel.B, n int) {
	part, at := kv.part(r, position, layer, head)
	ld := pad(kv.headDim)
	return kernel.RowMajor(part[r.span*kv.headDim+at*ld:], ld), r.span - at
}

// store writes the key and value [hd] of one position.
func (kv *KV) store(r *run, position, layer, head int, key, value []float32) {
	part, at := kv.part(r, position, layer, head)
	rows := r.span * kv.headDim
	kernel.PackColumn(part[:rows], key, at)
	copy(part[rows+at*pad(kv.headDim):], value)
}
