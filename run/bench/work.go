// What the benchmarks run. scripts/bench/torch_peer.py runs the same.

package bench

import (
	"context"
	"fmt"
	"sync"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/kernel"
	"molt/numeric/model"
)

// workload is a piece of work, so large that one run takes a fair part of a second.
type workload struct {
	name   string
	amount float64 // of the unit in one run
	open   func(threads int) (step func(round int) error, closeStep func(), err error)
	peer   peerWork // the same for the peer

	figures func() map[string]float64 // what the last run computed, for the peer to agree with; nil where both draw at random
	within  float64                   // largest difference, as a share of a figure
}

// peerWork is a request to the peer, whose names for shapes are those of config.json.
type peerWork struct {
	Bench   string     `json:"bench"`
	M       int        `json:"m,omitzero"`
	N       int        `json:"n,omitzero"`
	K       int        `json:"k,omitzero"`
	Repeats int        `json:"repeats"`
	Shape   *peerShape `json:"shape,omitempty"`
	Prompts int        `json:"prompts,omitzero"` // distinct
	Samples int        `json:"samples,omitzero"` // of each prompt
	Prompt  int        `json:"prompt,omitzero"`  // tokens of a prompt
	Reply   int        `json:"reply,omitzero"`   // tokens of a reply

	Sequences int `json:"sequences,omitzero"`
	Length    int `json:"length,omitzero"` // tokens of a sequence
	Scored    int `json:"scored,omitzero"` // of these, at the end

	Rollouts int     `json:"rollouts,omitzero"`
	Low      float64 `json:"low,omitzero"` // of the band of the correction
	High     float64 `json:"high,omitzero"`
	Clip     float64 `json:"clip,omitzero"`
	Double   bool    `json:"double"` // compute in float64
}

type peerShape struct {
	Vocab   int     `json:"vocab_size"`
	Hidden  int     `json:"hidden_size"`
	FFN     int     `json:"intermediate_size"`
	Layers  int     `json:"num_hidden_layers"`
	Heads   int     `json:"num_attention_heads"`
	KVHeads int     `json:"num_key_value_heads"`
	HeadDim int     `json:"head_dim"`
	Eps     float32 `json:"rms_norm_eps"`
	Theta   float64 `json:"rope_theta"`
	QKNorm  bool    `json:"qk_norm"`
	Params  int     `json:"parameters"` // the peer refuses to run another model
}

// benchShape is a model to measure, with work that suits its size.
type benchShape struct {
	name                         string
	shape                        model.Config
	reply                        int // tokens of a sampled reply
	sequences, length, scored    int // of a training batch
	steps                        int // optimizer steps in one run
	prompts, samples, promptSize int
}

var benchShapes = []benchShape{
	{
		name: "quickstart",
		shape: model.Config{Vocab: 461, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
			NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true},
		prompts: 16, samples: 8, promptSize: 120, reply: 64, sequences: 8, length: 112, scored: 56, steps: 10,
	},
	{
		name: "28m",
		shape: model.Config{Vocab: 8192, Dim: 512, Layers: 8, Heads: 8, KVHeads: 4, HeadDim: 64, FFN: 1408, MaxPositions: 1024,
			NormEps: 1e-5, RopeTheta: 10000, Tied: true},
		prompts: 16, samples: 8, promptSize: 120, reply: 32, sequences: 4, length: 256, scored: 255, steps: 1,
	},
}

// workloads lists what a benchmark runs.
func workloads(c Config) []*workload {
	switch c.Name {
	case "gemm":
		return gemms()
	case "algo":
		return algorithms(c)
	}
	var list []*workload
	for _, s := range benchShapes {
		switch {
		case c.Shape != "" && c.Shape != s.name:
		case c.Name == "generate":
			list = append(list, s.generating())
		default:
			list = append(list, s.training())
		}
	}
	return list
}

// products are squares, and the products of the two shapes' layers with one row, a few, and many.
var products = []struct{ m, n, k int }{
	{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1, 1408, 512}, {8, 1408, 512}, {128, 1408, 512}, {1024, 1408, 512}, {128, 768, 128}, {896, 768, 128},
}

func gemms() []*workload {
	var list []*workload
	for _, p := range products {
		flop := 2 * float64(p.m) * float64(p.n) * float64(p.k)
		repeats := max(1, int(2e10/flop))
		list = append(list, &workload{
			name:   fmt.Sprintf("%d x %d x %d", p.m, p.n, p.k),
			amount: flop * float64(repeats) / 1e9,
			peer:   peerWork{Bench: "gemm", M: p.m, N: p.n, K: p.k, Repeats: repeats},
			open:   func(threads int) (func(int) error, func(), error) { return multiply(threads, repeats, p.m, p.n, p.k) },
		})
	}
	return list
}

