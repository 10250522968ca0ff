// How the scripted engine plays one request, token by token.

package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"molt/engine"
	"molt/traj"
)

// playing is a request while it runs. One goroutine owns it.
type playing struct {
	script      *Script
	request     engine.Request
	temperature float32 // of the log-probs
	lines       []int32 // what the script says; nil samples
	constraint  engine.Constraint
	mask        []uint64 // of ids that it allows
	fault       Fault
	ids         []int32 // the prompt and what was sampled
	reply       engine.Reply
}

// next adds one token to the reply, or says why there is none: in Finish, or by an error.
func (p *playing) next(ctx context.Context, emit func(engine.Token)) error {
	struck := p.fault.Trouble != "" && len(p.reply.Tokens) >= p.fault.After
	if err := p.wait(ctx, struck); err != nil {
		p.reply.Finish = traj.FinishAbort
		return nil
	}
	if struck {
		if err := p.fault.err(); err != nil {
			return err
		}
	}
	t, err := p.sample(struck)
	if err != nil {
		return err
	}
	p.reply.Tokens = append(p.reply.Tokens, t)
	if emit != nil {
		emit(t)
	}
	p.reply.Finish = p.finish(t.ID)
	return nil
}

// wait takes the time of a token. It reports that the request was cancelled.
func (p *playing) wait(ctx context.Context, struck bool) error {
	pause := p.script.config.TokenTime
	var tick <-chan time.Time
	switch {
	case struck && p.fault.Trouble == Hang:
	case struck && p.fault.Trouble == Slow:
		pause = p.fault.Pause
		fallthrough
	case pause > 0:
		timer := time.NewTimer(pause)
		defer timer.Stop()
		tick = timer.C
	default:
		runtime.Gosched() // others may cancel, publish or close in between, as with a real engine
		tick = always
	}
	select {
	case <-ctx.Done():
	case <-p.script.closed:
	case <-tick:
		if ctx.Err() == nil {
			return nil
		}
	}
	return context.Canceled
}

// always is a tick that has come.
var always = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// sample chooses the next id under the weights that are served at this moment.
func (p *playing) sample(struck bool) (engine.Token, error) {
	s := p.script
	if struck && p.fault.Trouble == Switch {
		p.switchWeights()
	}
	s.mu.RLock()
	w := s.serving
	n := len(p.reply.Tokens)
	logits := w.logits(p.ids[len(p.ids)-1])
	id, err := p.choose(logits, n)
	s.mu.RUnlock()
	if err != nil {
		return engine.Token{}, err
	}

	p.ids = append(p.ids, id)
	p.remember(w)
	p.reply.Fingerprint = w.fingerprint
	logp := logProbs(logits, p.temperature)
	t := engine.Token{ID: id, Logp: logp[id], Version: w.version, Top: ranked(logp, p.request.Sampling.Top)}
	if struck && p.fault.Trouble == NaNLogp {
		t.Logp = float32(math.NaN())
	}
	return t, nil
}

// choose takes the n-th id: the script's, or one of the toy's that may come.
func (p *playing) choose(logits []float32, n int) (int32, error) {
	allowed := func(int32) bool { return true }
	if p.constraint != nil {
		p.constraint.Allowed(p.mask)
		allowed = func(id int32) bool { return p.mask[id/64]>>(id%64)&1 == 1 }
	}
	var id int32
	if p.lines != nil {
		if id = p.lines[n]; !allowed(id) {
			return 0, fmt.Errorf("the script says id %d at %d, which the constraint does not allow: %w", id, n, engine.ErrFinal)
		}
	} else {
		ids := p.among(allowed)
		if len(ids) == 0 {
			return 0, fmt.Errorf("the constraint allows no token behind %d", n)
		}
		drawn, among := p.shaped(logits), make([]float32, len(ids))
		for i, id := range ids {
			among[i] = drawn[id]
		}
		id = ids[choose(among, p.request.Sampling, uniform(p.request.Key, n))]
	}
	if p.constraint != nil {
		p.constraint.Take(id)
	}
	return id, nil
}

// among lists the ids that may come: stops only when the reply is long enough, or nothing else is there.
func (p *playing) among(allowed func(int32) bool) []int32 {
	var ids, stops []int32
	early := p.request.Earlier+len(p.reply.Tokens) < p.request.Sampling.MinTokens
	for id := range int32(p.script.config.Vocab) {
		switch {
		case !allowed(id):
		case early && slices.Contains(p.request.Sampling.StopTokens, id):
			stops = append(stops, id)
		default:
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return stops
	}
	return ids
}

// shaped are the logits as the request wants them.
func (p *playing) shaped(logits []float32) []float32 {
	o := p.request.Sampling
	out := slices.Clone(logits)
	for _, b := range o.Bias {
		out[b.ID] += b.Value
	}
	if !o.Penalizes() {
		return out
	}
	said := p.ids[len(p.request.Prompt)-p.request.Earlier:]
	for id := range out {
		times := 0
		for _, other := range said {
			if int(other) == id {
				times++
			}
		}
		if r := o.RepetitionPenalty; r != 0 && slices.Contains(p.ids, int32(id)) {
			if out[id] > 0 {
				out[id] /= r
			} else {
				out[id] *= r
			}
		}
		if times > 0 {
			out[id] -= float32(times)*o.FrequencyPenalty + o.PresencePenalty
		}
	}
	return out
}

// ranked lists the likeliest ids that the request asks for.
func ranked(logp []float32, n int) []engine.Ranked {
	if n == 0 {
		return nil
	}
	all := make([]engine.Ranked, len(logp))
	for i, l := range logp {
		all[i] = engine.Ranked{ID: int32(i), Logp: l}
	}
	slices.SortStableFunc(all, func(a, b engine.Ranked) int { return cmp.Compare(b.Logp, a.Logp) })
	return all[:min(n, len(all))]
}

// switchWeights publishes the fault's weights, or the serving ones under the next version, once.
func (p *playing) switchWeights() {
	s := p.script
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.serving
	next.parent, next.version = next.version, next.version+1
	if p.fault.Weights != nil {
		var err error
		if next, err = toyFrom(*p.fault.Weights, s.config.Vocab); err != nil {
			panic("enginetest: the weights of a Switch: " + err.Error())
		}
	}
	s.serve(next)
	p.fault = Fault{}
}

// remember notes the KV that a real engine would now hold for the session.
func (p *playing) remember(w toy) {
	if p.request.Session == "" {
		return
	}
	s := p.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving.version == w.version && s.serving.fingerprint == w.fingerprint {
		s.cached[p.request.Session] = p.ids[:len(p.ids)-1]
	}
}

// finish says why sampling stops after id, or "".
func (p *playing) finish(id int32) traj.Finish {
	o := p.request.Sampling
	n := len(p.reply.Tokens)
	for _, stop := range o.StopTokens {
		if id == stop {
			return traj.FinishStop
		}
	}
	for _, run := range o.StopSequences {
		if n >= len(run) && equalIDs(p.ids[len(p.ids)-len(run):], run) {
			return traj.FinishStop
		}
	}
	switch {
	case p.lines != nil && n == len(p.lines):
		return traj.FinishStop
	case n == o.MaxTokens || len(p.ids) == p.script.config.MaxTokens:
		return traj.FinishLength
	}
	return ""
}
