// EnvRunner plays an environment against the policy: what it sees first, then reply, step, observation, until one of them
// ends.

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"molt/chat"
	"molt/traj"
)

// Config bounds one rollout. The driver's context bounds it as a whole.
type Config struct {
	Turns int           // replies of the policy; 1 or more. After the last one the rollout is truncated
	Reset time.Duration // from a call of New and Reset to Timeout; more than 0
	Step  time.Duration // from a call of Step to Timeout; more than 0
	Close time.Duration // how long an environment is waited for at the end before it is left behind; more than 0
}

// Defaults suit environments that answer from memory or from a sandbox nearby.
func Defaults() Config {
	return Config{Turns: 32, Reset: time.Minute, Step: time.Minute, Close: 5 * time.Second}
}

// Validate reports everything that is out of range.
func (c *Config) Validate() error {
	var errs []error
	if c.Turns < 1 {
		errs = append(errs, fmt.Errorf("agent: Turns is %d; want 1 or more", c.Turns))
	}
	for _, limit := range []struct {
		field string
		is    time.Duration
	}{{"Reset", c.Reset}, {"Step", c.Step}, {"Close", c.Close}} {
		if limit.is <= 0 {
			errs = append(errs, fmt.Errorf("agent: %s is %v; want more than 0", limit.field, limit.is))
		}
	}
	return errors.Join(errs...)
}

// EnvRunner is a Runner for environments in Go.
type EnvRunner struct {
	Config Config
	New    func() Env // called once for each rollout
	Open   Opener
}

// Run plays one rollout. An environment that does not return is left behind with its goroutine, which closes it when the
// call returns after all.
func (r *EnvRunner) Run(ctx context.Context, job Job) *traj.Rollout {
	e := &episode{config: r.Config}
	err := protect(func() error { return e.run(ctx, r, job) })
	return e.rollout(job, err)
}

// episode is one rollout in the making.
type episode struct {
	config Config
	host   *host
	policy Policy

	nodes   []traj.Node
	rewards []float64 // of the turns so far
	last    Result    // of the last turn
	notes   []string  // for people: what went wrong at the end
}

// run returns nil when the environment said terminated, else why the rollout ended.
func (e *episode) run(ctx context.Context, r *EnvRunner, job Job) (err error) {
	if err := e.config.Validate(); err != nil {
		return err
	}
	if e.policy, err = r.Open(job); err != nil {
		return e.ofPolicy(ctx, "opening the session", err)
	}
	defer e.closePolicy()
	e.host = newHost(r.New)
	defer e.closeEnv()

	start, err := e.reset(ctx, job.Task)
	if err != nil {
		return err
	}
	if err := job.Enter.enter(ctx, Play); err != nil {
		return ended(ctx)
	}
	if err := e.policy.Begin(start.Messages, start.Tools); err != nil {
		return e.ofPolicy(ctx, "showing the policy what Reset returned", err)
	}
	return e.turns(ctx)
}

// turns is the loop.
func (e *episode) turns(ctx context.Context) error {
	var observation []chat.Message
	for turn := range e.config.Turns {
		reply, err := e.policy.Turn(ctx, observation)
		if err == nil && reply.Finish == traj.FinishAbort {
			err = fmt.Errorf("sampling was aborted: %w", chat.ErrInfrastructure)
		}
		if err != nil {
			return e.ofPolicy(ctx, fmt.Sprintf("turn %d", turn), err)
		}
		result, err := e.step(ctx, Action{reply, turn})
		if err != nil {
			return err
		}
		switch {
		case result.Terminated:
			return nil
		case result.Truncated:
			return fault{traj.Truncated, fmt.Errorf("the environment stopped it after turn %d", turn)}
		}
		if err := e.resample(result.Sampling); err != nil {
			return err
		}
		observation = result.Observation
	}
	return fault{traj.Truncated, fmt.Errorf("the turn budget of %d is used up", e.config.Turns)}
}

// resample follows an environment that changes how the policy is sampled.
func (e *episode) resample(s Sampling) error {
	if s == (Sampling{}) {
		return nil
	}
	r, ok := e.policy.(Resampler)
	if !ok {
		return errors.New("the environment wants other sampling, which this session does not offer")
	}
	return r.Resample(s)
}

func (e *episode) reset(ctx context.Context, task Task) (Start, error) {
	start, err := do(ctx, e.host, "Reset", e.config.Reset, func(ctx context.Context, env Env) (Start, error) {
		return env.Reset(ctx, task)
	})
	if err == nil && len(start.Messages) == 0 {
		err = errors.New("Reset returned no messages: the policy must see something first")
	}
	return start, err
}

func (e *episode) step(ctx context.Context, action Action) (Result, error) {
	what := fmt.Sprintf("Step of turn %d", action.Turn)
	r, err := do(ctx, e.host, what, e.config.Step, func(ctx context.Context, env Env) (Result, error) {
		return env.Step(ctx, action)
	})
	if err == nil {
		err = e.grade(what, r)
	}
	if err == nil && len(r.Observation) == 0 && !r.Terminated && !r.Truncated {
		err = fmt.Errorf("%s returned neither an observation nor an end", what)
	}
	return r, err
}

// grade keeps what the turn was worth.
func (e *episode) grade(what string, r Result) error {
	if !finite(r.Reward) || !finite(sum(e.rewards)+r.Reward) {
		return fault{traj.Grader, fmt.Errorf("%s returned reward %v, which makes a sum of %v", what, r.Reward, sum(e.rewards)+r.Reward)}
	}
	if r.Score != nil && !finite(*r.Score) {
		return fault{traj.Grader, fmt.Errorf("%s returned score %v", what, *r.Score)}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Info)) {
		if !finite(r.Info[name]) {
			return fmt.Errorf("%s returned info %q of %v, not a finite number", what, name, r.Info[name])
		}
	}
	r.Info = maps.Clone(r.Info)
	e.rewards, e.last = append(e.rewards, r.Reward), r
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func sum(xs []float64) float64 {
	total := 0.0
	for _, x := range xs {
		total += x
	}
	return total
}

func (e *episode) closeEnv() {
	if err := e.host.end(e.config.Close); err != nil {
		e.notes = append(e.notes, err.Error())
	}
}

func (e *episode) closePolicy() {
	defer func() {
		if err := e.policy.Close(); err != nil {
			e.notes = append(e.notes, "closing the session: "+err.Error())
		}
	}()
	e.nodes = e.policy.Nodes()
}
