// Which requests run, and on which pages: who may start, what a request finds in the index and leaves there, and who
// gives way when pages run out.

package local

import (
	"slices"

	"molt/numeric/model"
)

// admit lets waiting requests run while there are places and pages. One that shares its prompt with another that is just
// being computed waits for that, and then finds it in the index.
func (b *batch) admit() {
	held := b.waiting[:0]
	for i, c := range b.waiting {
		if len(b.running) == b.config.Running {
			held = append(held, b.waiting[i:]...)
			break
		}
		if b.shouldFollow(c) {
			held = append(held, c)
			continue
		}
		if !b.fits(c) {
			held = append(held, b.waiting[i:]...)
			break
		}
		b.start(c)
	}
	clear(b.waiting[len(held):])
	b.waiting = held
}

// worthWaiting is the number of tokens for whose KV a request waits, rather than compute it twice.
const worthWaiting = 16

// shouldFollow looks the request up in the index, and then for a running one that will soon know more of its beginning.
func (b *batch) shouldFollow(c *call) bool {
	if c.behind != nil && c.behind.seq.Len < c.shared && slices.Contains(b.running, c.behind) {
		return true
	}
	c.behind = nil
	ids := c.ids[:len(c.ids)-1] // the last is computed in any case: it gives the next token
	b.index.find(ids, &c.match)
	for _, leader := range b.running {
		if leader.left() == 1 {
			continue
		}
		c.shared = commonPrefix(leader.ids, ids)
		if c.shared > leader.seq.Len && c.shared >= c.match.tokens()+worthWaiting {
			c.behind = leader
			return true
		}
	}
	return false
}

// fits reports whether the pages that nobody uses suffice for the request's ids. Without others, it always fits.
func (b *batch) fits(c *call) bool {
	if len(b.running) == 0 {
		return true
	}
	need := pagesFor(len(c.ids)+1) - len(c.match.path)
	for _, p := range c.match.path {
		if b.pages.users[p.page] == 0 {
			need++ // it is idle now, and will not be
		}
	}
	return need+len(b.running) <= b.pages.idle() // and one for each that runs, so that it is not driven out at once
}

// start gives a request the KV that the index holds for it.
func (b *batch) start(c *call) {
	for _, p := range c.match.path {
		b.pages.use(p.page)
		c.seq.Pages = append(c.seq.Pages, p.page)
		c.last = p
	}
	c.known = len(c.match.path)
	c.seq.Len = c.known * model.PageTokens
	if c.last != nil {
		b.index.touch(c.last)
	}
	b.startTail(c)
	if !c.began {
		c.began = true
		c.reply.Cached = min(c.seq.Len, c.prompt)
	}
	b.running = append(b.running, c)
}

// worthCopying is the number of tokens for which a page is copied, rather than computed.
const worthCopying = 4

// startTail copies the page in which the request's ids part from what the index knows.
func (b *batch) startTail(c *call) {
	if c.match.shared < worthCopying {
		return
	}
	known := c.match.tail.page
	b.index.touch(c.match.tail)
	page, ok := b.take()
	if !ok {
		return
	}
	if page != known { // else the last page to be found was that very one
		b.kv.CopyPage(page, known)
	}
	c.seq.Pages = append(c.seq.Pages, page)
	c.seq.Len += c.match.shared
}

// take finds a page, forgetting prefixes that nobody uses.
func (b *batch) take() (int32, bool) {
	for {
		if page, ok := b.pages.take(); ok {
			return page, true
		}
		if !b.index.evict() {
			return 0, false
		}
	}
}

// reserve gives running request i the pages for its next n ids. When there are none, the latest request gives its pages
// back; reserve reports false when that is request i itself.
func (b *batch) reserve(c *call, i, n int) bool {
	for len(c.seq.Pages) < pagesFor(c.seq.Len+n) {
		if page, ok := b.take(); ok {
			c.seq.Pages = append(c.seq.Pages, page)
			continue
		}
		latest := len(b.running) - 1
		b.preempt(latest)
		if latest == i {
			return false
		}
	}
	return true
}

// preempt makes running request i the first of those that wait. What it has sampled stands: it will be computed again.
func (b *batch) preempt(i int) {
	c := b.running[i]
	b.surrender(c)
	b.running = slices.Delete(b.running, i, i+1)
	b.waiting = slices.Insert(b.waiting, 0, c)
}

// surrender gives a request's pages back. The index may keep them.
func (b *batch) surrender(c *call) {
	for _, page := range c.seq.Pages {
		b.pages.leave(page)
	}
	c.seq.Pages, c.seq.Len, c.known, c.last, c.behind = c.seq.Pages[:0], 0, 0, nil, nil
}

// learn makes the request's full pages known. Where another request was faster, its page has the same bits: it takes the
// place of this one's.
func (b *batch) learn(c *call) {
	for (c.known+1)*model.PageTokens <= c.seq.Len {
		own := c.seq.Pages[c.known]
		c.last = b.index.add(b.parent(c), c.ids[c.known*model.PageTokens:][:model.PageTokens], own)
		if page := c.last.page; page != own {
			b.pages.use(page)
			b.pages.leave(own)
			c.seq.Pages[c.known] = page
		}
		c.known++
	}
}

// learnTail makes the computed positions of the request's last page known, for requests that continue from there.
func (b *batch) learnTail(c *call) {
	if from := c.known * model.PageTokens; from < c.seq.Len {
		b.index.add(b.parent(c), c.ids[from:c.seq.Len], c.seq.Pages[c.known])
	}
}

func (b *batch) parent(c *call) *prefix {
	if c.last == nil {
		return &b.index.root
	}
	return c.last
}

// retire gives up the pages of a request that has ended. The index keeps what was computed, for the next turn.
func (b *batch) retire(c *call) {
	if len(c.seq.Pages) > 0 {
		b.learnTail(c)
	}
	b.surrender(c)
}
