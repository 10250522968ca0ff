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
	clear(b.running)
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
	logits, under := t.logits[item*vocab:][:vocab], c.terms()
	if under.free() {
		t.choices[item] = t.samplers[worker].sample(logits, under.sampling, under.key, under.position)
		return
	}
	t.choices[item] = t.samplers[worker].sampleUnder(logits, &under)
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
