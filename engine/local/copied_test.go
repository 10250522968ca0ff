package local_test

import (
	"slices"
	"testing"

	"molt/engine/local"
)

// TestCopied: from the call of Copied on, an engine computes from memory of its own, adapter or not.
func TestCopied(t *testing.T) {
	w, err := local.Init(shapes["qwen"], 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, rank := range []int{0, 2} {
		var prints []string
		for _, release := range []bool{false, true} {
			given, calls := w, 0
			given.Tensors = slices.Clone(w.Tensors)
			l := loraLearner(t, given, func(c *local.Config) {
				c.LoRA.Rank = rank
				c.Copied = func() {
					calls++
					for i := range given.Tensors {
						if release {
							given.Tensors[i].Data = nil
						}
					}
				}
			})
			teach(t, l)
			prints = append(prints, weightsOf(t, l).Fingerprint)
			if calls != 1 {
				t.Errorf("rank %d: called %d times", rank, calls)
			}
		}
		if prints[0] != prints[1] || prints[0] == w.Fingerprint {
			t.Errorf("rank %d: fingerprints %v after a step from %s", rank, prints, w.Fingerprint)
		}
	}
}
