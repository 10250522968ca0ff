// Continuous batching: requests join and leave between steps. A step runs one token of each request that decodes, and
// pieces of prompts with the tokens that are left, as one packed batch. Which requests share a step, how prompts are cut,
// which KV is found in the index or computed again: by the bitwise law of the model none of it changes a bit.
//
// Requests run in order of arrival. When pages run out, prefixes that nobody uses are forgotten, then the latest request
// gives its pages back and waits; the first request of all can therefore always go on, and none waits for ever.

package local

import (
	"slices"

	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/traj"
)

// batch is the state of the generator's requests and their KV. One goroutine at a time owns it.
type batch struct {
	config  Config
	model   *model.Model
	pool    *kernel.Pool
	work    *model.Work
	kv      *model.KV
	pages   *pages
	index   *prefixes
	version traj.Version // of the weights
	print   string       // their fingerprint

	waiting []*call // in the order in which they will run
	running []*call // in order of arrival

	// The current step.
	turns    []turn
	spans    []model.Span
	want     []bool
	sampling []*call // those that get a token, in order of their rows
	logits   []float32
	choices  []choice
	samplers []sampler // for each worker
}

// turn is a request's part of a step: its next n ids.
type turn struct {
	call *call
	n    int
}

// newBatch takes the resources over; close gives them back.
func newBatch(config Config, m *model.Model, pool *kernel.Pool) (*batch, error) {
	kv, err := model.NewKV(m.Config(), config.Pages)
	if err != nil {
		return nil, err
	}
	b := &batch{config: config, model: m, pool: pool, kv: kv, pages: newPages(config.Pages)}
	b.index = newPrefixes(b.pages)
	b.work = model.NewWork(m, pool, config.stepBudget())
	b.logits = make([]float32, config.Running*m.Config().Vocab)
	b.choices = make([]choice, config.Running)
	b.samplers = make([]sampler, pool.Threads())
	return b, nil
}

func (b *batch) close() {
	b.work.Free()
	b.kv.Free()
}

func (b *batch) empty() bool { return len(b.waiting)+len(b.running) == 0 }

// add takes requests in at the end of those that wait.
func (b *batch) add(calls []*call) { b.waiting = append(b.waiting, calls...) }

// step runs every request as far as one step goes.
func (b *batch) step() {
	b.dropCancelled()
	b.admit()
	b.plan()
	b.run()
	b.sample()
	b.settle()
}

// abort ends every request with what it has.
func (b *batch) abort() {
	for _, c := range b.running {
		b.retire(c)
		c.finish(traj.FinishAbort)
	}
	for _, c := range b.waiting {
		c.finish(traj.FinishAbort)
	}
	b.running, b.waiting = b.running[:0], b.waiting[:0]
}

// reload makes KV useless: the weights are about to change. Running requests begin again from their ids, before others.
func (b *batch) reload() {
	for _, c := range b.running {
		b.surrender(c)
	}
	b.index.clear()
	b.waiting = slices.Insert(b.waiting, 0, b.running...)
	b.running = b.running[:0]
}

func (b *batch) dropCancelled() {
	end := func(c *call) bool {
		if !c.cancelled() {
			return false
		}
		b.retire(c)
		c.finish(traj.FinishAbort)
		return true
	}
	b.running = slices.DeleteFunc(b.running, end)
	b.waiting = slices.DeleteFunc(b.waiting, end)
}

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

// plan shares out the step's tokens in order of arrival, and finds the pages for them. Decoding requests get their one
// token in any case, so prompts get what is left.
func (b *batch) plan() {
	b.turns = b.turns[:0]
	prompts := b.config.StepTokens
	for _, c := range b.running {
		if c.left() == 1 {
			prompts--
		}
	}
	for i := 0; i < len(b.running); i++ { // reserve may shorten running, from its end
		c := b.running[i]
		n := c.left()
		if n > 1 {
			n = min(n, prompts)
			prompts -= n
		}
		if n > 0 && b.reserve(c, i, n) {
			b.turns = append(b.turns, turn{c, n})
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

// run computes the KV of every turn, and the logits after those that reach the end of their ids.
func (b *batch) run() {
	b.spans, b.want, b.sampling = b.spans[:0], b.want[:0], b.sampling[:0]
	for _, t := range b.turns {
		c := t.call
		b.spans = append(b.spans, model.Span{Seq: &c.seq, Tokens: c.ids[c.seq.Len:][:t.n]})
		b.want = append(b.want, t.n == c.left())
		if t.n == c.left() {
			b.sampling = append(b.sampling, c)
		}
	}
	if len(b.spans) == 0 {
		return
	}
	hidden := b.model.Extend(b.work, b.kv, b.spans, b.want)
	if n := len(b.sampling); n > 0 {
		b.model.Logits(b.work, b.logits[:n*b.model.Config().Vocab], hidden, n)
	}
}

// sample chooses the next id of each request that reached its end.
func (b *batch) sample() { b.pool.Run(len(b.sampling), (*choosing)(b)) }

// choosing is sample as a task over rows of logits.
type choosing batch

func (t *choosing) Do(item, worker int) {
	vocab, c := t.model.Config().Vocab, t.sampling[item]
	t.choices[item] = t.samplers[worker].sample(t.logits[item*vocab:][:vocab], &c.request.Sampling, c.request.Key, len(c.reply.Tokens))
}

// settle records the computed KV and hands the sampled ids over.
func (b *batch) settle() {
	sampled := 0
	for _, t := range b.turns {
		c := t.call
		last := t.n == c.left()
		c.seq.Len += t.n
		b.learn(c)
		if t.n > 1 {
			b.learnTail(c)
		}
		if last {
			c.accept(b.choices[sampled], b.version, b.print)
			sampled++
		}
		if c.over() {
			b.retire(c)
		}
	}
	b.running = slices.DeleteFunc(b.running, (*call).over)
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
