package run

import (
	"path/filepath"
	"slices"
	"testing"

	"molt/engine/local"
	"molt/numeric/optim"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/recipe"
	"molt/weights"

	"github.com/google/go-cmp/cmp"
)

// TestOptimizerSettings: every setting reaches the engine, and Muon's learning rate is the one that the schedule moves.
func TestOptimizerSettings(t *testing.T) {
	c := recipe.OptimConfig{
		Optim:  "muon",
		Adam:   recipe.AdamConfig{LR: 0.01, Betas: []float64{0.8, 0.9}, Eps: 1e-7, WeightDecay: 0.3, BF16: true},
		Muon:   recipe.MuonConfig{LR: 0.04, Momentum: 0.7, WeightDecay: -1, NSSteps: 5, Nesterov: true},
		Freeze: []string{"a.*", "b"}, LRScale: []string{"c=0.5", "d = 2"},
		Scheduler: "wsd", WarmupSteps: 3, DecayRatio: 0.25, MinLRRatio: 0.125, MaxNorm: 1,
	}
	want := optim.Config{
		Name: "muon", Adam: optim.Adam{Beta1: 0.8, Beta2: 0.9, Eps: 1e-7, Decay: 0.3, BF16: true},
		Muon:   optim.Muon{Momentum: 0.7, Nesterov: true, Decay: 0.3, AdamShare: 0.25},
		Freeze: []string{"a.*", "b"}, Rates: []optim.Rate{{Pattern: "c", Scale: 0.5}, {Pattern: "d", Scale: 2}},
	}
	if diff := cmp.Diff(want, leg.Optimizer(c)); diff != "" {
		t.Error(diff)
	}
	schedule := local.Schedule{Kind: "wsd", LR: 0.04, Warmup: 3, Steps: 20, MinRatio: 0.125, Decay: 0.25}
	if diff := cmp.Diff(schedule, leg.Schedule(c, 20)); diff != "" {
		t.Error(diff)
	}
	c.Optim, c.Muon.WeightDecay = "adam", 0.1
	if o, s := leg.Optimizer(c), leg.Schedule(c, 20); o.Name != "adam" || o.Muon.Decay != 0.1 || s.LR != 0.01 {
		t.Errorf("with adam: %+v, %+v", o, s)
	}
}

// TestSFTWithMuon fine-tunes around a frozen embedding.
func TestSFTWithMuon(t *testing.T) {
	c := microSFT(t)
	c.Model.Optim, c.Model.Freeze = "muon", []string{"model.embed_tokens.*"}
	runSFT(t, c)
	before, after := tensorsOf(t, c.Model.Path), tensorsOf(t, filepath.Join(c.Ckpt.Path, folder.FinalDir))
	for name := range before {
		if frozen := name == "model.embed_tokens.weight"; slices.Equal(before[name], after[name]) != frozen {
			t.Errorf("%s: frozen is %v, changed is %v", name, frozen, !frozen)
		}
	}
}

func tensorsOf(t *testing.T, dir string) map[string][]float32 {
	t.Helper()
	f, err := weights.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]float32{}
	for tensor, err := range f.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		all[tensor.Name] = slices.Clone(tensor.Data)
	}
	return all
}