// multiply is x·Wᵀ with W packed, as every layer does it.
func multiply(threads, repeats, m, n, k int) (func(int) error, func(), error) {
	a := kernel.NewArena(0)
	c, x, w := a.Zeros(m*n), a.Zeros(m*k), a.Zeros(kernel.PackedLen(k, n))
	for _, values := range [][]float32{x, w} {
		for i := range values {
			values[i] = float32(i%7) - 3
		}
	}
	pool := kernel.NewPool(threads)
	step := func(int) error {
		for range repeats {
			pool.Gemm(c, n, x, k, 1, kernel.Packed(w, k), m, n, k, false)
		}
		return nil
	}
	return step, func() { pool.Close(); a.Free() }, nil
}

func (s *benchShape) peer() *peerShape {
	c := s.shape
	return &peerShape{Vocab: c.Vocab, Hidden: c.Dim, FFN: c.FFN, Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		Eps: c.NormEps, Theta: c.RopeTheta, QKNorm: c.QKNorm, Params: c.ParamCount()}
}

// generating is what one batch of rollouts asks for: groups whose samples share a prompt.
func (s *benchShape) generating() *workload {
	rows := s.prompts * s.samples
	return &workload{
		name:   fmt.Sprintf("%s, %d replies of %d tokens", s.name, rows, s.reply),
		amount: float64(rows * s.reply),
		peer:   peerWork{Bench: "generate", Shape: s.peer(), Repeats: 1, Prompts: s.prompts, Samples: s.samples, Prompt: s.promptSize, Reply: s.reply},
		open:   s.openGenerator,
	}
}

func (s *benchShape) openGenerator(threads int) (func(int) error, func(), error) {
	w, err := local.Init(s.shape, 1)
	if err != nil {
		return nil, nil, err
	}
	c := local.Default()
	c.Threads, c.Running = threads, s.prompts*s.samples
	g, err := local.NewGenerator(s.shape, w, c)
	if err != nil {
		return nil, nil, err
	}
	step := func(round int) error {
		var wait sync.WaitGroup
		errs := make([]error, s.prompts*s.samples)
		for i := range errs {
			group := round*s.prompts + i/s.samples
			r := engine.Request{
				Prompt:   benchPrompt(s.shape.Vocab, s.promptSize, group),
				Sampling: engine.Sampling{Temperature: 1, MaxTokens: s.reply},
				Key:      engine.Key{Group: int64(group), Sample: int32(i % s.samples)},
			}
			wait.Go(func() { _, errs[i] = g.Generate(context.Background(), r, nil) })
		}
		wait.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
	return step, func() { _ = g.Close() }, nil // nothing is lost with a generator that fails to close
}

// training is whole optimizer steps: forward, backward, clip, AdamW.
func (s *benchShape) training() *workload {
	return &workload{
		name:   fmt.Sprintf("%s, %d x %d tokens a step", s.name, s.sequences, s.length),
		amount: float64(s.sequences * s.length * s.steps),
		peer:   peerWork{Bench: "train", Shape: s.peer(), Repeats: s.steps, Sequences: s.sequences, Length: s.length, Scored: s.scored},
		open:   s.openLearner,
	}
}

func (s *benchShape) openLearner(threads int) (func(int) error, func(), error) {
	w, err := local.Init(s.shape, 1)
	if err != nil {
		return nil, nil, err
	}
	c := local.Default()
	c.Threads, c.BatchTokens = threads, max(s.sequences*s.length, s.shape.MaxPositions)
	l, err := local.NewLearner(s.shape, w, c)
	if err != nil {
		return nil, nil, err
	}
	b := engine.Batch{Starts: []int32{0}}
	for i := range s.sequences {
		for t, id := range benchPrompt(s.shape.Vocab, s.length, i) {
			if t >= s.length-s.scored {
				b.Score = append(b.Score, int32(len(b.Tokens)))
			}
			b.Tokens = append(b.Tokens, id)
		}
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
	}
	d := make([]float32, len(b.Score))
	for i := range d {
		d[i] = -1 / float32(len(d))
	}
	step := func(int) error {
		for range s.steps {
			if err := trainOnce(context.Background(), l, b, d); err != nil {
				return err
			}
		}
		return nil
	}
	return step, func() { _ = l.Close() }, nil // nothing is lost with a learner that fails to close
}

func trainOnce(ctx context.Context, l *local.Learner, b engine.Batch, dLogp []float32) error {
	pass, err := l.Forward(ctx, b, engine.Want{Grad: true})
	if err != nil {
		return err
	}
	if err := pass.Backward(ctx, dLogp, nil, nil); err != nil {
		return err
	}
	_, err = l.Step(ctx, engine.StepOptions{LR: 1e-3, Clip: 1})
	return err
}

// benchPrompt makes ids that repeat with no short period; another salt gives another prompt.
func benchPrompt(vocab, n, salt int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32((i*i*7 + i*(31+salt) + salt*5 + 1) % vocab)
	}
	return p
}
