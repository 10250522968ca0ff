// Which groups train. A group that does not carries its reason with it.

package algo

// FilterConfig says which groups are worth training on.
type FilterConfig struct {
	MinGraded int     // least graded rollouts of a group; 1..rollouts per prompt, default 1
	Dynamic   bool    // DAPO's dynamic sampling: drop groups whose mean reward is not strictly inside; default false
	Low, High float64 // Dynamic: the bounds, both exclusive; default 0 and 1
}

// Reason says why a group does not train; Kept ("") when it does.
type Reason string

const (
	Kept       Reason = ""
	Incomplete Reason = "incomplete"
	TooHard    Reason = "too_hard"
	TooEasy    Reason = "too_easy"
	Flat       Reason = "flat"
)

// Reasons lists every reason, in the order reports show them.
var Reasons = []Reason{Incomplete, TooHard, TooEasy, Flat}

// Filter judges one group by the rewards of its graded rollouts, one for each rollout.
//
//	incomplete   fewer than MinGraded of them
//	too_hard     mean ≤ Low           dynamic sampling (DAPO, arXiv 2503.14476 §3.2)
//	too_easy     mean ≥ High          the same
//	flat         two or more, all equal, where that makes every gradient 0 (Config.SkipsFlat)
//
// The tokens of a flat group stay in the step's denominator, so that skipping its passes is exactly the same step. The
// other reasons drop the group: its tokens leave the denominator and another prompt may take its place.
func Filter(reward []float64, c Config) Reason {
	f := c.Filter
	m := mean(reward)
	switch {
	case len(reward) < max(f.MinGraded, 1):
		return Incomplete
	case f.Dynamic && m <= f.Low:
		return TooHard
	case f.Dynamic && m >= f.High:
		return TooEasy
	case len(reward) > 1 && flat(reward) && c.SkipsFlat():
		return Flat
	}
	return Kept
}
