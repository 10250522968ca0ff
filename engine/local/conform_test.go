package local_test

import (
	"context"
	"fmt"
	"testing"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/engine/local"
	"molt/numeric/model"
)

// shapes are small models that differ in what the shape can differ in.
var shapes = map[string]model.Config{
	"qwen": {Vocab: 97, Dim: 32, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 48, MaxPositions: 384,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true},
	"llama": {Vocab: 700, Dim: 48, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 8, FFN: 40, MaxPositions: 300,
		NormEps: 1e-5, RopeTheta: 10000, QKVBias: true, OBias: true, ValueHead: true},
}

func TestConforms(t *testing.T) {
	for name, shape := range shapes {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(t *testing.T) {
				config := local.Default()
				config.Threads = threads
				config.Running, config.StepTokens = 16, 64
				config.Adam.Decay = 0.01
				enginetest.Run(t, func(t testing.TB) enginetest.Subject { return subject(t, shape, config) })
			})
		}
	}
}

func subject(t testing.TB, shape model.Config, config local.Config) enginetest.Subject {
	w := fresh(t, shape)
	g, err := local.NewGenerator(shape, w, config)
	if err != nil {
		t.Fatal(err)
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

func fresh(t testing.TB, shape model.Config) engine.Weights {
	w, err := local.Init(shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
