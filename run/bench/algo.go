// The algorithm layer by itself: everything between log-probs and their gradient, on a million tokens and one core.
// scripts/bench/torch_peer.py computes the same from the same numbers, so the two can be compared figure by figure.

package bench

import (
	"fmt"
	"math"
	"runtime"

	"molt/algo"
)

const (
	algoRollouts = 1000
	algoLength   = 1000 // tokens of a rollout
	algoGroup    = 8    // rollouts of a prompt
)

// algorithms is the same work twice where there is a peer: in float32, as trainers compute, and in float64, in which all our
// sums run.
func algorithms(c Config) []*workload {
	name := fmt.Sprintf("%d rollouts of %d tokens", algoRollouts, algoLength)
	if c.Peer == "" {
		return []*workload{algorithm(name, false)}
	}
	return []*workload{algorithm(name+", float32", false), algorithm(name+", float64", true)}
}

func algorithm(name string, double bool) *workload {
	cfg := algoConfig()
	var w *algoWork
	return &workload{
		name:   name,
		amount: algoRollouts * algoLength,
		peer: peerWork{Bench: "algo", Repeats: 1, Rollouts: algoRollouts, Length: algoLength, Samples: algoGroup,
			Low: cfg.Correction.Low, High: cfg.Correction.High, Clip: cfg.Loss.ClipHigh, Double: double},
		open: func(int) (func(int) error, func(), error) {
			w = newAlgoWork(algoRollouts, algoLength)
			return func(int) error { w.run(); return nil }, func() {}, nil
		},
		figures: func() map[string]float64 { return w.figures() },
		within:  map[bool]float64{false: 1e-4, true: 1e-5}[double],
	}
}

// algoWork is a batch of rollouts of one segment each, all of their tokens sampled.
type algoWork struct {
	cfg       algo.Config
	batch     algo.Batch
	advantage [][]float32
	in        algo.Tokens
	gradient  []float32

	advantages algo.AdvantageStats
	mismatch   algo.MismatchStats
	lags       algo.LagStats
	loss       algo.LossStats
}

// algoConfig is GRPO, the geometric mask and PPO's clip. The band leaves out two segments of seven.
func algoConfig() algo.Config {
	c := algo.Default()
	c.Correction = algo.CorrectionConfig{Level: "geometric", Mode: "mask", Low: 0.996, High: 1.004}
	return c
}

// newAlgoWork makes the numbers that the peer makes too. All of them are short binary fractions, so neither side rounds.
func newAlgoWork(rollouts, length int) *algoWork {
	n := rollouts * length
	w := &algoWork{cfg: algoConfig(), gradient: make([]float32, n)}
	w.in = algo.Tokens{Starts: []int32{0}, Advantage: make([]float32, 0, n), Weight: make([]float32, n),
		Lag:     make([]int32, n),
		LogpNew: make([]float32, n), LogpOld: make([]float32, n), LogpGen: make([]float32, n)}
	for r := range rollouts {
		w.batch.Reward = append(w.batch.Reward, float64(scatter(r, 7)&1))
		w.batch.Group = append(w.batch.Group, int64(r/algoGroup))
		w.batch.Rollout = append(w.batch.Rollout, r)
		action := make([]bool, length)
		for t := range action {
			i := r*length + t
			old := -5 * float32(scatter(i, 1)) / (1 << 16)
			action[t] = true
			w.in.LogpOld[i] = old
			w.in.LogpNew[i] = old + (float32(scatter(i, 2))-1<<15)/(1<<17)
			w.in.LogpGen[i] = old + (float32(scatter(i, 3)>>4)-1<<11)/(1<<18) + float32(r%7-3)/(1<<9)
		}
		w.batch.Action = append(w.batch.Action, action)
		w.advantage = append(w.advantage, make([]float32, length))
		w.in.Starts = append(w.in.Starts, int32((r+1)*length))
	}
	return w
}

// scatter gives 16 bits that look drawn at random; another salt gives others.
func scatter(i, salt int) int { return (i + salt<<24) * 2654435761 >> 16 & 0xffff }

// run is one optimizer step's worth of mathematics.
func (w *algoWork) run() {
	w.advantages = algo.Advantages(w.advantage, w.batch, w.cfg.Advantage, 0)
	w.in.Advantage = w.in.Advantage[:0]
	for k, advantage := range w.advantage {
		w.in.Advantage = algo.Gather(w.in.Advantage, advantage, w.batch.Action[k])
	}
	clear(w.gradient)
	w.mismatch = algo.Correct(w.in.Weight, w.in, w.cfg.Correction)
	w.lags = algo.Lags(w.in)
	w.loss = algo.PolicyLoss(w.gradient, w.in, w.cfg.Loss, w.cfg.Loss.Denominator(algo.StepSize{Tokens: len(w.gradient)}))
}

// figures is what the run computed, by the peer's names.
func (w *algoWork) figures() map[string]float64 {
	var sum float64
	for _, g := range w.gradient {
		sum += math.Abs(float64(g))
	}
	n := float64(len(w.gradient))
	return map[string]float64{
		"advantage_std": w.advantages.Std, "advantage_max": w.advantages.Max,
		"filtered": float64(w.mismatch.Filtered), "mismatch_kl1": w.mismatch.KL1 / n, "mismatch_kl3": w.mismatch.KL3 / n,
		"worst": w.mismatch.Worst, "effective": w.mismatch.EffectiveShare(),
		"lag0_tokens": float64(w.lags[0].Mismatch.Tokens), "lag0_weight": w.lags[0].Weight,
		"loss": w.loss.Loss, "gradient_abs": sum, "gradient_active": float64(w.loss.Active),
		"kl1": w.loss.KL1 / n, "kl3": w.loss.KL3 / n, "clipped_low": float64(w.loss.ClippedLow), "clipped_high": float64(w.loss.ClippedHigh),
		"ratio_min": w.loss.RatioMin, "ratio_max": w.loss.RatioMax,
	}
}

// agree compares the figures of both sides, and gives the largest difference as a share of the figure.
func agree(ours, peers map[string]float64, within float64) (apart float64, err error) {
	for name, x := range ours {
		y, there := peers[name]
		d := math.Abs(x-y) / max(math.Abs(x), math.Abs(y), math.SmallestNonzeroFloat64)
		if !there || !(d <= within) {
			return 0, fmt.Errorf("bench: %s is %v and the peer's %v: they do not compute the same", name, x, y)
		}
		apart = max(apart, d)
	}
	return apart, nil
}

// allocationsPerToken is what ten times as many tokens in as many rollouts cost, the least of several tries: something else in
// the process may allocate meanwhile.
func allocationsPerToken() float64 {
	short, long := newAlgoWork(algoRollouts, algoLength/10), newAlgoWork(algoRollouts, algoLength)
	return float64(allocations(long)-allocations(short)) / float64(len(long.gradient)-len(short.gradient))
}

func allocations(w *algoWork) int64 {
	least := int64(math.MaxInt64)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		w.run()
		runtime.ReadMemStats(&after)
		least = min(least, int64(after.Mallocs-before.Mallocs))
	}
	return least
}
