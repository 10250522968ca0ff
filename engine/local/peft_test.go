package local_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/weights"
)

var rewrite = flag.Bool("rewrite", false, "write what tests compare with anew")

const loraFolder = "testdata/lora" // made by scripts/goldens/lora

// loraBase is the model under the golden adapters.
func loraBase(t testing.TB) (model.Config, engine.Weights, []weights.Spec) {
	folder, err := weights.ReadFolder(filepath.Join(loraFolder, "base"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	shape, w, err := local.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return shape, w, folder.Config.Tensors()
}

// goldenAdapter is what PEFT makes of an adapter.
type goldenAdapter struct {
	Tokens    []int32              `json:"tokens"`
	Weights   []float32            `json:"weights"`
	Without   []float64            `json:"without"`
	Logp      []float64            `json:"logp"`
	Gradients map[string][]float64 `json:"gradients"`
}

func readGolden(t testing.TB, name string) (g goldenAdapter) {
	data, err := os.ReadFile(filepath.Join(loraFolder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAdaptersComputeAsInPEFT compares log-probs and gradients with PEFT's in float64, for an adapter that it wrote and for
// one that we wrote and it has read.
func TestAdaptersComputeAsInPEFT(t *testing.T) {
	shape, base, tensors := loraBase(t)
	for _, name := range []string{"theirs", "ours"} {
		golden := readGolden(t, name)
		a, err := weights.ReadAdapter(filepath.Join(loraFolder, name), tensors)
		if err != nil {
			t.Fatal(err)
		}
		w, err := local.Adapt(base, a)
		if err != nil {
			t.Fatal(err)
		}
		config := local.Default()
		config.Threads = 1
		config.LoRA = local.LoRA{Rank: a.Rank, Alpha: a.Alpha, RSLoRA: a.RSLoRA, Targets: a.Adapted()}
		l, err := local.NewLearner(shape, w, config)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		near(t, name+": log-probs without the adapter", logps(t, shape, base, golden.Tokens), golden.Without)
		near(t, name+": log-probs of one model", logps(t, shape, local.Merge(w), golden.Tokens), golden.Logp)

		pass, err := l.Forward(t.Context(), whole(golden.Tokens), engine.Want{Grad: true})
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+": log-probs", slices.Clone(pass.Logp()), golden.Logp)
		if err := pass.Backward(t.Context(), golden.Weights, nil, nil); err != nil {
			t.Fatal(err)
		}
		if len(golden.Gradients) != len(a.Tensors) {
			t.Errorf("%s: %d gradients in the golden file; the adapter has %d factors", name, len(golden.Gradients), len(a.Tensors))
		}
		for tensor, want := range golden.Gradients {
			got := make([]float32, len(want))
			for i := range got {
				got[i] = float32(l.Gradient(tensor, i))
			}
			near(t, name+": gradient of "+tensor, got, want)
		}
	}
}

// near compares with a tolerance of 1e-5 of the largest number.
func near(t testing.TB, what string, got []float32, want []float64) {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= 1e-5*largest) {
			t.Errorf("%s: number %d is %v; PEFT has %v", what, i, got[i], want[i])
			return
		}
	}
}

func whole(tokens []int32) engine.Batch {
	b := engine.Batch{Tokens: tokens, Starts: []int32{0, int32(len(tokens))}}
	for i := 1; i < len(tokens); i++ {
		b.Score = append(b.Score, int32(i))
	}
	return b
}

func logps(t testing.TB, shape model.Config, w engine.Weights, tokens []int32) []float32 {
	s, err := local.NewScorer(shape, w, local.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pass, err := s.Forward(t.Context(), whole(tokens), engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(pass.Logp())
}

// TestAdapterForPEFT writes a trained adapter. The folder that PEFT has read (see TestAdaptersComputeAsInPEFT) must come out
// byte for byte.
func TestAdapterForPEFT(t *testing.T) {
	shape, base, tensors := loraBase(t)
	config := local.Default()
	config.Threads = 1
	config.LoRA = local.LoRA{Rank: 4, Alpha: 3, RSLoRA: true, Targets: []string{"v_proj", "up_proj", "layers.1.self_attn.o_proj"}, Seed: 5}
	l, err := local.NewLearner(shape, base, config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 5 {
		pass, err := l.Forward(t.Context(), whole([]int32{1, 2, 3, 4, 5, 6, 7, 8}), engine.Want{Grad: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := pass.Backward(t.Context(), slices.Repeat([]float32{-1}, 7), nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Step(t.Context(), engine.StepOptions{LR: 0.05, Clip: 1}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := l.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join(loraFolder, "ours")
	if *rewrite {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if _, err := weights.WriteAdapter(golden, local.PEFT(w), tensors); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "adapter")
	if _, err := weights.WriteAdapter(dir, local.PEFT(w), tensors); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"adapter_config.json", "adapter_model.safetensors", "molt-adapter.json", "molt-manifest.json"} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(filepath.Join(golden, file)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the one that PEFT has read (%v)", file, err)
		}
	}
	a, err := weights.ReadAdapter(dir, tensors)
	if err != nil {
		t.Fatal(err)
	}
	if a.Base != base.Fingerprint || a.Step != 5 {
		t.Errorf("base %q, step %d; want %q, 5", a.Base, a.Step, base.Fingerprint)
	}
	if back, err := local.Adapt(base, a); err != nil || back.Fingerprint != w.Fingerprint {
		t.Errorf("fingerprint %q came back as %q, %v", w.Fingerprint, back.Fingerprint, err)
	}
	base.Tensors[0].Data[0]++
	base.Fingerprint = local.Fingerprint(base)
	if _, err := local.Adapt(base, a); err == nil || !strings.Contains(err.Error(), "was trained on weights with fingerprint") {
		t.Errorf("on another base: error %v", err)
	}
}
