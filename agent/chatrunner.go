// ChatRunner lets an agent work, and types how it ended.

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"molt/chat"
	"molt/traj"
)

// ChatConfig bounds one rollout of a chat agent.
type ChatConfig struct {
	Run       time.Duration // from the first request to Timeout; more than 0
	Close     time.Duration // how long an agent is waited for after its deadline before it is left behind; more than 0
	MaxLength int           // tokens that a rollout may have, as the agent is told
	Sampling  Sampling      // as the agent is told
}

// ChatDefaults suit agents that work for minutes.
func ChatDefaults() ChatConfig { return ChatConfig{Run: 30 * time.Minute, Close: 5 * time.Second} }

// Validate reports everything that is out of range.
func (c *ChatConfig) Validate() error {
	var errs []error
	if c.Run <= 0 {
		errs = append(errs, fmt.Errorf("agent: Run is %v; want more than 0", c.Run))
	}
	if c.Close <= 0 {
		errs = append(errs, fmt.Errorf("agent: Close is %v; want more than 0", c.Close))
	}
	return errors.Join(errs...)
}

// ChatRunner is a Runner for agents that own their loop.
type ChatRunner struct {
	Config  ChatConfig
	New     func() ChatAgent // called once for each rollout
	Connect Connect
}

// Run plays one rollout. The rollout's reward stands on the node that was sampled last.
func (r *ChatRunner) Run(ctx context.Context, job Job) *traj.Rollout {
	e := &episode{}
	err := protect(func() error { return e.chat(ctx, r, job) })
	return e.rollout(job, err)
}

// chat returns nil when the agent did its work, else why the rollout ended.
func (e *episode) chat(ctx context.Context, r *ChatRunner, job Job) error {
	if err := r.Config.Validate(); err != nil {
		return err
	}
	endpoint, err := r.Connect(job)
	if err != nil {
		return e.ofPolicy(ctx, "opening the session", err)
	}
	result, err := e.work(ctx, r, job, endpoint)
	met := endpoint.Err()
	if failed := endpoint.Close(); failed != nil {
		e.notes = append(e.notes, "closing the session: "+failed.Error())
	}
	e.nodes = endpoint.Nodes()
	return e.judge(ctx, result, err, met)
}

// work calls Run and waits no longer than the deadline allows.
func (e *episode) work(ctx context.Context, r *ChatRunner, job Job, endpoint Endpoint) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, r.Config.Run)
	defer cancel()
	type answer struct {
		result Result
		err    error
	}
	done := make(chan answer, 1) // capacity 1: nobody waits any more for an agent that missed its deadline
	c := ChatContext{job.Task, endpoint.Address(), r.Config.Sampling, r.Config.MaxLength, job.Enter}
	go func() {
		var a answer
		a.err = protect(func() (err error) {
			worker := r.New()
			if _, own := worker.(Staged); !own {
				if err := c.Enter.enter(limited, Play); err != nil {
					return err
				}
			}
			a.result, err = worker.Run(limited, c)
			return err
		})
		done <- a
	}()
	select {
	case a := <-done:
		if a.err == nil || limited.Err() == nil {
			return a.result, a.err
		}
	case <-limited.Done():
		select {
		case <-done:
		case <-time.After(r.Config.Close):
			e.notes = append(e.notes, fmt.Sprintf("the agent was left behind: it did not return within %v", r.Config.Close))
		}
	}
	if ctx.Err() != nil {
		return Result{}, ended(ctx)
	}
	return Result{}, fault{traj.Timeout, fmt.Errorf("the agent did not return within %v", r.Config.Run)}
}

// judge types the end. An agent that fails because the policy used up its tokens has failed for the policy.
func (e *episode) judge(ctx context.Context, result Result, err, met error) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(met, chat.ErrInfrastructure):
		return fmt.Errorf("the policy could not be reached: %w", met)
	case err != nil && errors.Is(met, chat.ErrBudget) && len(e.nodes) > 0:
		e.notes = append(e.notes, "the agent then failed: "+err.Error())
		return e.gradeChat(Result{}, fault{traj.Truncated, met})
	case err != nil:
		return fmt.Errorf("the agent failed: %w", err)
	case len(e.nodes) == 0:
		return errors.New("the agent never called the policy at the address it was given (a program finds it in OPENAI_BASE_URL or ANTHROPIC_BASE_URL)")
	case result.Truncated:
		return e.gradeChat(result, fault{traj.Truncated, errors.New("the agent gave up")})
	}
	return e.gradeChat(result, nil)
}

// gradeChat puts the reward on the last node; end is how the rollout ends when the reward is one.
func (e *episode) gradeChat(result Result, end error) error {
	if err := e.grade("the agent", result); err != nil {
		return err
	}
	e.rewards = append(make([]float64, len(e.nodes)-1), e.rewards...)
	return end
}
