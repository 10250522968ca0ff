package train

import "molt/algo"

// Config is how a batch becomes optimizer steps.
type Config struct {
	algo.Config
	BatchSize   int                      // rollouts for each optimizer step; 0: all of the batch
	MaxEpochs   int                      // times each batch is trained on; at least 1
	MicroTokens int                      // tokens in one forward pass; a longer sample has a pass of its own
	MaxNorm     float64                  // largest global gradient norm; 0 does not clip
	LR          func(step int64) float64 // the schedule, by optimizer steps taken before
	Shuffle     func(reward []float64)   // control experiment: deals the batch's rewards out anew; nil leaves them
	Exact       bool                     // the generator's log-probs are the learner's, bit for bit; checked on every batch
}
