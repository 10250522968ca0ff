// The scripted engine: a Generator and WeightSink that needs no model, for the tests of whoever calls one. It samples
// from a toy model or says what the script tells it to, and breaks where it is told to.

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"molt/engine"
	"molt/traj"
)

// ScriptConfig says what a Script plays. The zero value is a working toy.
type ScriptConfig struct {
	Vocab     int           // 0 means 32
	MaxTokens int           // longest prompt plus reply; 0 means 4096
	Seed      uint64        // of the toy's weights
	TokenTime time.Duration // how long sampling a token takes; 0 takes no time
	TextOnly  bool          // reads no images; otherwise they change nothing

	// Reply gives the ids of a reply, the last of which ends it with FinishStop. Budgets and stops of the request still
	// cut it, and an id that its constraint does not allow is an error. nil, as a result too, samples from the toy.
	// Log-probs are the toy's in any case.
	Reply func(engine.Request) []int32
}

func (c ScriptConfig) withDefaults() ScriptConfig {
	if c.Vocab == 0 {
		c.Vocab = 32
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 4096
	}
	return c
}

// Turns makes a ScriptConfig.Reply: the reply to turn i of the requests with a tag. Other requests sample from the toy.
func Turns(replies map[string][][]int32) func(engine.Request) []int32 {
	return func(r engine.Request) []int32 {
		if turns := replies[r.Tag]; int(r.Key.Turn) < len(turns) {
			return turns[r.Key.Turn]
		}
		return nil
	}
}

// Script implements engine.Generator and engine.WeightSink. It starts no goroutine.
type Script struct {
	config  ScriptConfig
	closed  chan struct{} // closed by Close
	running sync.WaitGroup

	mu       sync.RWMutex // guards what follows; held for reading while a token is sampled
	serving  toy
	cached   map[string][]int32 // by session: ids whose KV the serving weights computed
	faults   []Fault
	requests []engine.Request
	isClosed bool
}

// NewScript makes a scripted engine. It serves the weights of a Toy made from the same vocabulary and seed.
func NewScript(config ScriptConfig) *Script {
	config = config.withDefaults()
	return &Script{
		config:  config,
		closed:  make(chan struct{}),
		serving: newToy(config.Vocab, config.Seed),
		cached:  map[string][]int32{},
	}
}

func (s *Script) Capabilities() engine.Capabilities {
	return engine.Capabilities{Name: "script", Numerics: "toy", Deterministic: true, Versions: true, Vocab: s.config.Vocab, MaxTokens: s.config.MaxTokens, Constrained: true, Shapes: true, Top: 20, Images: !s.config.TextOnly}
}

// Requests lists every request that was accepted, in order of arrival.
func (s *Script) Requests() []engine.Request {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.requests)
}

// Publish implements engine.WeightSink for weights of the toy's shape.
func (s *Script) Publish(_ context.Context, w engine.Weights) error {
	next, err := toyFrom(w, s.config.Vocab)
	if err != nil {
		return fmt.Errorf("enginetest: publishing version %d: %w", w.Version, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve(next)
	return nil
}

// serve switches the weights; KV of the old ones is gone. The caller holds mu.
func (s *Script) serve(next toy) {
	s.serving = next
	clear(s.cached)
}

func (s *Script) Serving() (traj.Version, string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.serving.version, s.serving.fingerprint
}

// Close ends running requests and waits for them.
func (s *Script) Close() error {
	s.mu.Lock()
	if !s.isClosed {
		s.isClosed = true
		close(s.closed)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

var errClosed = errors.New("enginetest: the script is closed")

// Generate implements engine.Generator.
func (s *Script) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	if err := r.Validate(s.Capabilities()); err != nil {
		return engine.Reply{}, err
	}
	p, err := s.begin(r)
	if err != nil {
		return engine.Reply{}, err
	}
	defer s.running.Done()
	for p.reply.Finish == "" {
		if err := p.next(ctx, emit); err != nil {
			return engine.Reply{}, fmt.Errorf("enginetest: request %q: %w", r.Tag, err)
		}
	}
	return p.reply, nil
}

// begin admits a request: it is recorded, takes the fault meant for it, and finds its cached prefix.
func (s *Script) begin(r engine.Request) (*playing, error) {
	p := &playing{script: s, request: r, temperature: r.Sampling.Temperature}
	if p.temperature == 0 {
		p.temperature = 1
	}
	if s.config.Reply != nil {
		p.lines = s.config.Reply(r)
	}
	for _, id := range p.lines {
		if id < 0 || int(id) >= s.config.Vocab {
			return nil, fmt.Errorf("enginetest: the script replies to %q with id %d, outside the vocabulary of %d", r.Tag, id, s.config.Vocab)
		}
	}
	p.ids = slices.Clone(r.Prompt)
	if r.Constrain != nil {
		p.constraint, p.mask = r.Constrain(), make([]uint64, engine.MaskWords(s.config.Vocab))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, errClosed
	}
	s.running.Add(1)
	r.Prompt = slices.Clone(r.Prompt)
	s.requests = append(s.requests, r)
	p.fault = s.takeFault(r)
	if r.Session != "" {
		p.reply.Cached = min(commonPrefix(s.cached[r.Session], r.Prompt), len(r.Prompt)-1)
	}
	return p, nil
}

func commonPrefix(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
