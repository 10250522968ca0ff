// One question, one reply, one reward.

package answer

import (
	"context"
	"errors"
	"strings"

	"molt/agent"
	"molt/traj"
)

// Env shows the messages of the task and pays 1 for a reply whose answer is the label's, else 0.
type Env struct{ label string }

// New makes an environment for one rollout.
func New() agent.Env { return &Env{} }

// Check implements agent.Checker.
func (e *Env) Check(_ context.Context, task agent.Task) error {
	if strings.TrimSpace(task.Label) == "" {
		return errors.New("answer: there is no label to compare with")
	}
	return nil
}

// Reset implements agent.Env.
func (e *Env) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	if err := e.Check(ctx, task); err != nil {
		return agent.Start{}, err
	}
	e.label = task.Label
	return agent.Start{Messages: task.Messages, Tools: task.Tools}, nil
}

// Step implements agent.Env. Reasoning is not searched. A reply that was cut off counts only where it marked an answer: its
// last number means nothing.
func (e *Env) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	_, isMarked := marked(a.Message.Content)
	r := agent.Result{Terminated: true, Info: map[string]float64{"marked": 0}}
	if a.Finish == traj.FinishLength {
		r.Terminated, r.Truncated = false, true
	}
	if isMarked {
		r.Info["marked"] = 1
	}
	if (isMarked || r.Terminated) && Correct(a.Message.Content, e.label) {
		r.Reward = 1
	}
	return r, nil
}

// Close implements agent.Env.
func (e *Env) Close() error { return nil }
