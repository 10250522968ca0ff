// One turn while it is sampled. The engine's tokens are kept as they come; whoever streams them reads them at its own pace,
// and may leave: for a while somebody else can take over.

package capture

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"molt/chat"
	"molt/engine"
	"molt/gateway/forest"
	"molt/gateway/wire"
	"molt/traj"
)

// flight is a turn while it is sampled, and what is left of it afterwards.
type flight struct {
	session *Session
	at      int32 // the point that it answers
	asked   string
	manner  manner
	demand  *demand     // nil for none
	turn    forest.Turn // as it will be committed
	request engine.Request
	masked  int  // control strings in text from outside
	rewrote bool // the template alone would have shown earlier turns differently
	ctx     context.Context
	cancel  context.CancelFunc

	mu        sync.Mutex // guards what follows
	tokens    []engine.Token
	over      bool
	failed    *wire.Problem
	end       wire.End
	index     int32 // of the turn; -1 when none was kept
	malformed int   // what looked like a call and was none
	acked     int   // tokens whose deltas a client has certainly got
	reader    bool
	silent    bool          // nothing is written before everything has come
	signal    chan struct{} // tells the reader that there is more; holds one
	timer     *time.Timer   // ends a flight without a reader
	done      chan struct{} // closed when over
}

// emit is called by the engine.
func (f *flight) emit(t engine.Token) {
	f.mu.Lock()
	f.tokens = append(f.tokens, t)
	signal := f.signal
	f.mu.Unlock()
	wake(signal)
}

func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// run samples the turn. The session waits for it.
func (f *flight) run() {
	defer f.session.running.Done()
	defer f.cancel()
	reply, err := f.sample(f.request)
	for attempt := 1; errors.Is(err, engine.ErrUnavailable) && len(reply.Tokens) > 0 && attempt <= f.session.gateway.config.Resume; attempt++ {
		reply, err = f.resume(reply, attempt)
	}
	f.land(reply, err)
}

// sample asks the engine. Of a stream that broke the reply holds what had come: that was sampled. Tokens that break the
// engine's contract are no tokens.
func (f *flight) sample(r engine.Request) (engine.Reply, error) {
	before := len(f.sampled())
	generator := f.session.gateway.config.Generator
	reply, err := generator.Generate(f.ctx, r, f.emit)
	if err != nil {
		reply.Tokens, reply.Finish = f.sampled()[before:], traj.FinishAbort
	}
	if broken := check(reply, r, generator.Capabilities().Vocab); broken != nil {
		return engine.Reply{}, errors.Join(err, broken)
	}
	return reply, err
}

// resume goes on from what was sampled. It is the same path: the engine is given what it returned. The draws are others, as
// they count from 0 again.
func (f *flight) resume(had engine.Reply, attempt int) (engine.Reply, error) {
	select {
	case <-time.After(time.Duration(attempt) * f.session.gateway.config.pause()):
	case <-f.ctx.Done():
		return had, nil
	}
	r := f.request
	r.Prompt = slices.Clone(r.Prompt)
	for _, t := range had.Tokens {
		r.Prompt = append(r.Prompt, t.ID)
	}
	r.Earlier = len(had.Tokens)
	r.Sampling.MaxTokens -= len(had.Tokens)
	r.Key.Turn ^= int32(attempt) << 24
	if f.demand != nil {
		r.Constrain = func() engine.Constraint { return f.demand.begin(had.Tokens) }
	}
	if r.Sampling.MaxTokens < 1 {
		had.Finish = traj.FinishLength
		return had, nil
	}
	f.session.gateway.counts.add(func(c *Counts) { c.Resumed++ })
	more, err := f.sample(r)
	if err != nil && len(more.Tokens) == 0 && !errors.Is(err, engine.ErrUnavailable) {
		return more, err
	}
	more.Tokens = slices.Concat(had.Tokens, more.Tokens)
	return more, err
}

