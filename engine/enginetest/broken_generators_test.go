// Generators and sinks that break one promise each.

package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

// brokenGenerators lists, for a check of the Generator or its WeightSink, engines that break its promise.
var brokenGenerators = map[string][]func(*subject){
	"Generator/Capabilities": {
		offering(func(c *engine.Capabilities) { c.Name = "" }),
		offering(func(c *engine.Capabilities) { c.Vocab = 0 }),
	},
	"Generator/Budget": {
		asking(func(r *engine.Request) { r.Sampling.MaxTokens++ }),
		replying(func(_ engine.Request, reply *engine.Reply) error { reply.Finish = traj.FinishStop; return nil }),
		asking(func(r *engine.Request) { r.Sampling.StopTokens = []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9} }), // a hidden EOS
	},
	"Generator/Room": {offering(func(c *engine.Capabilities) { c.MaxTokens -= 10 })},
	"Generator/BadRequest": {
		asking(func(r *engine.Request) {
			if len(r.Prompt) == 0 {
				r.Prompt = []int32{0}
			}
		}),
		asking(func(r *engine.Request) { r.Sampling.MaxTokens = max(1, r.Sampling.MaxTokens) }),
		asking(func(r *engine.Request) { r.Sampling.TopP = 0 }),
		asking(func(r *engine.Request) { r.Sampling.StopSequences = nil }),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if err != nil {
				err = fmt.Errorf("%w: %w", err, engine.ErrUnavailable)
			}
			return reply, err
		}),
	},
	"Generator/Images": {
		offering(func(c *engine.Capabilities) { c.Images = false }),
		asking(func(r *engine.Request) { r.Images = nil }),
	},
	"Generator/TooLong": {
		asking(func(r *engine.Request) { r.Prompt = r.Prompt[1:] }),
		asking(func(r *engine.Request) { r.Prompt = nil }),
	},
	"Generator/StopTokens": {
		asking(func(r *engine.Request) { r.Sampling.StopTokens = nil }),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if reply.Finish == traj.FinishStop && len(reply.Tokens) > 1 {
				reply.Tokens = reply.Tokens[:len(reply.Tokens)-1] // the stop token does not stay
			}
			return nil
		}),
		replying(func(r engine.Request, reply *engine.Reply) error {
			if len(reply.Tokens) == r.Sampling.MaxTokens {
				reply.Finish = traj.FinishLength // the budget wins over the stop
			}
			return nil
		}),
	},
	"Generator/StopSequences": {
		asking(func(r *engine.Request) { r.Sampling.StopSequences = nil }),
		asking(func(r *engine.Request) { // only the last id of a sequence is compared
			for _, run := range r.Sampling.StopSequences {
				r.Sampling.StopTokens = append(r.Sampling.StopTokens, run[len(run)-1])
			}
		}),
	},
	"Generator/Emit": {
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			n := 0
			return g.Generate(ctx, r, func(t engine.Token) {
				if n++; n != 7 {
					emit(t)
				}
			})
		}),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, nil)
			for _, t := range slices.Backward(reply.Tokens) {
				emit(t)
			}
			return reply, err
		}),
	},
	"Generator/Logp": {
		replying(func(_ engine.Request, reply *engine.Reply) error { reply.Tokens[3].Logp = 0.1; return nil }),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			reply.Tokens[3].Logp = float32(math.NaN())
			return nil
		}),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			reply.Tokens[3].Logp = float32(math.Inf(-1))
			return nil
		}),
	},
	"Generator/Version": {
		replying(func(_ engine.Request, reply *engine.Reply) error { reply.Tokens[3].Version = 1; return nil }),
		replying(func(_ engine.Request, reply *engine.Reply) error { reply.Fingerprint = ""; return nil }),
		replying(func(_ engine.Request, reply *engine.Reply) error { reply.Fingerprint = "other"; return nil }),
	},
	"Generator/CopiesPrompt": {func(s *subject) { // the session's cache is the caller's slice
		g := s.Generator
		cache := map[string][]int32{}
		s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			if kept, ok := cache[r.Session]; ok {
				r.Prompt = kept
			}
			cache[r.Session] = r.Prompt
			return g.Generate(ctx, r, emit)
		}}
	}},
	"Generator/Concurrent": {func(s *subject) { // requests that overlap get the budget of the first
		g := s.Generator
		busy := make(chan int, 1)
		s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			select {
			case busy <- r.Sampling.MaxTokens:
				defer func() { <-busy }()
			default:
				r.Sampling.MaxTokens = 1
			}
			return g.Generate(ctx, r, emit)
		}}
	}},
	"Generator/Deterministic": {
		asking(func() func(r *engine.Request) {
			calls := make(chan int, 1)
			calls <- 0
			return func(r *engine.Request) { n := <-calls + 1; calls <- n; r.Key.Turn = int32(n) }
		}()),
		asking(func(r *engine.Request) { r.Key = engine.Key{} }),
		asking(func(r *engine.Request) { r.Key.Group += int64(len(r.Session)) }),
		asking(func(r *engine.Request) { r.Key.Turn = int32(r.Sampling.MaxTokens) }),
	},
	"Generator/Closed": {
		func(s *subject) {
			s.Generator = generator{Generator: s.Generator, close: func() error { return nil }}
		},
		func(s *subject) {
			closed := false
			s.Generator = generator{Generator: s.Generator, close: func() error {
				if closed {
					return os.ErrClosed
				}
				closed = true
				return nil
			}}
		},
	},

	"Sampling/Greedy": {
		asking(func(r *engine.Request) {
			if r.Sampling.Temperature == 0 {
				r.Sampling.Temperature = 5
			}
		}),
	},
	"Sampling/GreedyTie": {
		asking(func(r *engine.Request) {
			if r.Sampling.Temperature == 0 {
				r.Sampling.Temperature = 1 // among equals, any
			}
		}),
		replying(func(r engine.Request, reply *engine.Reply) error {
			if r.Sampling.Temperature == 0 {
				reply.Tokens[1].Logp = 0 // the log-prob of a certain choice
			}
			return nil
		}),
	},
	"Sampling/Narrowest": {
		asking(func(r *engine.Request) { r.Sampling.TopK = 0 }),
		asking(func(r *engine.Request) { r.Sampling.TopP = 0 }),
		asking(func(r *engine.Request) { r.Sampling.MinP = 0 }),
		replying(func(r engine.Request, reply *engine.Reply) error { // log-probs of what a filter kept
			if r.Sampling.TopK == 1 {
				reply.Tokens[0].Logp = 0
			}
			return nil
		}),
	},
	"Sampling/Filters": {
		asking(func(r *engine.Request) { r.Sampling.TopK *= 4 }),
		asking(func(r *engine.Request) { r.Sampling.TopP = min(1, 1.8*r.Sampling.TopP) }),
		asking(func(r *engine.Request) { r.Sampling.MinP /= 4 }),
	},
	"Constraint/Held": {
		asking(func(r *engine.Request) { r.Constrain = nil }),
		asking(func(r *engine.Request) { // the constraint is asked, and not told
			begin := r.Constrain
			r.Constrain = func() engine.Constraint { return deaf{begin()} }
		}),
		asking(func(r *engine.Request) { // it is begun twice
			begin := r.Constrain
			r.Constrain = func() engine.Constraint { begin(); return begin() }
		}),
	},
	"Constraint/LogpOfTheWhole": {
		replying(func(r engine.Request, reply *engine.Reply) error {
			if r.Constrain != nil {
				reply.Tokens[0].Logp /= 2 // as if what is not allowed had no part in it
			}
			return nil
		}),
	},
	"Constraint/All": {
		asking(func(r *engine.Request) {
			if r.Constrain != nil {
				r.Key.Seed++
			}
		}),
	},
	"Constraint/Nothing": {asking(func(r *engine.Request) { r.Constrain = nil })},
	"Shape/Bias": {
		asking(func(r *engine.Request) { r.Sampling.Bias = nil }),
		replying(func(r engine.Request, reply *engine.Reply) error { // the log-prob of what was drawn from
			if len(r.Sampling.Bias) > 0 {
				reply.Tokens[0].Logp = 0
			}
			return nil
		}),
	},
	"Shape/Presence": {
		asking(func(r *engine.Request) { r.Sampling.PresencePenalty = 0 }),
		asking(func(r *engine.Request) { r.Sampling.FrequencyPenalty = 0 }),
		asking(func(r *engine.Request) { r.Earlier = 0 }),
	},
	"Shape/Repetition": {asking(func(r *engine.Request) { r.Sampling.RepetitionPenalty = 0 })},
	"Shape/Frequency": {asking(func(r *engine.Request) { // once, however often an id came
		r.Sampling.PresencePenalty, r.Sampling.FrequencyPenalty = r.Sampling.FrequencyPenalty, 0
	})},
	"Shape/MinTokens": {
		asking(func(r *engine.Request) { r.Sampling.MinTokens = 0 }),
		asking(func(r *engine.Request) { // stops are deaf for good
			if r.Sampling.MinTokens > 0 {
				r.Sampling.MinTokens = r.Sampling.MaxTokens
			}
		}),
	},
	"Shape/Neutral": {
		asking(func(r *engine.Request) {
			if r.Sampling.RepetitionPenalty == 1 {
				r.Sampling.RepetitionPenalty = 1.5
			}
		}),
		asking(func(r *engine.Request) {
			if len(r.Sampling.Bias) > 0 {
				r.Key.Seed++
			}
		}),
	},
	"Shape/Top": {
		asking(func(r *engine.Request) { r.Sampling.Top-- }),
		replying(func(_ engine.Request, reply *engine.Reply) error { slices.Reverse(reply.Tokens[0].Top); return nil }),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			for i := range reply.Tokens[0].Top {
				reply.Tokens[0].Top[i].Logp -= 0.1
			}
			return nil
		}),
	},
	"Sampling/Frequencies": {
		replying(func(r engine.Request, reply *engine.Reply) error {
			reply.Tokens[0].Logp *= 1.5 // samples at another temperature than it reports
			return nil
		}),
		asking(func(r *engine.Request) { r.Sampling.TopK = 4 }),
	},

	"Cancel/Midway": {
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			return g.Generate(context.WithoutCancel(ctx), r, emit)
		}),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if reply.Finish == traj.FinishAbort {
				return context.Canceled
			}
			return nil
		}),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if reply.Finish == traj.FinishAbort {
				reply.Tokens = nil
			}
			return nil
		}),
	},
	"Cancel/Before": {
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			if err := ctx.Err(); err != nil {
				return engine.Reply{}, err
			}
			return g.Generate(ctx, r, emit)
		}),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			return g.Generate(context.WithoutCancel(ctx), r, emit)
		}),
	},
	"Cancel/Neighbours": {func(s *subject) { // one cancellation ends the whole batch
		g := s.Generator
		batch, end := context.WithCancel(context.Background())
		s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			defer context.AfterFunc(ctx, end)()
			return g.Generate(batch, r, emit)
		}}
	}},
	"Cancel/Close": {
		func(s *subject) { s.Generator = generator{Generator: s.Generator, close: func() error { return nil }} },
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if reply.Finish == traj.FinishAbort {
				return errors.New("closed")
			}
			return nil
		}),
	},

	"Sink/Publish": {
		publishing(func(engine.WeightSink, engine.Weights) error { return nil }),
		relabelling,
	},
	"Sink/OwnWeights": {func(s *subject) { // keeps the caller's slices, and looks at them when nobody is writing
		inner, g := s.Sink, s.Generator
		var kept engine.Weights
		var calls atomic.Int32
		s.Sink = sink{inner, func(ctx context.Context, w engine.Weights) error { kept = w; return inner.Publish(ctx, w) }}
		s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			if calls.Add(1) == 6 {
				now := kept
				now.Fingerprint = enginetest.Fingerprint(kept)
				_ = inner.Publish(ctx, now)
			}
			return g.Generate(ctx, r, emit)
		}}
	}},
	"Sink/FreshKV": {
		replying(func(r engine.Request, reply *engine.Reply) error { reply.Cached = 5 * len(r.Session); return nil }),
		func(s *subject) { // what was computed for a prompt is kept across versions
			g := s.Generator
			kept := map[string]float32{}
			s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
				reply, err := g.Generate(ctx, r, emit)
				reply.Cached = 0
				if logp, ok := kept[fmt.Sprint(r.Prompt)]; ok {
					reply.Tokens[0].Logp = logp
				}
				kept[fmt.Sprint(r.Prompt)] = reply.Tokens[0].Logp
				return reply, err
			}}
		},
	},
	"Sink/MidRequest": {
		replying(func(_ engine.Request, reply *engine.Reply) error { // one version for the whole reply
			for i := range reply.Tokens {
				reply.Tokens[i].Version = reply.Tokens[len(reply.Tokens)-1].Version
			}
			return nil
		}),
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if last := len(reply.Tokens) - 1; last > 0 {
				reply.Tokens[last].Version = reply.Tokens[0].Version
			}
			return nil
		}),
	},
	"Sink/RefusesWrong": {
		publishing(func(inner engine.WeightSink, w engine.Weights) error {
			_ = inner.Publish(context.Background(), w)
			return nil
		}),
		publishing(func(inner engine.WeightSink, w engine.Weights) error { // half of the switch is done before it fails
			err := inner.Publish(context.Background(), w)
			if err != nil {
				other, _ := enginetest.NewToy(enginetest.ScriptConfig{Seed: 99}).Weights(context.Background())
				_ = inner.Publish(context.Background(), other)
			}
			return err
		}),
		publishing(func(inner engine.WeightSink, w engine.Weights) error { // believes any fingerprint
			w.Fingerprint = enginetest.Fingerprint(w)
			return inner.Publish(context.Background(), w)
		}),
	},

	"Agree/Batch": {
		replying(func(_ engine.Request, reply *engine.Reply) error {
			last := &reply.Tokens[len(reply.Tokens)-1].Logp
			*last = math.Nextafter32(*last, -100)
			return nil
		}),
	},
	"Agree/Session": {
		replying(func(_ engine.Request, reply *engine.Reply) error {
			if reply.Cached > 0 {
				reply.Tokens[0].Logp = math.Nextafter32(reply.Tokens[0].Logp, -100)
			}
			return nil
		}),
		replying(func(r engine.Request, reply *engine.Reply) error { reply.Cached = len(r.Prompt) + 1; return nil }),
	},
	"Agree/AfterStep": {relabelling},

	"Fault/Unavailable": {
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if err != nil {
				err = errors.New(err.Error())
			}
			return reply, err
		}),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if err != nil {
				reply.Tokens = make([]engine.Token, 2)
			}
			return reply, err
		}),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if errors.Is(err, engine.ErrUnavailable) { // retries inside the engine
				reply, err = g.Generate(ctx, r, emit)
			}
			return reply, err
		}),
	},
	"Fault/MissingLogp": {
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if err != nil {
				reply.Tokens = make([]engine.Token, r.Sampling.MaxTokens) // a missing log-prob becomes 0
			}
			return reply, nil
		}),
		generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			reply, err := g.Generate(ctx, r, emit)
			if err != nil {
				err = fmt.Errorf("%w: %w", err, engine.ErrUnavailable)
			}
			return reply, err
		}),
	},
}

// relabelling takes the label of published weights and serves the old ones under it.
func relabelling(s *subject) {
	inner, g := s.Sink, s.Generator
	var label engine.Weights
	label.Version, label.Fingerprint = inner.Serving()
	s.Sink = labelled{inner, &label}
	s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
		reply, err := g.Generate(ctx, r, emit)
		reply.Fingerprint = label.Fingerprint
		for i := range reply.Tokens {
			reply.Tokens[i].Version = label.Version
		}
		return reply, err
	}}
}

type labelled struct {
	engine.WeightSink
	label *engine.Weights
}

func (l labelled) Publish(_ context.Context, w engine.Weights) error { *l.label = w; return nil }
func (l labelled) Serving() (traj.Version, string)                   { return l.label.Version, l.label.Fingerprint }

// deaf is a constraint that is not told what was sampled.
type deaf struct{ engine.Constraint }

func (deaf) Take(int32) {}
