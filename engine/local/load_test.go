package local_test

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/weights"
)

func TestShapeNamesWhatItCannotRun(t *testing.T) {
	c := weights.ModelConfig{Architecture: weights.Llama, HiddenSize: 24, IntermediateSize: 8, NumHiddenLayers: 1, NumAttentionHeads: 1,
		NumKeyValueHeads: 1, HeadDim: 8, VocabSize: 10, MaxPositionEmbeddings: 64, RMSNormEps: 1e-5, RopeTheta: 10000}
	if _, err := local.Shape(c); err == nil || !strings.Contains(err.Error(), "Dim is 24") {
		t.Errorf("error %v; want one that names Dim", err)
	}
}

// Reading converts tensor by tensor out of the mapped files: all that it allocates, garbage too, is the model in float32 and a
// tenth of it.
func TestReadingAllocatesTheModelOnly(t *testing.T) {
	shape := model.Config{Vocab: 8192, Dim: 512, Layers: 2, Heads: 8, KVHeads: 4, HeadDim: 64, FFN: 1536, MaxPositions: 64, NormEps: 1e-5,
		RopeTheta: 10000, Tied: true}
	config := weights.ModelConfig{Architecture: weights.Llama, HiddenSize: 512, IntermediateSize: 1536, NumHiddenLayers: 2, NumAttentionHeads: 8,
		NumKeyValueHeads: 4, HeadDim: 64, VocabSize: 8192, MaxPositionEmbeddings: 64, RMSNormEps: 1e-5, RopeTheta: 10000, TieWordEmbeddings: true}
	out := weights.Model{Config: config}
	for _, x := range fresh(t, shape).Tensors {
		out.Tensors = append(out.Tensors, weights.Tensor(x))
	}
	dir := filepath.Join(t.TempDir(), "model")
	if _, err := weights.WriteFolder(dir, out); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	folder, err := weights.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, _, err := local.Read(folder); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	size := uint64(4 * shape.ParamCount())
	if got := after.TotalAlloc - before.TotalAlloc; got > size+size/10 {
		t.Errorf("reading a model of %d bytes allocated %d", size, got)
	}
}

// transformers rotates all positions of a sequence otherwise once it is longer than the original length.
func TestLongRopeEndsAtTheOriginalLength(t *testing.T) {
	c := weights.ModelConfig{Architecture: weights.Phi3, HiddenSize: 16, IntermediateSize: 8, NumHiddenLayers: 1, NumAttentionHeads: 1,
		NumKeyValueHeads: 1, HeadDim: 8, VocabSize: 10, MaxPositionEmbeddings: 640, RMSNormEps: 1e-5, RopeTheta: 10000,
		RopeScaling: weights.RopeScaling{Type: "longrope", Factor: 10, Original: 64, Short: []float64{1, 1, 1, 1}, Long: []float64{2, 2, 2, 2}}}
	shape, err := local.Shape(c)
	if err != nil || shape.MaxPositions != 64 {
		t.Errorf("%d positions (%v), want 64", shape.MaxPositions, err)
	}
	c.RopeScaling.Type = "yarn"
	c.RopeScaling.BetaFast, c.RopeScaling.BetaSlow = 32, 1
	if shape, err = local.Shape(c); err != nil || shape.MaxPositions != 640 {
		t.Errorf("yarn: %d positions (%v), want 640", shape.MaxPositions, err)
	}
}

func TestWeightsMustFit(t *testing.T) {
	shape := shapes["qwen"]
	for want, spoil := range map[string]func(*engine.Weights){
		`tensor "model.norm.weight" is missing`:  func(w *engine.Weights) { w.Tensors[len(w.Tensors)-1].Name = "else" },
		`tensor "else" is not part of the model`: func(w *engine.Weights) { w.Tensors[len(w.Tensors)-1].Name = "else" },
		`comes twice`:                            func(w *engine.Weights) { w.Tensors = append(w.Tensors, w.Tensors[0]) },
		`has shape [1 1]`:                        func(w *engine.Weights) { w.Tensors[3].Shape = []int{1, 1} },
		`has NaN at 2`:                           func(w *engine.Weights) { w.Tensors[3].Data[2] = float32(math.NaN()) },
	} {
		w := fresh(t, shape)
		spoil(&w)
		w.Fingerprint = local.Fingerprint(w)
		if _, err := local.NewLearner(shape, w, local.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a learner: error %v; want %q", err, want)
		}
		if _, err := local.NewGenerator(shape, w, local.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a generator: error %v; want %q", err, want)
		}
	}
}

// TestRealModel reads a trained Llama of 260,000 parameters that tells stories, and lets it tell one: a model that is
// computed wrongly does not find its own greedy continuation as likely as this.
func TestRealModel(t *testing.T) {
	folder, err := weights.ReadFolder("../../../shared/models/stories260K")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("shared/models/stories260K is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	shape, w, err := local.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	g, err := local.NewGenerator(shape, w, local.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	reply, err := g.Generate(t.Context(), engine.Request{Prompt: []int32{1}, Sampling: engine.Sampling{MaxTokens: 200}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, token := range reply.Tokens {
		sum += float64(token.Logp)
	}
	if mean := sum / float64(len(reply.Tokens)); mean < -0.7 || math.IsNaN(mean) {
		t.Errorf("mean log-prob %.3f of a greedy story", mean)
	}
}
