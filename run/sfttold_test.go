package run

import (
	"path/filepath"
	"testing"

	"molt/metrics"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/problem"
	"molt/run/recipe"
)

// TestTokensOfStepsThatNobodyToldAbout: events come every few steps, and add up to the run all the same, stopped in between or not.
func TestTokensOfStepsThatNobodyToldAbout(t *testing.T) {
	c := microSFT(t)
	c.Train.Steps, c.Logger.Every, c.Eval.Dataset, c.Eval.Steps = 8, 3, c.Data.Dataset, 4
	ctx, view := interruptAt(t, "sft step 4/8")
	_, err := finetune.Run(ctx, c, recipe.Settings(c), view)
	wantProblem(t, err, problem.Interrupted, "")
	result := runSFT(t, c)
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var tokens int64
	var steps []int64
	for _, e := range metrics.Of[metrics.SFTStep](records) {
		steps, tokens = append(steps, e.Step), tokens+e.Tokens
	}
	if len(steps) != 4 || tokens != result.Trained || tokens == 0 {
		t.Errorf("events of steps %d tell of %d tokens; the run had %d", steps, tokens, result.Trained)
	}
}
