// What a run remembers about its prompts: how often each was solved lately.

package algo

// PassRates is the memory, by the prompt's id. The zero value is not usable; make one, or load one from a checkpoint.
type PassRates map[string]PassRate

// PassRate is what is known about one prompt.
type PassRate struct {
	Groups int     `json:"groups"` // observed
	Mean   float64 `json:"mean"`   // of their rewards; older groups count less and less
}

// Observe takes the rewards of a prompt's graded rollouts, one for each rollout. keep is what remains of the old mean,
// 0..1: 0 remembers the last group alone, 1 the first.
func (p PassRates) Observe(prompt string, reward []float64, keep float64) {
	if len(reward) == 0 {
		return
	}
	r := p[prompt]
	if r.Groups == 0 {
		keep = 0
	}
	r.Groups++
	r.Mean = keep*r.Mean + (1-keep)*mean(reward)
	p[prompt] = r
}

// Judge says whether a prompt is worth sampling again by the bounds of dynamic sampling: TooHard, TooEasy, or Kept. It
// keeps what it has seen fewer than enough groups of.
func (p PassRates) Judge(prompt string, cfg FilterConfig, enough int) Reason {
	r := p[prompt]
	switch {
	case r.Groups < max(enough, 1):
		return Kept
	case r.Mean <= cfg.Low:
		return TooHard
	case r.Mean >= cfg.High:
		return TooEasy
	}
	return Kept
}
