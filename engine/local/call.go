package local

import (
	"fmt"
	"math"
	"slices"

	"molt/engine"
	"molt/numeric/model"
	"molt/traj"
)

// call is one request while it runs. Generate makes it; from then on the batch owns it, until done is closed.
type call struct {
	request engine.Request // its Prompt is not kept
	emit    func(engine.Token)
	ended   <-chan struct{} // of the caller's context
	done    chan struct{}   // closed by finish: reply and err may be read

	constraint engine.Constraint // nil for none; has taken what was sampled

	history *history // nil without penalties

	ids    []int32 // the prompt, then what was sampled
	prompt int     // length of the prompt
	limit  int     // most ids

	seq    model.Seq // pages, and how many of ids they know
	known  int       // pages of seq that the index knows in full
	last   *prefix   // the last of them; nil for none
	match  match     // what the index offered
	behind *call     // a running request that is about to compute more of the same beginning
	shared int       // length of that beginning
	began  bool      // it ran before: Cached stands

	reply engine.Reply
	err   error
}

func newCall(r engine.Request, emit func(engine.Token), ended <-chan struct{}, maxTokens int) *call {
	c := &call{request: r, emit: emit, ended: ended, done: make(chan struct{}), prompt: len(r.Prompt)}
	c.limit = min(maxTokens, c.prompt+min(r.Sampling.MaxTokens, maxTokens))
	if r.Constrain != nil {
		c.constraint = r.Constrain()
	}
	if r.Sampling.Penalizes() {
		c.history = newHistory(r.Prompt, r.Earlier)
	}
	few := min(c.limit-c.prompt, model.PageTokens) // tokens to make room for before they come
	c.ids = append(make([]int32, 0, c.prompt+few), r.Prompt...)
	c.reply.Tokens = make([]engine.Token, 0, few)
	c.request.Prompt = nil
	return c
}

// terms are what the next id is drawn under.
func (c *call) terms() terms {
	r := &c.request
	return terms{sampling: &r.Sampling, key: r.Key, position: len(c.reply.Tokens), earlier: r.Earlier, constraint: c.constraint, history: c.history}
}

// cancelled reports whether the caller's context has ended.
func (c *call) cancelled() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// left is the number of ids whose KV is not computed yet. The last of them gives the next token.
func (c *call) left() int { return len(c.ids) - c.seq.Len }

// over reports that the request has its reply or its error.
func (c *call) over() bool { return c.reply.Finish != "" || c.err != nil }

// accept takes a sampled id, and ends the request when it was the last.
func (c *call) accept(next choice, version traj.Version, fingerprint string) {
	if math.IsNaN(float64(next.logp)) {
		c.fail(fmt.Errorf("local: request %q: the logits of token %d are not finite under version %d; the weights have diverged",
			c.request.Tag, len(c.reply.Tokens), version))
		return
	}
	if next.id < 0 {
		c.fail(fmt.Errorf("local: request %q: its constraint allows no token behind %d", c.request.Tag, len(c.reply.Tokens)))
		return
	}
	t := engine.Token{ID: next.id, Logp: next.logp, Version: version, Top: next.top}
	c.ids = append(c.ids, t.ID)
	c.reply.Tokens = append(c.reply.Tokens, t)
	c.reply.Fingerprint = fingerprint
	if c.constraint != nil {
		c.constraint.Take(t.ID)
	}
	if c.history != nil {
		c.history.add(t.ID, 1)
	}
	if c.emit != nil {
		c.emit(t)
	}
	if why := c.stop(t.ID); why != "" {
		c.finish(why)
	}
}

// stop says why sampling ends after id, "" when it goes on. A stop wins over a budget that ends with the same token.
func (c *call) stop(id int32) traj.Finish {
	o := &c.request.Sampling
	sampled := c.ids[c.prompt:]
	if slices.Contains(o.StopTokens, id) {
		return traj.FinishStop
	}
	for _, run := range o.StopSequences {
		if len(sampled) >= len(run) && slices.Equal(sampled[len(sampled)-len(run):], run) {
			return traj.FinishStop
		}
	}
	if len(c.ids) == c.limit {
		return traj.FinishLength
	}
	return ""
}

func (c *call) finish(why traj.Finish) {
	c.reply.Finish = why
	close(c.done)
}

func (c *call) fail(err error) {
	c.reply, c.err = engine.Reply{}, err
	close(c.done)
}
