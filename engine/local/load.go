// Weights on their way in and out: Hugging Face folders, fresh weights, and what crosses the contracts, always by name
// and shape, every tensor exactly once.

package local

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"molt/engine"
	"molt/numeric/model"
	"molt/weights"
)

// Shape is the decoder that a Hugging Face configuration describes. Callers may lower MaxPositions to save memory.
func Shape(c weights.ModelConfig) (model.Config, error) {
	f := c.Family()
	shape := model.Config{
		Vocab:        c.VocabSize,
		Dim:          c.HiddenSize,
		Layers:       c.NumHiddenLayers,
		Heads:        c.NumAttentionHeads,
		KVHeads:      c.NumKeyValueHeads,
		HeadDim:      c.HeadDim,
		FFN:          c.IntermediateSize,
		MaxPositions: c.MaxPositionEmbeddings,
		NormEps:      float32(c.RMSNormEps),
		RopeTheta:    c.RopeTheta,
		Tied:         c.TieWordEmbeddings,
		QKNorm:       f.QKNorm,
		QKVBias:      c.AttentionBias || f.QKVBias,
		OBias:        c.AttentionBias,

		NormPlusOne:  f.NormPlusOne,
		QKNormWide:   f.QKNormWide,
		MLPBias:      c.MLPBias,
		GELU:         f.GELU,
		Fused:        f.Fused,
		LocalTheta:   c.RopeLocalBaseFreq,
		AttentionCap: float32(c.AttnLogitSoftcapping),
		LogitCap:     float32(c.FinalLogitSoftcapping),
	}
	if d := c.RotaryDim(); d != c.HeadDim {
		shape.Rotary = d
	}
	setScaling(&shape, c.RopeScaling)
	for _, l := range c.Layers() {
		shape.Kinds = append(shape.Kinds, model.Kind(l))
	}
	shape.Norms = norms(f)
	setFactors(&shape, c)
	if err := shape.Validate(); err != nil {
		return model.Config{}, fmt.Errorf("local: this %s cannot be run: %w", c.Architecture, err)
	}
	return shape, nil
}

func norms(f weights.Family) model.Norms {
	switch {
	case f.PostNorm:
		return model.PostNorm
	case f.Sandwich:
		return model.Sandwich
	}
	return model.PreNorm
}

// setScaling lowers the longest sequence of a longrope model to its original length: with a longer one, transformers changes
// the rotation of all its positions, which kept keys and earlier log-probs cannot follow.
func setScaling(shape *model.Config, s weights.RopeScaling) {
	shape.Scaling = model.Scaling{Type: s.Type, Factor: s.Factor, Original: s.Original, LowFreq: s.LowFreq, HighFreq: s.HighFreq,
		BetaFast: s.BetaFast, BetaSlow: s.BetaSlow, Exact: s.Exact, Short: s.Short, Attention: s.Attention}
	if s.Type == "longrope" {
		shape.MaxPositions = min(shape.MaxPositions, s.Original)
	}
}

// setFactors translates the factors; those that are 1 are left out, so that nothing multiplies by them.
func setFactors(shape *model.Config, c weights.ModelConfig) {
	factor := func(v float64) float32 {
		if v == 1 {
			return 0
		}
		return float32(v)
	}
	if c.Family().ScaledEmbed {
		shape.EmbedScale = factor(math.Sqrt(float64(c.HiddenSize)))
	} else {
		shape.EmbedScale = factor(c.EmbeddingMultiplier)
	}
	shape.ResidualScale = factor(c.ResidualMultiplier)
	if c.LogitsScaling != 0 {
		shape.LogitScale = factor(1 / c.LogitsScaling)
	}
	switch {
	case c.QueryPreAttnScalar != 0:
		shape.AttentionScale = float32(1 / math.Sqrt(c.QueryPreAttnScalar))
	case c.AttentionMultiplier != 0:
		shape.AttentionScale = float32(c.AttentionMultiplier)
	}
}

// Read reads a model from an open folder, as version 0.
func Read(f *weights.Folder) (model.Config, engine.Weights, error) {
	shape, err := Shape(f.Config)
	if err != nil {
		return model.Config{}, engine.Weights{}, err
	}
	var w engine.Weights
	tensors, fingerprint, err := f.Load()
	if err != nil {
		return model.Config{}, engine.Weights{}, err
	}
	for _, t := range tensors {
		w.Tensors = append(w.Tensors, engine.Tensor(t))
	}
	w.Fingerprint = fingerprint
	return shape, w, nil
}

// Init draws fresh weights from seed, as version 0.
func Init(shape model.Config, seed uint64) (engine.Weights, error) {
	m, err := model.New(shape)
	if err != nil {
		return engine.Weights{}, err
	}
	defer m.Free()
	m.Init(seed)
	w := engine.Weights{Tensors: tensors(m.Params())}
	for i := range w.Tensors {
		w.Tensors[i].Data = slices.Clone(w.Tensors[i].Data)
	}
	w.Fingerprint = fingerprint(w.Tensors)
	return w, nil
}

// checkWeights reports everything about w that keeps it from being the weights of a model with these parameters. Where the
// fingerprint is vouched for, it is not computed again.
func checkWeights(params []model.Param, w engine.Weights, vouched bool) error {
	given := map[string]engine.Tensor{}
	var errs []error
	for _, t := range w.Tensors {
		if _, twice := given[t.Name]; twice {
			errs = append(errs, fmt.Errorf("tensor %q comes twice", t.Name))
		}
		given[t.Name] = t
	}
	for _, p := range params {
		t, ok := given[p.Name]
		delete(given, p.Name)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("tensor %q is missing", p.Name))
		case !slices.Equal(t.Shape, p.Shape) || len(t.Data) != len(p.Data):
			errs = append(errs, fmt.Errorf("tensor %q has shape %v and %d numbers; the model wants %v", p.Name, t.Shape, len(t.Data), p.Shape))
		}
	}
	for _, t := range w.Tensors {
		if _, unknown := given[t.Name]; unknown {
			errs = append(errs, fmt.Errorf("tensor %q is not part of the model", t.Name))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if vouched {
		return finite(w.Tensors)
	}
	if f := fingerprint(w.Tensors); f != w.Fingerprint {
		return fmt.Errorf("the fingerprint says %q, the bytes %q", w.Fingerprint, f)
	}
	return finite(w.Tensors)
}

// finite reports the first number that is none.
func finite(tensors []engine.Tensor) error {
	for _, t := range tensors {
		for i, x := range t.Data {
			if x-x != 0 {
				return fmt.Errorf("tensor %q has %v at %d", t.Name, x, i)
			}
		}
	}
	return nil
}

// copyWeights copies checked weights into m, which must be refreshed before it is used.
func copyWeights(m *model.Model, w engine.Weights) {
	given := map[string][]float32{}
	for _, t := range w.Tensors {
		given[t.Name] = t.Data
	}
	for _, p := range m.Params() {
		copy(p.Data, given[p.Name])
	}
}

// tensors views parameters as what crosses the contracts. The data stays the model's.
func tensors(params []model.Param) []engine.Tensor {
	ts := make([]engine.Tensor, len(params))
	for i, p := range params {
		ts[i] = engine.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data}
	}
	return ts
}

func fingerprint(tensors []engine.Tensor) string {
	ts := make([]weights.Tensor, len(tensors))
	for i, t := range tensors {
		ts[i] = weights.Tensor(t)
	}
	return weights.Fingerprint(ts)
}
