package local_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/engine/local"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/numeric/optim"
)

// shapes are small models that differ in what the shape can differ in.
var shapes = map[string]model.Config{
	"qwen": {Vocab: 97, Dim: 32, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 48, MaxPositions: 384,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true},
	"llama": {Vocab: 700, Dim: 48, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 8, FFN: 40, MaxPositions: 300,
		NormEps: 1e-5, RopeTheta: 10000, QKVBias: true, OBias: true, ValueHead: true},
}

// optimizers are configurations that differ in what can step parameters.
var optimizers = map[string]func(*optim.Config){
	"adam": func(c *optim.Config) { c.Adam.Decay = 0.01 },
	"muon": func(c *optim.Config) { c.Name, c.Muon.AdamShare, c.Muon.Decay = "muon", 0.5, 0.01 },
}

func TestConforms(t *testing.T) {
	for name, shape := range shapes {
		for optimizer, set := range optimizers {
			for _, threads := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/threads=%d", name, optimizer, threads), func(t *testing.T) {
					config := local.Default()
					config.Threads = threads
					config.Running, config.StepTokens = 16, 64
					set(&config.Optimizer)
					enginetest.Run(t, func(t testing.TB) enginetest.Subject { return subject(t, shape, config) })
				})
			}
		}
	}
}

// TestPathsChangeNoBit trains, publishes and samples on every kernel path of this machine: a run may move to another.
func TestPathsChangeNoBit(t *testing.T) {
	for name, shape := range shapes {
		for optimizer, set := range optimizers {
			config := local.Default()
			config.Threads = 2
			set(&config.Optimizer)
			samePaths(t, name+", "+optimizer, shape, config)
		}
	}
	for name, kind := range kinds {
		config := local.Default()
		config.Threads = 2
		kind.set(&config)
		samePaths(t, name, kind.shape, config)
	}
}

func samePaths(t *testing.T, what string, shape model.Config, config local.Config) {
	var want []any
	for _, path := range kernel.Paths() {
		restore := kernel.SetPath(path)
		got := runOnce(t, shape, config)
		restore()
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: path %s differs from %s:\n%s", what, path, kernel.Paths()[0], diff)
		}
	}
}

// runOnce lists what a step, a publish and a few requests gave.
func runOnce(t *testing.T, shape model.Config, config local.Config) []any {
	s := subject(t, shape, config)
	defer s.Generator.Close()
	defer s.Learner.Close()
	b := engine.Batch{Tokens: promptOf(shape.Vocab, 90, 1), Starts: []int32{0, 30, 90}, Score: []int32{5, 20, 40, 80}}
	pass, err := s.Learner.Forward(t.Context(), b, engine.Want{Grad: true, Entropy: true})
	if err != nil {
		t.Fatal(err)
	}
	entropy := slices.Clone(pass.Entropy())
	if err := pass.Backward(t.Context(), []float32{1, -2, 0.5, 1}, []float32{0, 1, 0, -1}, nil); err != nil {
		t.Fatal(err)
	}
	o := engine.StepOptions{LR: 1e-2, Clip: 1}
	if s.Learner.Capabilities().OwnHead {
		o.Head = &engine.HeadStep{LR: 1e-2}
	}
	result, err := s.Learner.Step(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Learner.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sink.Publish(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	all := []any{entropy, result, w.Fingerprint}
	for i := range int32(4) {
		r := engine.Request{
			Prompt:   promptOf(shape.Vocab, 70, int(i)),
			Sampling: engine.Sampling{Temperature: 0.8, TopP: 0.9, MaxTokens: 30},
			Key:      engine.Key{Sample: i},
		}
		reply, err := s.Generator.Generate(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reply)
	}
	return all
}

// fused names its tensors as Phi-3 does, and departs from Llama in other ways too.
var fused = model.Config{Vocab: 97, Dim: 32, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 8, FFN: 32, MaxPositions: 320, NormEps: 1e-5,
	RopeTheta: 10000, Fused: true, GELU: true, Norms: model.Sandwich, LogitCap: 30}

// kinds are learners that differ in what they train.
var kinds = map[string]struct {
	shape model.Config
	set   func(*local.Config)
}{
	"adapter": {shapes["qwen"], func(c *local.Config) {
		c.LoRA = local.LoRA{Rank: 3, Alpha: 6, Targets: []string{"all-linear"}, Seed: 1}
	}},
	"adapter on fused": {fused, func(c *local.Config) {
		c.LoRA = local.LoRA{Rank: 4, Alpha: 8, Targets: []string{"qkv_proj", "gate_up_proj"}, Seed: 1}
	}},
	"adapter and head": {shapes["llama"], func(c *local.Config) {
		c.LoRA = local.LoRA{Rank: 20, Alpha: 4, RSLoRA: true, Targets: []string{"q_proj", "down_proj"}, Seed: 1}
		head := optim.Default()
		c.Head = &head
	}},
	"head": {shapes["llama"], func(c *local.Config) {
		head := optim.Default()
		c.Head = &head
	}},
}

func TestKindsConform(t *testing.T) {
	for name, kind := range kinds {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(t *testing.T) {
				config := local.Default()
				config.Threads, config.Running, config.StepTokens = threads, 16, 64
				kind.set(&config)
				enginetest.Run(t, func(t testing.TB) enginetest.Subject { return subject(t, kind.shape, config) })
			})
		}
	}
}

// subject makes engines that serve and train the same weights. An adapter does not begin with zeros here, which would keep
// half of its gradients zero.
func subject(t testing.TB, shape model.Config, config local.Config) enginetest.Subject {
	served := shape
	served.ValueHead = shape.ValueHead && config.Head == nil
	w := fresh(t, served)
	g, err := local.NewGenerator(served, w, config)
	if err != nil {
		t.Fatal(err)
	}
	if config.LoRA.Rank > 0 {
		w = begun(t, served, w, config)
		if err := g.Publish(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	l, err := local.NewLearner(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.Subject{Generator: g, Sink: g, Learner: probed{l}, Probe: l, Fingerprint: local.Fingerprint}
}

// probed uses weights that finite differences have moved.
type probed struct{ *local.Learner }

func (p probed) Forward(ctx context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	p.Refresh()
	return p.Learner.Forward(ctx, b, want)
}

// begun puts an adapter on w none of whose factors is zero.
func begun(t testing.TB, shape model.Config, w engine.Weights, config local.Config) engine.Weights {
	config.Head = nil
	l, err := local.NewLearner(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	with, err := l.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Adapter = &engine.Adapter{Base: w.Fingerprint, Rank: config.LoRA.Rank, Alpha: config.LoRA.Alpha, RSLoRA: config.LoRA.RSLoRA}
	for i, factor := range with.Adapter.Tensors {
		factor.Data = slices.Clone(factor.Data)
		for k := range factor.Data {
			factor.Data[k] = 0.02 * float32((7*k+3*i)%11-5)
		}
		w.Adapter.Tensors = append(w.Adapter.Tensors, factor)
	}
	w.Fingerprint = local.Fingerprint(w)
	return w
}

func fresh(t testing.TB, shape model.Config) engine.Weights {
	w, err := local.Init(shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
