package agent

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molt/chat"
	"molt/traj"
)

// door is an Endpoint that has captured two turns.
type door struct {
	err    error
	nodes  []traj.Node
	closed int
}

func (d *door) Address() Address {
	return Address{Session: "7", URL: "http://127.0.0.1:1/s/7", Key: "k", Model: "policy"}
}
func (d *door) Err() error         { return d.err }
func (d *door) Nodes() []traj.Node { return d.nodes }
func (d *door) Close() error       { d.closed++; return nil }

type chatFunc func(context.Context, ChatContext) (Result, error)

func (f chatFunc) Run(ctx context.Context, c ChatContext) (Result, error) { return f(ctx, c) }

func twoTurns() []traj.Node {
	turn := func(parent int) traj.Node {
		return traj.Node{Parent: parent, Observation: []int32{1}, Sampled: []int32{2}, LogpGen: []float32{-1},
			Version: []traj.Version{0}, Temperature: 1, Finish: traj.FinishStop}
	}
	return []traj.Node{turn(-1), turn(0)}
}

func TestChatRunner(t *testing.T) {
	ok := func(r Result) chatFunc { return func(context.Context, ChatContext) (Result, error) { return r, nil } }
	fails := func(context.Context, ChatContext) (Result, error) { return Result{}, errors.New("exit code 1") }
	tests := []struct {
		name   string
		agent  chatFunc
		met    error
		nodes  []traj.Node
		want   traj.Outcome
		reward float64
		detail string
	}{
		{"done", ok(Result{Reward: 0.5}), nil, twoTurns(), traj.Completed, 0.5, ""},
		{"gave up", ok(Result{Reward: 0.25, Truncated: true}), nil, twoTurns(), traj.Truncated, 0.25, "the agent gave up"},
		{"failed", fails, nil, twoTurns(), traj.Harness, 0, "the agent failed: exit code 1"},
		{"panicked", func(context.Context, ChatContext) (Result, error) { panic("oh") }, nil, twoTurns(), traj.Harness, 0, "the agent failed: panic: oh"},
		{"failed on a used-up budget", fails, chat.ErrBudget, twoTurns(), traj.Truncated, 0, chat.ErrBudget.Error()},
		{"failed before the first turn", fails, chat.ErrBudget, nil, traj.Harness, 0, "the agent failed: exit code 1"},
		{"failed on a dead engine", fails, chat.ErrInfrastructure, twoTurns(), traj.Infrastructure, 0, "the policy could not be reached"},
		{"done with a dead engine", ok(Result{Reward: 1}), chat.ErrInfrastructure, twoTurns(), traj.Infrastructure, 0, "the policy could not be reached"},
		{"never called", ok(Result{Reward: 1}), nil, nil, traj.Harness, 0, "the agent never called the policy at the address it was given (a program finds it in OPENAI_BASE_URL or ANTHROPIC_BASE_URL)"},
		{"not a number", ok(Result{Reward: math.NaN()}), nil, twoTurns(), traj.Grader, 0, "the agent returned reward NaN"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := &door{err: test.met, nodes: test.nodes}
			runner := ChatRunner{ChatDefaults(), func() ChatAgent { return test.agent }, func(Job) (Endpoint, error) { return d, nil }}
			got := runner.Run(t.Context(), Job{Group: 3, Sample: 2, Attempt: 1})
			if got.Outcome != test.want || got.Reward != test.reward || !strings.HasPrefix(got.Detail, test.detail) {
				t.Errorf("outcome %s, reward %v, %q; want %s, %v, %q", got.Outcome, got.Reward, got.Detail, test.want, test.reward, test.detail)
			}
			if d.closed != 1 {
				t.Errorf("the session was closed %d times", d.closed)
			}
			if err := got.Validate(10, 0); err != nil {
				t.Error(err)
			}
			if n := len(got.Nodes); got.Outcome.Graded() && got.Nodes[n-1].Reward != test.reward {
				t.Errorf("the last node has reward %v; want %v", got.Nodes[n-1].Reward, test.reward)
			}
		})
	}
}

func TestChatRunnerDeadline(t *testing.T) {
	for name, test := range map[string]struct {
		obeys bool
		after time.Duration
		note  string
	}{
		"an agent that obeys": {true, time.Minute, ""},
		"one that does not":   {false, time.Minute + 5*time.Second, "the agent was left behind"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				agent := chatFunc(func(ctx context.Context, _ ChatContext) (Result, error) {
					if test.obeys {
						<-ctx.Done()
						return Result{}, ctx.Err()
					}
					<-release
					return Result{}, nil
				})
				config := ChatDefaults()
				config.Run = time.Minute
				d := &door{nodes: twoTurns()}
				runner := ChatRunner{config, func() ChatAgent { return agent }, func(Job) (Endpoint, error) { return d, nil }}
				begin := time.Now()
				got := runner.Run(t.Context(), Job{})
				if got.Outcome != traj.Timeout || !strings.Contains(got.Detail, test.note) || time.Since(begin) != test.after {
					t.Errorf("outcome %s after %v, %q", got.Outcome, time.Since(begin), got.Detail)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

func TestChatContext(t *testing.T) {
	a := Address{URL: "http://127.0.0.1:8080/s/1"}
	if got := a.OpenAI(); got != "http://127.0.0.1:8080/s/1/v1" {
		t.Error(got)
	}
}
