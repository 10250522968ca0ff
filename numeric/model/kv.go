package model

import (
	"fmt"

	"molt/numeric/kernel"
)

// PageTokens is the number of consecutive positions in one page of KV.
const PageTokens = 64

// KV is a pool of pages. A page holds the keys and values of PageTokens consecutive positions of one sequence, for all
// layers. Who owns a page, and who shares it, is the caller's affair. A page's content is meaningful only for positions
// that were written; nothing else of it is ever read.
//
// Page layout, for each layer and key/value head: the keys as a packed operand [hd, 64], four panels of 16 keys, so that
// queries times keys is a product over hd; then the values as rows [64, pad(hd)], so that probabilities times values is a
// product over keys.
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
	kv.arena = kernel.NewArena(pages * kv.pageLen())
	kv.data = kv.arena.Floats(pages * kv.pageLen())
	return kv, nil
}

// KVBytes is the memory of a pool of pages.
func KVBytes(c Config, pages int) int64 {
	kv := KV{layers: c.Layers, heads: c.KVHeads, headDim: c.HeadDim}
	return 4 * int64(pages) * int64(kv.pageLen())
}

// Pages is the size of the pool: page ids are 0..Pages-1.
func (kv *KV) Pages() int { return kv.pages }

// Free releases the memory; kv must not be used afterwards.
func (kv *KV) Free() { kv.arena.Free() }

// CopyPage copies a page, for all layers: copy-on-write for a shared page that two continuations will write to.
func (kv *KV) CopyPage(dst, src int32) {
	n := kv.pageLen()
	copy(kv.data[int(dst)*n:][:n], kv.data[int(src)*n:][:n])
}

func (kv *KV) keysLen() int { return kv.headDim * PageTokens }
func (kv *KV) headLen() int { return kv.keysLen() + pad(kv.headDim)*PageTokens }
func (kv *KV) pageLen() int { return kv.layers * kv.heads * kv.headLen() }

// head is the part of a page for one layer and key/value head.
func (kv *KV) head(page int32, layer, head int) (keys, values []float32) {
	part := kv.data[int(page)*kv.pageLen()+(layer*kv.heads+head)*kv.headLen():][:kv.headLen()]
	return part[:kv.keysLen()], part[kv.keysLen():]
}

// store writes one position's key and value [hd] of one head.
func (kv *KV) store(page int32, layer, head, slot int, key, value []float32) {
	keys, values := kv.head(page, layer, head)
	lane := keys[slot/16*16*kv.headDim+slot%16:]
	for i, x := range key {
		lane[i*16] = x
	}
	copy(values[slot*pad(kv.headDim):], value)
}
