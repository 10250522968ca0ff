// What a configuration comes to: questions that several settings answer together.

package recipe

import (
	"slices"

	"molt/algo"
)

// Compares reports whether the run has a reference or a teacher.
func (c *Config) Compares() bool { return c.Algo.KL.Coef > 0 || c.Ref.Path != "" }

// Criticises reports whether the run has a critic.
func (c *Config) Criticises() bool { return c.estimator().ReadsValue }

// SharesTrunk reports whether its critic is a value head on the policy.
func (c *Config) SharesTrunk() bool { return c.Criticises() && c.Critic.Shared }

func (c *Config) ownCritic() bool { return c.Criticises() && !c.Critic.Shared }

// Distils reports whether the run learns from a teacher alone.
func (c *Config) Distils() bool { return c.estimator().IgnoresReward }

// estimator is the chosen one; without a name when there is none of that name, which algo.Check refuses.
func (c *Config) estimator() algo.Estimator {
	return rowOf(algo.Estimators, c.Algo.Advantage.Estimator)
}

// rowOf is the row of a table of algo that has the name or alias.
func rowOf[T interface{ Called(string) bool }](rows []T, name string) (row T) {
	if i := slices.IndexFunc(rows, func(r T) bool { return r.Called(name) }); i >= 0 {
		return rows[i]
	}
	return row
}

func (c *Config) lengthIs(shapes ...string) bool {
	return slices.Contains(shapes, c.Reward.Length.Shape)
}
func (c *Config) evaluates() bool { return len(c.Eval.Dataset) > 0 }
func (c *Config) corrects() bool  { return !rowOf(algo.Levels, c.Algo.Advantage.Level).Off }
