// The Learner beside the scripted engine: it trains the toy model by plain gradient descent.

package enginetest

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"molt/engine"
)

// Toy implements engine.Learner. Like any Learner it is driven by one goroutine; only Lose may be called beside it.
type Toy struct {
	weights             toy
	dTable, dValue      []float64
	living              *toyPass
	lost                atomic.Bool
	maxTokens, maxBatch int
}

// NewToy makes a learner with a value head, at the weights that a Script of the same vocabulary and seed serves.
func NewToy(config ScriptConfig) *Toy {
	config = config.withDefaults()
	t := &Toy{weights: newToy(config.Vocab, config.Seed), maxTokens: config.MaxTokens, maxBatch: 2 * config.MaxTokens}
	t.dTable, t.dValue = make([]float64, len(t.weights.table)), make([]float64, len(t.weights.value))
	return t
}

// Lose kills the learner, as when a rank of a distributed one dies: every pending and later call returns ErrLost.
func (l *Toy) Lose() { l.lost.Store(true) }

func (l *Toy) ready(doing string) error {
	switch {
	case l.lost.Load():
		return fmt.Errorf("enginetest: %s: a rank died: %w", doing, engine.ErrLost)
	case l.living != nil:
		return fmt.Errorf("enginetest: %s: a pass is alive; end it with Backward or Release", doing)
	}
	return nil
}

func (l *Toy) Capabilities() engine.LearnerCapabilities {
	return engine.LearnerCapabilities{Name: "toy", Numerics: "toy", Value: true, Vocab: l.weights.vocab, MaxTokens: l.maxTokens, MaxBatch: l.maxBatch}
}

func (l *Toy) Close() error { return nil }

func (l *Toy) Forward(_ context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	if err := l.ready("forward"); err != nil {
		return nil, err
	}
	if err := b.Validate(l.weights.vocab, l.maxTokens); err != nil {
		return nil, err
	}
	if len(b.Tokens) > l.maxBatch {
		return nil, fmt.Errorf("enginetest: forward of %d tokens, more than %d: %w", len(b.Tokens), l.maxBatch, engine.ErrTooLong)
	}
	p := &toyPass{learner: l, want: want}
	for i, t := range b.Score {
		p.score(b.Tokens[t-1], b.Tokens[t], temperatureOf(b, i))
	}
	l.living = p
	return p, nil
}

func temperatureOf(b engine.Batch, i int) float32 {
	if b.Temperature == nil {
		return 1
	}
	return b.Temperature[i]
}

// Step descends: w -= lr · clipped gradient.
func (l *Toy) Step(_ context.Context, o engine.StepOptions) (engine.StepResult, error) {
	if err := l.ready("step"); err != nil {
		return engine.StepResult{}, err
	}
	if o.Head != nil {
		return engine.StepResult{}, errors.New("enginetest: step: the value head has no optimizer of its own")
	}
	var squares float64
	for _, g := range [][]float64{l.dTable, l.dValue} {
		for _, d := range g {
			squares += d * d
		}
	}
	result := engine.StepResult{Version: l.weights.version, GradNorm: math.Sqrt(squares)}
	result.Skipped = math.IsNaN(squares) || math.IsInf(squares, 0)
	if !result.Skipped {
		rate := o.LR
		if o.Clip > 0 && result.GradNorm > o.Clip {
			rate *= o.Clip / result.GradNorm
		}
		descend(l.weights.table, l.dTable, rate)
		descend(l.weights.value, l.dValue, rate)
		l.weights.parent = l.weights.version
		l.weights.version++
		l.weights.fingerprint = Fingerprint(engine.Weights{Tensors: l.weights.tensors()})
		result.Version = l.weights.version
	}
	clear(l.dTable)
	clear(l.dValue)
	return result, nil
}

func descend(w []float32, g []float64, rate float64) {
	for i := range w {
		if d := rate * g[i]; d != 0 {
			w[i] -= float32(d)
		}
	}
}

func (l *Toy) Weights(context.Context) (engine.Weights, error) {
	if l.lost.Load() {
		return engine.Weights{}, l.ready("reading the weights")
	}
	w := l.weights
	return engine.Weights{Version: w.version, Parent: w.parent, Fingerprint: w.fingerprint, Tensors: w.tensors()}, nil
}

const toyFile = "toy.gob"

// toySaved is a checkpoint of a Toy.
type toySaved struct {
	Weights engine.Weights
	State   []byte
}

