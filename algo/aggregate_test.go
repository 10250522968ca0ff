package algo

import (
	"testing"

	"pgregory.net/rapid"
)

// Two rollouts: one with losses 1 2 in one segment and 3 in another, one with loss 6. At ratio 1 the loss is −A.
func TestAggregations(t *testing.T) {
	in := Tokens{
		LogpNew: make([]float32, 4), Advantage: []float32{-1, -2, -3, -6},
		Starts: []int32{0, 2, 3, 4}, RolloutTokens: []int32{3, 3, 1}, Share: repeat(nan, 4),
	}
	step := StepSize{Tokens: 4, Rollouts: 2}
	for _, c := range []struct {
		name                    string
		loss, denominator, last float64
	}{
		{"", 12. / 4, 4, 6. / 4},
		{"token_mean", 12. / 4, 4, 6. / 4},
		{"seq-mean-token-sum", (6. + 6) / 2, 2, 3},
		{"seq-mean-token-mean", (6./3 + 6) / 2, 2, 3},
		{"seq-mean-token-sum-norm", (6. + 6) / 2 / 10, 20, 6. / 20},
	} {
		cfg := clip20
		cfg.Aggregation, cfg.MaxTokens = c.name, 10
		Shares(in.Share, in, cfg)
		equal(t, c.name+": denominator", cfg.Denominator(step), c.denominator)
		d, losses := make([]float32, 4), make([]float64, 4)
		s := PolicyLoss(d, in, cfg, cfg.Denominator(step))
		nearly(t, c.name+": loss", s.Loss, c.loss)
		near(t, c.name+": gradient of the last", d[3:], c.last)
		TokenLosses(losses, in, cfg)
		nearly(t, c.name+": token by token", (losses[0]+losses[1]+losses[2]+losses[3])/c.denominator, c.loss)
	}

	Shares(in.Share, in, LossConfig{Aggregation: "rollout_mean"})
	near(t, "a rollout's tokens share 1", in.Share, 1./3, 1./3, 1./3, 1)
	in.RolloutTokens = nil
	Shares(in.Share, in, LossConfig{Aggregation: "rollout_mean"})
	near(t, "a segment that is a rollout", in.Share, .5, .5, 1, 1)
	mustPanic(t, "lengths", func() { in.RolloutTokens = []int32{1}; Shares(in.Share, in, LossConfig{}) })
}

// The KL, the entropy and the value loss add up as the policy loss does.
func TestEveryLossTakesItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTokens(t)
		in.Entropy = in.Return
		cfg := LossConfig{Aggregation: "rollout_mean"}
		Shares(in.Share, in, cfg)
		plain := in
		plain.Share = nil
		n := len(in.LogpNew)
		for name, loss := range map[string]func(d []float32, in Tokens){
			"KL":      func(d []float32, in Tokens) { KLLoss(d, in, "k3_unbiased", 1, 7) },
			"entropy": func(d []float32, in Tokens) { EntropyLoss(d, in, 1, 7) },
			"value":   func(d []float32, in Tokens) { ValueLoss(d, in, ValueConfig{Clip: .2, Coef: 1}, 7) },
			"policy":  func(d []float32, in Tokens) { PolicyLoss(d, in, clip20, 7) },
		} {
			shared, whole := make([]float32, n), make([]float32, n)
			loss(shared, in)
			loss(whole, plain)
			for i := range shared {
				nearly(t, name, float64(shared[i]), float64(in.Share[i])*float64(whole[i]))
			}
		}
	})
}
