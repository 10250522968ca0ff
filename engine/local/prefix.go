package local

import (
	"slices"

	"molt/numeric/model"
)

// prefixes is the index of KV that was computed under the current weights: a tree of pages, each under the page of the
// tokens before it. So a path from the root is a prefix of some request, and equal prefixes share pages. The index knows
// one version of the weights only; a new one empties it.
//
// A page whose model.PageTokens positions are all known may be used by any number of requests. A page with fewer is a
// leaf: a request that continues it copies it first, because its owner goes on writing behind the known positions.
type prefixes struct {
	pages *pages
	root  prefix
	used  prefix    // ring of all prefixes but the root, in order of use: used.newer is the least recently used one
	spare []*prefix // for reuse
}

// prefix is a page of the tree.
type prefix struct {
	parent       *prefix
	children     []*prefix // in the order of their tokens, so that neighbours share the longest beginnings
	page         int32
	n            int // known positions
	tokens       [model.PageTokens]int32
	older, newer *prefix
}

func newPrefixes(p *pages) *prefixes {
	x := &prefixes{pages: p}
	x.used.older, x.used.newer = &x.used, &x.used
	return x
}

func (p *prefix) ids() []int32 { return p.tokens[:p.n] }

// match is what the index holds of a request's beginning.
type match struct {
	path   []*prefix // full pages, in order
	tail   *prefix   // a page that begins as the request continues; nil for none
	shared int       // tokens of tail that the request shares
}

// tokens is the number of tokens whose KV need not be computed.
func (m *match) tokens() int { return len(m.path)*model.PageTokens + m.shared }

// find looks for the longest beginning of ids. It writes to m, keeping its memory.
func (x *prefixes) find(ids []int32, m *match) {
	m.path, m.tail, m.shared = m.path[:0], nil, 0
	at := &x.root
	for {
		next := ids[:min(len(ids), model.PageTokens)]
		i, found := at.search(next)
		if found && len(next) == model.PageTokens {
			at = at.children[i]
			m.path = append(m.path, at)
			ids = ids[len(next):]
			continue
		}
		for _, near := range at.children[max(i-1, 0):min(i+1, len(at.children))] {
			if n := commonPrefix(near.ids(), next); n > m.shared {
				m.tail, m.shared = near, n
			}
		}
		return
	}
}

// search finds where ids are, or would be, among the children.
func (p *prefix) search(ids []int32) (int, bool) {
	return slices.BinarySearchFunc(p.children, ids, func(c *prefix, ids []int32) int { return slices.Compare(c.ids(), ids) })
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// touch makes the path to p the most recently used, parents more than children, so that leaves go first.
func (x *prefixes) touch(p *prefix) {
	for ; p != &x.root; p = p.parent {
		p.unlink()
		x.link(p)
	}
}

func (x *prefixes) link(p *prefix) {
	p.older, p.newer = x.used.older, &x.used
	p.older.newer, p.newer.older = p, p
}

func (p *prefix) unlink() { p.older.newer, p.newer.older = p.newer, p.older }

// add makes known that page holds the KV of ids, at most a page of them, after parent. What is known already stays as it
// is: then the prefix that add returns has another page. Shorter beginnings that it makes needless are forgotten.
func (x *prefixes) add(parent *prefix, ids []int32, page int32) *prefix {
	i, _ := parent.search(ids)
	if i < len(parent.children) && commonPrefix(parent.children[i].ids(), ids) == len(ids) {
		x.touch(parent.children[i])
		return parent.children[i]
	}
	for i > 0 && commonPrefix(parent.children[i-1].ids(), ids) == parent.children[i-1].n {
		x.forget(parent.children[i-1])
		i--
	}
	p := x.blank()
	p.parent, p.page, p.n = parent, page, copy(p.tokens[:], ids)
	parent.children = slices.Insert(parent.children, i, p)
	x.pages.index(page)
	x.link(p)
	x.touch(p)
	return p
}

func (x *prefixes) blank() *prefix {
	n := len(x.spare)
	if n == 0 {
		return new(prefix)
	}
	p := x.spare[n-1]
	x.spare = x.spare[:n-1]
	return p
}

// forget takes a leaf out of the index.
func (x *prefixes) forget(p *prefix) {
	i, _ := p.parent.search(p.ids())
	p.parent.children = slices.Delete(p.parent.children, i, i+1)
	p.unlink()
	x.pages.unindex(p.page)
	p.parent = nil
	x.spare = append(x.spare, p)
}

// evict frees a page by forgetting the least recently used prefix that no request uses and none continues.
func (x *prefixes) evict() bool {
	for p := x.used.newer; p != &x.used; p = p.newer {
		if len(p.children) == 0 && x.pages.users[p.page] == 0 {
			x.forget(p)
			return true
		}
	}
	return false
}

// clear forgets everything: the weights changed.
func (x *prefixes) clear() {
	for x.used.newer != &x.used {
		for p := x.used.newer; p != &x.used; {
			leaf := p
			p = p.newer
			if len(leaf.children) == 0 {
				x.forget(leaf)
			}
		}
	}
}