func (l *Toy) Save(ctx context.Context, dir string, state []byte) error {
	if err := l.ready("save"); err != nil {
		return err
	}
	w, err := l.Weights(ctx)
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	if err := errors.Join(gob.NewEncoder(&buffer).Encode(toySaved{w, state}), os.MkdirAll(dir, 0o755)); err != nil {
		return fmt.Errorf("enginetest: saving the toy: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, toyFile), buffer.Bytes(), 0o644)
}

func (l *Toy) Load(_ context.Context, dir string) ([]byte, error) {
	if err := l.ready("load"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, toyFile))
	if err != nil {
		return nil, fmt.Errorf("enginetest: loading the toy: %w", err)
	}
	var saved toySaved
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&saved); err != nil {
		return nil, fmt.Errorf("enginetest: loading the toy: %w", err)
	}
	loaded, err := toyFrom(saved.Weights, l.weights.vocab)
	if err != nil {
		return nil, fmt.Errorf("enginetest: loading the toy: %w", err)
	}
	l.weights = loaded
	clear(l.dTable)
	clear(l.dValue)
	return saved.State, nil
}

// Gradient and SetWeight implement Probe.
func (l *Toy) Gradient(tensor string, index int) float64 {
	if tensor == tableName {
		return l.dTable[index]
	}
	return l.dValue[index]
}

func (l *Toy) SetWeight(tensor string, index int, value float32) {
	if tensor == tableName {
		l.weights.table[index] = value
	} else {
		l.weights.value[index] = value
	}
}

// toyPass remembers what each scored token needs for its backward.
type toyPass struct {
	learner              *Toy
	want                 engine.Want
	scored               []scored
	logp, entropy, value []float32
}

type scored struct {
	previous, id int32
	temperature  float32
	logp         []float32 // [V] of every id
}

func (p *toyPass) score(previous, id int32, temperature float32) {
	w := p.learner.weights
	s := scored{previous, id, temperature, logProbs(w.logits(previous), temperature)}
	p.scored = append(p.scored, s)
	p.logp = append(p.logp, s.logp[id])
	if p.want.Entropy {
		p.entropy = append(p.entropy, float32(entropy(s.logp)))
	}
	if p.want.Value {
		p.value = append(p.value, w.value[previous])
	}
}

func entropy(logp []float32) float64 {
	var h float64
	for _, l := range logp {
		h -= math.Exp(float64(l)) * float64(l)
	}
	return h
}

func (p *toyPass) Logp() []float32    { return p.logp }
func (p *toyPass) Entropy() []float32 { return p.entropy }
func (p *toyPass) Value() []float32   { return p.value }

func (p *toyPass) Release() {
	if p.learner.living == p {
		p.learner.living = nil
	}
}

func (p *toyPass) Backward(_ context.Context, dLogp, dEntropy, dValue []float32) error {
	l := p.learner
	switch n := len(p.scored); {
	case l.lost.Load():
		return fmt.Errorf("enginetest: backward: a rank died: %w", engine.ErrLost)
	case l.living != p:
		return errors.New("enginetest: backward: the pass has ended")
	case !p.want.Grad:
		return errors.New("enginetest: backward: the pass was not asked for gradients")
	case len(dLogp) != n, dEntropy != nil && len(dEntropy) != len(p.entropy), dValue != nil && len(dValue) != len(p.value):
		return fmt.Errorf("enginetest: backward: %d, %d and %d derivatives for %d log-probs, %d entropies and %d values",
			len(dLogp), len(dEntropy), len(dValue), n, len(p.entropy), len(p.value))
	}
	l.living = nil
	for i, s := range p.scored {
		s.backwardLogp(l, float64(dLogp[i]))
		if dEntropy != nil {
			s.backwardEntropy(l, float64(dEntropy[i]))
		}
		if dValue != nil {
			l.dValue[s.previous] += float64(dValue[i])
		}
	}
	return nil
}

// backwardLogp: d logp[id] / d logit[j] = ([j = id] - p[j]) / temperature.
func (s scored) backwardLogp(l *Toy, d float64) {
	row := l.dTable[int(s.previous)*l.weights.vocab:]
	for j, logp := range s.logp {
		row[j] -= d * math.Exp(float64(logp)) / float64(s.temperature)
	}
	row[s.id] += d / float64(s.temperature)
}

// backwardEntropy: d H / d logit[j] = -p[j] (logp[j] + H) / temperature.
func (s scored) backwardEntropy(l *Toy, d float64) {
	row := l.dTable[int(s.previous)*l.weights.vocab:]
	h := entropy(s.logp)
	for j, logp := range s.logp {
		row[j] -= d * math.Exp(float64(logp)) * (float64(logp) + h) / float64(s.temperature)
	}
}
