package finetune

import (
	"slices"
	"testing"

	"molt/run/recipe"
)

func TestLearnedIsWhatTheAssistantSays(t *testing.T) {
	cfg := recipe.SFTDefaults()
	p := &plan{cfg: &cfg}
	action := []bool{false, true, true, false, true, true, false}
	if got := p.learned(action); !slices.Equal(got, action) {
		t.Errorf("all turns: %v", got)
	}
	cfg.Data.LastTurn = true
	if got := p.learned(action); !slices.Equal(got, []bool{false, false, false, false, true, true, false}) {
		t.Errorf("the last turn: %v", got)
	}
	if got := p.learned([]bool{false, false}); slices.Contains(got, true) {
		t.Errorf("no turn: %v", got)
	}
}

// TestFewSteps: a handful of steps that nobody asked for is worth a note.
func TestFewSteps(t *testing.T) {
	cfg := recipe.SFTDefaults()
	p := &plan{cfg: &cfg, steps: 9}
	if len(p.notes()) != 1 {
		t.Error("9 steps of its own: no note")
	}
	p.steps = 10
	if len(p.notes()) != 0 {
		t.Errorf("10 steps: %q", p.notes())
	}
	p.steps, cfg.Train.Steps = 1, 1
	if len(p.notes()) != 0 {
		t.Errorf("one step that was asked for: %q", p.notes())
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	cfg := recipe.SFTDefaults()
	cfg.Data.InputKey, cfg.Data.Probs, cfg.Eval.Steps = "", []float64{1}, 3
	err := (&plan{cfg: &cfg}).settings()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("got %v; want the dataset, the key, the weights and the evaluation refused at once", err)
	}
}
