// How the losses of tokens become one number, and what that number is divided by.

package algo

// StepSize counts what one optimizer step trains on, over all its micro-batches and ranks. Tokens and rollouts whose
// gradient is 0, such as those of flat groups, count too.
type StepSize struct {
	Tokens   int // action tokens
	Rollouts int // however many segments they have
}

// Denominator is what every loss of a step is divided by:
//
//	L = Σ a·ℓ / D
//
//	aggregation     a                              D
//	token_mean      1                              tokens                  DAPO, arXiv 2503.14476 §3.3
//	rollout_sum     1                              rollouts
//	rollout_mean    1 / tokens of the rollout      rollouts                GRPO, arXiv 2402.03300, eq. 3
//	constant        1                              rollouts · MaxTokens    Dr.GRPO, arXiv 2503.20783 §3.2
//
// Parts of a step are summed, never averaged, so how it was cut into micro-batches changes nothing.
func (c LossConfig) Denominator(s StepSize) float64 {
	return row(Aggregations, c.Aggregation).denominator(s, c)
}

// Shares writes a, each token's part in the loss, to share [N]: 1, or what rollout_mean gives it.
func Shares(share []float32, in Tokens, cfg LossConfig) {
	starts := in.segments(len(share))
	if in.RolloutTokens != nil {
		mustHave("RolloutTokens", len(in.RolloutTokens), len(starts)-1)
	}
	perRollout := row(Aggregations, cfg.Aggregation).PerRollout
	for k := range starts[1:] {
		a := float32(1)
		if perRollout {
			a /= float32(in.rolloutTokens(k, starts))
		}
		for i := starts[k]; i < starts[k+1]; i++ {
			share[i] = a
		}
	}
}

func (in *Tokens) rolloutTokens(k int, starts []int32) int32 {
	if in.RolloutTokens == nil {
		return starts[k+1] - starts[k]
	}
	return in.RolloutTokens[k]
}
