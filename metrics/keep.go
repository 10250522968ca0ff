// The kept-sample rule: which rollouts of a step are stored for people. It is a decision without files or clocks; the
// Keeper (keeper.go) carries it out within the budget.

package metrics

import (
	"cmp"
	"slices"
)

// Candidate describes a finished rollout to the rule, before anything expensive is done for it.
type Candidate struct {
	Group  int64
	Sample int
	Graded bool
	Reward float64
	Change float64             // how far the step's update moved it: mean |LogpNew − LogpOld| of its action tokens, nats
	Alarm  string              // name of the alarm that it is evidence of; "" for none
	Fill   func() *RolloutKept // makes the rollout; called only for what is kept
}

// Parts of the rule, in order of precedence, as the report spells them.
const (
	KeptEvidence = "evidence of an alarm"
	KeptBest     = "best reward"
	KeptWorst    = "worst reward"
	KeptMedian   = "median reward"
	KeptNewest   = "newest"
	KeptChanged  = "changed most by the update"
	KeptFailed   = "newest that could not be graded"
	KeptGroup    = "its group has the widest rewards"
)

// KeepRule is the rule in a sentence.
const KeepRule = "For each step and evaluation: the evidence of every alarm, the best, worst, median and newest rollout, " +
	"the one that the update changed most, the newest that could not be graded, and the whole group with the widest rewards."

// choice is a candidate that the rule asks for.
type choice struct {
	index int
	why   []string
}

// choose applies the rule to the candidates of a step, which are in the order in which they finished. The most important
// choice comes first.
func choose(candidates []Candidate) []choice {
	var c chooser
	for i := range candidates {
		if candidates[i].Alarm != "" {
			c.add(i, KeptEvidence)
		}
	}
	graded := indices(candidates, func(k Candidate) bool { return k.Graded })
	failed := indices(candidates, func(k Candidate) bool { return !k.Graded })
	c.addGraded(candidates, graded)
	if n := len(failed); n > 0 {
		c.add(failed[n-1], KeptFailed)
	}
	for _, i := range widestGroup(candidates, graded) {
		c.add(i, KeptGroup)
	}
	return c.choices
}

type chooser struct {
	choices []choice
}

func (c *chooser) add(index int, why string) {
	at := slices.IndexFunc(c.choices, func(k choice) bool { return k.index == index })
	if at < 0 {
		c.choices = append(c.choices, choice{index, []string{why}})
		return
	}
	c.choices[at].why = append(c.choices[at].why, why)
}

func (c *chooser) addGraded(candidates []Candidate, graded []int) {
	if len(graded) == 0 {
		return
	}
	byReward := slices.Clone(graded)
	slices.SortStableFunc(byReward, func(a, b int) int { return cmp.Compare(candidates[a].Reward, candidates[b].Reward) })
	c.add(byReward[len(byReward)-1], KeptBest)
	c.add(byReward[0], KeptWorst)
	c.add(byReward[len(byReward)/2], KeptMedian)
	c.add(graded[len(graded)-1], KeptNewest)
	changed := slices.MaxFunc(graded, func(a, b int) int { return cmp.Compare(candidates[a].Change, candidates[b].Change) })
	if candidates[changed].Change > 0 {
		c.add(changed, KeptChanged)
	}
}

// widestGroup lists all candidates of the group with the largest difference between its rewards; nil when no group has
// any. A tie goes to the group that finished first.
func widestGroup(candidates []Candidate, graded []int) []int {
	low, high := map[int64]float64{}, map[int64]float64{}
	var groups []int64
	for _, i := range graded {
		g, reward := candidates[i].Group, candidates[i].Reward
		if _, seen := low[g]; !seen {
			groups, low[g], high[g] = append(groups, g), reward, reward
		}
		low[g], high[g] = min(low[g], reward), max(high[g], reward)
	}
	var widest int64
	var spread float64
	for _, g := range groups {
		if d := high[g] - low[g]; d > spread {
			widest, spread = g, d
		}
	}
	if spread == 0 {
		return nil
	}
	return indices(candidates, func(k Candidate) bool { return k.Group == widest })
}

func indices(candidates []Candidate, is func(Candidate) bool) []int {
	var list []int
	for i := range candidates {
		if is(candidates[i]) {
			list = append(list, i)
		}
	}
	return list
}
