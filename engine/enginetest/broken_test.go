// Wrappers that break one thing about an engine.

package enginetest_test

import (
	"context"
	"slices"

	"molt/engine"
	"molt/engine/enginetest"
)

type subject = enginetest.Subject

// generator, sink, learner and pass are wrappers; a nil hook passes the call on.
type generator struct {
	engine.Generator
	generate func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error)
	caps     func(*engine.Capabilities)
	close    func() error
}

func (g generator) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	if g.generate == nil {
		return g.Generator.Generate(ctx, r, emit)
	}
	return g.generate(ctx, r, emit)
}

func (g generator) Capabilities() engine.Capabilities {
	c := g.Generator.Capabilities()
	if g.caps != nil {
		g.caps(&c)
	}
	return c
}

func (g generator) Close() error {
	if g.close == nil {
		return g.Generator.Close()
	}
	return g.close()
}

// generating replaces Generate.
func generating(f func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error)) func(*subject) {
	return func(s *subject) {
		g := s.Generator
		s.Generator = generator{Generator: g, generate: func(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
			return f(g, ctx, r, emit)
		}}
	}
}

// asking spoils requests before the engine sees them.
func asking(spoil func(*engine.Request)) func(*subject) {
	return generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
		spoil(&r)
		return g.Generate(ctx, r, emit)
	})
}

// replying spoils replies, and what of them is emitted.
func replying(spoil func(engine.Request, *engine.Reply) error) func(*subject) {
	return generating(func(g engine.Generator, ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
		reply, err := g.Generate(ctx, r, emit)
		if err == nil && len(reply.Tokens) > 0 {
			err = spoil(r, &reply)
		}
		return reply, err
	})
}

func offering(spoil func(*engine.Capabilities)) func(*subject) {
	return func(s *subject) { s.Generator = generator{Generator: s.Generator, caps: spoil} }
}

type sink struct {
	engine.WeightSink
	publish func(ctx context.Context, w engine.Weights) error
}

func (k sink) Publish(ctx context.Context, w engine.Weights) error { return k.publish(ctx, w) }

func publishing(f func(inner engine.WeightSink, w engine.Weights) error) func(*subject) {
	return func(s *subject) {
		inner := s.Sink
		s.Sink = sink{inner, func(_ context.Context, w engine.Weights) error { return f(inner, w) }}
	}
}

type learner struct {
	engine.Learner
	forward func(b engine.Batch, want engine.Want) (engine.Pass, error)
	step    func(o engine.StepOptions) (engine.StepResult, error)
	weights func() (engine.Weights, error)
	load    func(dir string) ([]byte, error)
	save    func(dir string) error
	caps    func(*engine.LearnerCapabilities)
}

func (l learner) Forward(ctx context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	if l.forward == nil {
		return l.Learner.Forward(ctx, b, want)
	}
	return l.forward(b, want)
}

func (l learner) Step(ctx context.Context, o engine.StepOptions) (engine.StepResult, error) {
	if l.step == nil {
		return l.Learner.Step(ctx, o)
	}
	return l.step(o)
}

func (l learner) Weights(ctx context.Context) (engine.Weights, error) {
	if l.weights == nil {
		return l.Learner.Weights(ctx)
	}
	return l.weights()
}

func (l learner) Load(ctx context.Context, dir string) ([]byte, error) {
	if l.load == nil {
		return l.Learner.Load(ctx, dir)
	}
	return l.load(dir)
}

func (l learner) Save(ctx context.Context, dir string, state []byte) error {
	if l.save == nil {
		return l.Learner.Save(ctx, dir, state)
	}
	return l.save(dir)
}

func (l learner) Capabilities() engine.LearnerCapabilities {
	c := l.Learner.Capabilities()
	if l.caps != nil {
		l.caps(&c)
	}
	return c
}

// learning wraps the learner.
func learning(wrap func(inner engine.Learner, l *learner)) func(*subject) {
	return func(s *subject) {
		l := learner{Learner: s.Learner}
		wrap(s.Learner, &l)
		s.Learner = l
	}
}

// batching spoils batches before the learner sees them.
func batching(spoil func(*engine.Batch, *engine.Want)) func(*subject) {
	return learning(func(inner engine.Learner, l *learner) {
		l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
			b.Tokens, b.Score = slices.Clone(b.Tokens), slices.Clone(b.Score)
			spoil(&b, &want)
			return inner.Forward(context.Background(), b, want)
		}
	})
}

type pass struct {
	engine.Pass
	logp, entropy, value []float32
	backward             func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error
	release              func()
}

func (p *pass) Logp() []float32    { return p.logp }
func (p *pass) Entropy() []float32 { return p.entropy }
func (p *pass) Value() []float32   { return p.value }
func (p *pass) Release() {
	if p.release != nil {
		p.release()
	}
	p.Pass.Release()
}

func (p *pass) Backward(ctx context.Context, dLogp, dEntropy, dValue []float32) error {
	if p.backward == nil {
		return p.Pass.Backward(ctx, dLogp, dEntropy, dValue)
	}
	return p.backward(p.Pass, dLogp, dEntropy, dValue)
}

// passing spoils passes.
func passing(spoil func(b engine.Batch, want engine.Want, p *pass)) func(*subject) {
	return learning(func(inner engine.Learner, l *learner) {
		l.forward = func(b engine.Batch, want engine.Want) (engine.Pass, error) {
			alive, err := inner.Forward(context.Background(), b, want)
			if err != nil {
				return nil, err
			}
			p := &pass{Pass: alive, logp: slices.Clone(alive.Logp()), entropy: slices.Clone(alive.Entropy()), value: slices.Clone(alive.Value())}
			spoil(b, want, p)
			return p, nil
		}
	})
}

// deriving spoils the derivatives of log-probs on their way back.
func deriving(spoil func(d []float32) []float32) func(*subject) {
	return passing(func(_ engine.Batch, _ engine.Want, p *pass) {
		p.backward = func(inner engine.Pass, dLogp, dEntropy, dValue []float32) error {
			return inner.Backward(context.Background(), spoil(slices.Clone(dLogp)), dEntropy, dValue)
		}
	})
}

func scale(by float32) func([]float32) []float32 {
	return func(d []float32) []float32 {
		for i := range d {
			d[i] *= by
		}
		return d
	}
}

// stepping spoils optimizer steps.
func stepping(f func(inner engine.Learner, o engine.StepOptions) (engine.StepResult, error)) func(*subject) {
	return learning(func(inner engine.Learner, l *learner) {
		l.step = func(o engine.StepOptions) (engine.StepResult, error) { return f(inner, o) }
	})
}
