package run

import (
	"testing"

	"molt/run/folder"
	"molt/run/models"
)

// TestModelKnowsItsSteps: a folder that a run exported says how many optimizer steps made its weights.
func TestModelKnowsItsSteps(t *testing.T) {
	c := microSFT(t)
	runSFT(t, c)
	m, err := models.Open(c.Ckpt.Path + "/" + folder.FinalDir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Steps != int64(c.Train.Steps) || m.Steps == 0 {
		t.Errorf("the model says %d steps; it took %d", m.Steps, c.Train.Steps)
	}
}
