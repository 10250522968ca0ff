package gateway

import (
	"context"
	"errors"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

// till answers every lookup with a price and pays for "12".
type till struct{}

func (till) Reset(_ context.Context, task agent.Task) (agent.Start, error) {
	return agent.Start{Messages: task.Messages}, nil
}

func (till) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	if len(a.Message.ToolCalls) > 0 {
		return agent.Result{Observation: []chat.Message{{Role: chat.Tool, Content: "4", ToolCallID: a.Message.ToolCalls[0].ID}}}, nil
	}
	if a.Message.Content != "12" {
		return agent.Result{}, errors.New("nobody said 12")
	}
	return agent.Result{Reward: 1, Terminated: true}, nil
}

func (till) Close() error { return nil }

// TestEnvironmentAgainstASession plays whole rollouts through the seam that run/ wires.
func TestEnvironmentAgainstASession(t *testing.T) {
	for _, c := range []struct {
		name    string
		budget  int
		trouble enginetest.Trouble
		want    traj.Outcome
		reward  float64
		turns   int
	}{
		{"completed", 500, "", traj.Completed, 1, 2},
		{"out of tokens", len(prompt(t)) + len(testTokenizer().EncodeSpecial(lookup)) + 1 + 3, "", traj.Truncated, 0, 1},
		{"a prompt without room", 3, "", traj.Harness, 0, 0},
		{"the engine is gone", 500, enginetest.Unavailable, traj.Infrastructure, 0, 1},
	} {
		e := scripted(t, lookup, "12")
		if c.trouble != "" {
			e.Inject(enginetest.Fault{Trouble: c.trouble, Match: func(r engine.Request) bool { return r.Key.Turn == 1 }})
		}
		runner := agent.EnvRunner{Config: agent.Defaults(), New: func() agent.Env { return till{} }, Open: func(job agent.Job) (agent.Policy, error) {
			return open(t, e, Options{Group: job.Group, Sample: job.Sample}, c.budget), nil
		}}
		r := runner.Run(t.Context(), agent.Job{Group: 1, Task: agent.Task{Messages: []chat.Message{{Role: chat.User, Content: "3 pens?"}}}})
		if r.Outcome != c.want || r.Reward != c.reward || r.Turns() != c.turns {
			t.Errorf("%s: %s with reward %v after %d turns (%s); want %s, %v, %d", c.name, r.Outcome, r.Reward, r.Turns(), r.Detail, c.want, c.reward, c.turns)
		}
		if err := r.Validate(testTokenizer().VocabSize(), 0); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
