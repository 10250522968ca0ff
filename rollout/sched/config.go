package sched

import (
	"errors"
	"fmt"

	"molt/traj"
)

// Config sets the sizes and limits of the scheduler. Every limit is finite on purpose: see the table in sched.go.
type Config struct {
	GroupSize   int   // rollouts of one prompt; 1 or more. More samples make better baselines and cost as much more
	BatchGroups int   // groups of one batch, which is what a training step consumes; 1 or more
	Batches     int64 // batches to make; 0 goes on until the prompts end. Nothing is generated beyond the last
	Capacity    int   // most runners at work at once, training and evaluation together; 1 or more
	MaxLag      int   // published versions that a batch may be behind the learner: 0 is synchronous, 1 generates one step ahead
	MinGraded   int   // fewest graded rollouts with which a group trains; 0 asks for all of them
	DropBudget  int   // most groups replaced while one batch is made; 0 replaces none
	GoOnShort   bool  // when DropBudget is spent: true trains the short batch and goes on, false trains it and ends

	// Filter says why a whole group must not train, or "" when it may. It must be pure: the same group, the same answer.
	// The reasons are counted by their text, so they come from a small fixed set. nil lets every group train.
	Filter func(*traj.Group) string

	Limits Limits
}

// Limits bound one rollout. None can be switched off.
type Limits struct {
	Turns    int // calls of the policy in one rollout; the runner ends it as Truncated
	Tokens   int // tokens of one rollout, observation and sampled, each once; the runner ends it as Truncated
	Attempts int // tries of one sample when its failure is retryable; 1 tries once

	Time       int64 // ms from start until a rollout is cancelled as Timeout
	Grace      int64 // ms from cancel until a runner that has not returned is abandoned as Harness
	RetryDelay int64 // ms before the second attempt; doubles with every further one; 0 tries again at once
}

// Defaults are the sizes of a run on one machine.
func Defaults() Config {
	return Config{
		GroupSize:   8,
		BatchGroups: 16,
		Capacity:    128,
		DropBudget:  128,
		Limits: Limits{
			Turns:      32,
			Tokens:     32_768,
			Attempts:   3,
			Time:       10 * 60_000,
			Grace:      10_000,
			RetryDelay: 1_000,
		},
	}
}

const (
	maxAttempts = 16
	maxMillis   = 30 * 24 * 3_600_000 // a month; keeps every sum of times far from overflow
)

// Validate reports every field that is out of range.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("sched: %s is %v; want %s", field, value, want))
		}
	}
	check(c.GroupSize >= 1, "GroupSize", c.GroupSize, "1 or more")
	check(c.BatchGroups >= 1, "BatchGroups", c.BatchGroups, "1 or more")
	check(c.Batches >= 0, "Batches", c.Batches, "0 (until the prompts end) or more")
	check(c.Capacity >= 1, "Capacity", c.Capacity, "1 or more")
	check(c.MaxLag == 0 || c.MaxLag == 1, "MaxLag", c.MaxLag, "0 (synchronous) or 1 (one step ahead)")
	check(c.MinGraded >= 0 && c.MinGraded <= c.GroupSize, "MinGraded", c.MinGraded, "0 (all) to GroupSize")
	check(c.DropBudget >= 0, "DropBudget", c.DropBudget, "0 or more")
	l := &c.Limits
	check(l.Turns >= 1, "Limits.Turns", l.Turns, "1 or more")
	check(l.Tokens >= 1, "Limits.Tokens", l.Tokens, "1 or more")
	check(l.Attempts >= 1 && l.Attempts <= maxAttempts, "Limits.Attempts", l.Attempts, "1 to 16")
	check(l.Time >= 1 && l.Time <= maxMillis, "Limits.Time", l.Time, "1 ms to a month")
	check(l.Grace >= 1 && l.Grace <= maxMillis, "Limits.Grace", l.Grace, "1 ms to a month")
	check(l.RetryDelay >= 0 && l.RetryDelay <= maxMillis, "Limits.RetryDelay", l.RetryDelay, "0 to a month, in ms")
	return errors.Join(errs...)
}

func (c *Config) minGraded() int {
	if c.MinGraded == 0 {
		return c.GroupSize
	}
	return c.MinGraded
}
