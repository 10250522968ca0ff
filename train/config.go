package train

import "molt/algo"

// Config is how a batch becomes optimizer steps.
type Config struct {
	algo.Config
	BatchSize   int                      // rollouts for each optimizer step; 0: all of the batch
	MaxEpochs   int                      // times the policy is trained on each batch; at least 1
	MicroTokens int                      // tokens in one forward pass; a longer segment has a pass of its own
	MaxNorm     float64                  // largest global gradient norm; 0 does not clip
	LR          func(step int64) float64 // the schedule, by optimizer steps taken before
	Critic      CriticConfig             // read where there is a critic
	Shuffle     func(reward []float64)   // control experiment: deals the batch's rewards out anew; nil leaves them
	Exact       bool                     // the generator's log-probs are the learner's, bit for bit; checked on every batch
}

// CriticConfig is how a batch becomes optimizer steps of the critic, which has an optimizer of its own. Where it shares the
// policy's trunk it takes the policy's epochs instead, except while it learns alone; the norm is that of its head.
type CriticConfig struct {
	MaxEpochs int                      // times the critic is trained on each batch; at least 1
	MaxNorm   float64                  // largest global gradient norm; 0 does not clip
	LR        func(step int64) float64 // the schedule, by optimizer steps of the critic taken before
	Warmup    int64                    // batches from which the critic alone learns, before the policy begins to move
}
