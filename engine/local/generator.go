package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/traj"
)

// Generator implements engine.Generator and engine.WeightSink. It has its own copy of the weights, so that a learner may
// train while it samples. Its loop is a goroutine that lives as long as there are requests; Close waits for it.
type Generator struct {
	shape   model.Config
	serving atomic.Pointer[label]

	publishing sync.Mutex // one Publish after the other

	mu      sync.Mutex // guards what follows; never held during a step
	arrived []*call    // not yet seen by the loop
	looping bool
	closed  bool
	loops   sync.WaitGroup

	own   sync.Mutex // guards what follows; held for a step, or for a switch of the weights
	batch *batch
	held  held // read under publishing alone as well
	pool  *kernel.Pool
}

// label names the weights that are served.
type label struct {
	version     traj.Version
	fingerprint string
}

// NewGenerator makes a generator of models of this shape that serves w, which it copies. Close frees its memory.
// Config.Optimizer, LoRA and Head are not read.
func NewGenerator(shape model.Config, w engine.Weights, config Config) (*Generator, error) {
	config = config.resolve(shape)
	if err := config.validateMachine(shape); err != nil {
		return nil, err
	}
	m, err := model.New(shape)
	if err != nil {
		return nil, err
	}
	g := &Generator{shape: shape, held: hold(m, m.Params(), config), pool: kernel.NewPool(config.Threads)}
	if g.batch, err = newBatch(config, m, g.pool); err == nil {
		err = g.Publish(context.Background(), w)
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Capabilities implements engine.Generator.
func (g *Generator) Capabilities() engine.Capabilities {
	return engine.Capabilities{Name: "local", Numerics: numerics, Deterministic: true, Versions: true, Vocab: g.shape.Vocab, MaxTokens: g.shape.MaxPositions, Constrained: true, Shapes: true, Top: highestTop}
}

// Generate implements engine.Generator. It calls emit from the loop, between steps.
func (g *Generator) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	if err := g.check(&r); err != nil {
		return engine.Reply{}, err
	}
	c := newCall(r, emit, ctx.Done(), g.shape.MaxPositions)
	if err := g.enter(c); err != nil {
		return engine.Reply{}, err
	}
	<-c.done
	return c.reply, c.err
}

// highestTop is what the vendors' wires allow.
const highestTop = 20

// The learner's range of temperatures; outside, tempered logits overflow.
const lowestTemperature, highestTemperature = 1e-4, 1e4

func (g *Generator) check(r *engine.Request) error {
	if err := r.Validate(g.Capabilities()); err != nil {
		return err
	}
	if t := r.Sampling.Temperature; t != 0 && (t < lowestTemperature || t > highestTemperature) {
		return fmt.Errorf("local: request %q: temperature %g; want 0, or between %g and %g", r.Tag, t, lowestTemperature, highestTemperature)
	}
	return nil
}

var errClosed = errors.New("local: the generator is closed")

// enter hands a request to the loop, starting it when it sleeps.
func (g *Generator) enter(c *call) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errClosed
	}
	g.arrived = append(g.arrived, c)
	if !g.looping {
		g.looping = true
		g.loops.Go(g.loop)
	}
	return nil
}

// loop runs steps until there is nothing to do. Between steps it lets those run who got their replies: where cores are
// few, their next requests then join the next step.
func (g *Generator) loop() {
	for g.next() {
		runtime.Gosched()
	}
}

// next takes in what has arrived and runs a step. It reports false, and the loop has ended, when there is nothing to run.
func (g *Generator) next() bool {
	g.own.Lock()
	defer g.own.Unlock()
	g.mu.Lock()
	g.batch.add(g.arrived)
	clear(g.arrived)
	g.arrived = g.arrived[:0]
	closed := g.closed
	g.looping = !g.batch.empty() && !closed
	looping := g.looping
	g.mu.Unlock()
	if closed {
		g.batch.abort()
	}
	if looping {
		g.batch.step()
	}
	return looping
}

// Publish implements engine.WeightSink: it copies w between two steps. Of weights with an adapter over the base that it
// serves, it reads the adapter alone, and puts it on its own base. Running requests go on under the new weights from what
// they have sampled; all their KV is computed again.
func (g *Generator) Publish(ctx context.Context, w engine.Weights) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("local: publishing version %d: %w", w.Version, err)
	}
	g.publishing.Lock()
	defer g.publishing.Unlock()
	if err := g.held.check(w); err != nil {
		return fmt.Errorf("local: publishing version %d: %w", w.Version, err)
	}
	g.own.Lock()
	defer g.own.Unlock()
	if g.batch == nil {
		return errClosed
	}
	g.batch.reload()
	g.held.set(w, g.pool)
	g.batch.version, g.batch.print = w.Version, w.Fingerprint
	g.serving.Store(&label{w.Version, w.Fingerprint})
	return nil
}

// Serving implements engine.WeightSink.
func (g *Generator) Serving() (traj.Version, string) {
	s := g.serving.Load()
	return s.version, s.fingerprint
}

// Close implements engine.Generator: requests get what they have sampled, the loop ends, the memory is freed.
func (g *Generator) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.loops.Wait()

	g.publishing.Lock()
	defer g.publishing.Unlock()
	g.own.Lock()
	defer g.own.Unlock()
	if g.held.Model == nil {
		return nil
	}
	g.pool.Close()
	if g.batch != nil {
		g.batch.close()
	}
	g.held.free()
	g.batch, g.held.Model = nil, nil
	return nil
}