// land ends the flight: what was sampled is read as a whole, cut at a stop string, and added to the forest.
func (f *flight) land(reply engine.Reply, err error) {
	tokens := reply.Tokens
	r := f.manner.read()
	for _, t := range tokens {
		r.push(t)
	}
	r.close()
	if r.over {
		tokens, reply.Finish, err = tokens[:r.cut], traj.FinishStop, nil
	}
	found := r.outcome()
	e := wire.End{Finish: reply.Finish, Stop: r.stop, Sampled: len(tokens), Reasoning: found.reasoning, Cached: reply.Cached}
	index, problem := int32(-1), f.problem(reply, err)
	if problem == nil || len(tokens) > 0 && f.partly() {
		f.fill(tokens, reply, r, found, problem)
		if index, err = f.session.commit(f); err != nil {
			problem = &wire.Problem{Class: wire.Broken, Message: err.Error()}
		}
		f.session.journal.Sync() // before its client is told, and without holding up other turns
	} else {
		f.session.drop(f, err)
	}
	if problem == nil {
		f.session.count(f, index, r, found)
	}
	f.mu.Lock()
	f.tokens, f.over, f.failed, f.end, f.index, f.malformed = tokens, true, problem, e, index, found.malformed
	signal := f.signal
	f.mu.Unlock()
	close(f.done)
	wake(signal)
}

func (f *flight) sampled() []engine.Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tokens)
}

// problem is what a client is told of a turn that did not end by itself.
func (f *flight) problem(reply engine.Reply, err error) *wire.Problem {
	switch {
	case err == nil && reply.Finish != traj.FinishAbort:
		return nil
	case f.session.ctx.Err() != nil:
		return &wire.Problem{Class: wire.Missing, Message: errClosed.Error()}
	case errors.Is(err, engine.ErrTooLong):
		return &wire.Problem{Class: wire.Overflow, Tokens: len(f.request.Prompt), Limit: f.session.gateway.Context()}
	case errors.Is(err, engine.ErrFinal):
		return wire.Badf("", "this request cannot be answered: %v", err)
	case errors.Is(err, engine.ErrUnavailable):
		return &wire.Problem{Class: wire.Overloaded, Message: "the engine is not available: try again", Retry: 1}
	case err == nil:
		return &wire.Problem{Class: wire.Overloaded, Message: "the turn was aborted: try again", Retry: 1}
	}
	return &wire.Problem{Class: wire.Broken, Message: "sampling failed: " + err.Error()}
}

// partly reports whether a client that loses the rest may go on from what it has, or is about to get.
func (f *flight) partly() bool {
	f.mu.Lock()
	n := f.acked
	if f.reader && !f.silent {
		n = len(f.tokens)
	}
	acked := slices.Clone(f.tokens[:min(n, len(f.tokens))])
	f.mu.Unlock()
	r := f.manner.read()
	for _, t := range acked {
		r.push(t)
	}
	return r.finished() > 0
}

// fill completes the turn.
func (f *flight) fill(tokens []engine.Token, reply engine.Reply, r *reading, found outcome, problem *wire.Problem) {
	t := &f.turn
	for _, k := range tokens {
		t.Sampled = append(t.Sampled, k.ID)
		t.Logp = append(t.Logp, k.Logp)
		t.Version = append(t.Version, k.Version)
	}
	t.Finish, t.Stop, t.Cached = reply.Finish, r.stop, reply.Cached
	if f.demand != nil { // also where nothing was kept out: which turns those are, the policy chose
		t.Untrained = f.demand.why
	}
	if problem != nil {
		t.Finish = traj.FinishAbort
	}
	t.Item = chat.NewItem(r.said)
	for _, c := range found.checkpoints {
		t.Checkpoints = append(t.Checkpoints, forest.Checkpoint{Tokens: c.tokens, Item: chat.NewItem(c.said)})
	}
}

// attach makes a caller the reader, unless there is one.
func (f *flight) attach(signal chan struct{}) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reader || f.over && f.failed != nil {
		return false
	}
	f.reader, f.silent, f.signal = true, false, signal
	if f.timer != nil {
		f.timer.Stop()
	}
	return true
}

// leave ends the reading of a client that is gone. The flight goes on for a while.
func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reader = false
	if !f.over {
		f.timer = time.AfterFunc(f.session.gateway.config.Linger, f.abandon)
	}
}

// abandon ends a flight that has no reader.
func (f *flight) abandon() {
	f.mu.Lock()
	alone := !f.reader
	f.mu.Unlock()
	if alone {
		f.cancel()
	}
}

// more returns the tokens behind the first n, and whether the flight is over.
func (f *flight) more(n int) (tokens []engine.Token, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > len(f.tokens) {
		n = len(f.tokens) // cut at a stop string that its reader has found too
	}
	return f.tokens[n:len(f.tokens):len(f.tokens)], f.over
}

// hush says that the reader writes nothing before everything has come.
func (f *flight) hush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = true
}

// ack says that the deltas of the first n tokens have been written.
func (f *flight) ack(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked = max(f.acked, n)
}
