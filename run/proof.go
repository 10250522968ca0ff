// The proof of what is served: an engine says with every reply which weights sampled it, and the run knows which it published.

package run

import (
	"context"
	"fmt"
	"sync"

	"molt/engine"
	"molt/traj"
)

// proved is a generator whose replies must come from weights that were published to it.
type proved struct {
	generator

	mu        sync.Mutex
	published map[traj.Version]string // fingerprints: 64 digits for each batch of a run
}

// proving watches a generator that serves w.
func proving(g generator, w engine.Weights) *proved {
	return &proved{generator: g, published: map[traj.Version]string{w.Version: w.Fingerprint}}
}

// Publish implements engine.WeightSink.
func (g *proved) Publish(ctx context.Context, w engine.Weights) error {
	g.mu.Lock()
	g.published[w.Version] = w.Fingerprint // before the first token can come
	g.mu.Unlock()
	return g.generator.Publish(ctx, w)
}

// Generate implements engine.Generator. A reply from other weights is an error that nothing tries again.
func (g *proved) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := g.generator.Generate(ctx, r, emit)
	if err != nil || len(reply.Tokens) == 0 {
		return reply, err
	}
	last := reply.Tokens[len(reply.Tokens)-1].Version
	g.mu.Lock()
	want, known := g.published[last]
	g.mu.Unlock()
	if !known || reply.Fingerprint != want {
		return engine.Reply{}, fmt.Errorf("it says that version %d of the weights, with fingerprint %.12s…, sampled a token; published was %s", last, reply.Fingerprint, orNone(want))
	}
	return reply, nil
}

func orNone(fingerprint string) string {
	if fingerprint == "" {
		return "no such version"
	}
	return fmt.Sprintf("%.12s…", fingerprint)
}
