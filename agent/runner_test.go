package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"molt/chat"
	"molt/traj"
)

func TestEveryEndIsAnOutcome(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		env    func(*world)
		policy func(*session)
		want   traj.Rollout // Nodes are compared by reward
		nodes  []float64
		detail string // a part of it; "" wants none
	}{
		{
			name:  "terminated",
			env:   func(w *world) { w.step = at(2, returns(Result{Reward: 5, Terminated: true}, nil)) },
			want:  traj.Rollout{Outcome: traj.Completed, Reward: 7, Score: 7},
			nodes: []float64{1, 1, 5},
		},
		{
			name: "score and info of the last turn",
			env: func(w *world) {
				w.step = at(1, returns(Result{Reward: -3, Terminated: true, Score: &half, Info: map[string]float64{"steps": 2}}, nil))
			},
			want:  traj.Rollout{Outcome: traj.Completed, Reward: -2, Score: 0.5, Info: map[string]float64{"steps": 2}},
			nodes: []float64{1, -3},
		},
		{
			name: "score and info of an earlier turn do not count",
			env: func(w *world) {
				w.step = func(_ context.Context, a Action) (Result, error) {
					r := goOn(1)
					if r.Terminated = a.Turn == 1; a.Turn == 0 {
						r.Score, r.Info = &half, map[string]float64{"steps": 1}
					}
					return r, nil
				}
			},
			want:  traj.Rollout{Outcome: traj.Completed, Reward: 2, Score: 2},
			nodes: []float64{1, 1},
		},
		{
			name: "terminated and truncated is terminated",
			env: func(w *world) {
				w.step = at(0, returns(Result{Reward: 1, Terminated: true, Truncated: true}, nil))
			},
			want:  traj.Rollout{Outcome: traj.Completed, Reward: 1, Score: 1},
			nodes: []float64{1},
		},
		{
			name:   "truncated by the environment",
			env:    func(w *world) { w.step = at(1, returns(Result{Reward: 2, Truncated: true}, nil)) },
			want:   traj.Rollout{Outcome: traj.Truncated, Reward: 3, Score: 3},
			nodes:  []float64{1, 2},
			detail: "the environment stopped it after turn 1",
		},
		{
			name:   "out of turns",
			want:   traj.Rollout{Outcome: traj.Truncated, Reward: 4, Score: 4},
			nodes:  []float64{1, 1, 1, 1},
			detail: "the turn budget of 4 is used up",
		},
		{
			name:   "out of tokens",
			policy: func(s *session) { s.turn = failsAt(2, chat.ErrBudget) },
			want:   traj.Rollout{Outcome: traj.Truncated, Reward: 2, Score: 2},
			nodes:  []float64{1, 1},
			detail: "turn 2: token budget used up",
		},
		{
			name:   "out of tokens before the first reply",
			policy: func(s *session) { s.turn = failsAt(0, chat.ErrBudget) },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "token budget used up before the policy could reply",
		},
		{
			name:   "a prompt beyond the budget",
			policy: func(s *session) { s.begin = fmt.Errorf("900 tokens: %w", chat.ErrBudget) },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "900 tokens: token budget used up",
		},
		{
			name:   "the engine fails",
			policy: func(s *session) { s.turn = failsAt(1, fmt.Errorf("connection reset: %w", chat.ErrInfrastructure)) },
			want:   traj.Rollout{Outcome: traj.Infrastructure},
			nodes:  []float64{0},
			detail: "turn 1: connection reset: infrastructure failed",
		},
		{
			name: "sampling is aborted",
			policy: func(s *session) {
				s.turn = func(int) (chat.Reply, error) { return chat.Reply{Finish: traj.FinishAbort}, nil }
			},
			want:   traj.Rollout{Outcome: traj.Infrastructure},
			detail: "turn 0: sampling was aborted",
		},
		{
			name:   "an impossible conversation",
			policy: func(s *session) { s.turn = failsAt(1, errors.New("the template raised")) },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0},
			detail: "turn 1: the template raised",
		},
		{
			name:   "the session panics",
			policy: func(s *session) { s.turn = func(int) (chat.Reply, error) { panic("nil map") } },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "panic: nil map",
		},
		{
			name:   "the session loses a node",
			policy: func(s *session) { s.nodes = func(n []traj.Node) []traj.Node { return n[:1] } },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0},
			detail: "the session captured 1 nodes for 4 turns",
		},
		{
			name:   "the session fails to close",
			env:    func(w *world) { w.step = at(0, returns(Result{Reward: 1, Terminated: true}, nil)) },
			policy: func(s *session) { s.close = errors.New("busy") },
			want:   traj.Rollout{Outcome: traj.Completed, Reward: 1, Score: 1},
			nodes:  []float64{1},
			detail: "closing the session: busy",
		},
		{
			name:   "Reset fails",
			env:    func(w *world) { w.reset = func(context.Context, Task) (Start, error) { return Start{}, errOfEnv } },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "Reset: no such file",
		},
		{
			name:   "Reset panics",
			env:    func(w *world) { w.reset = func(context.Context, Task) (Start, error) { panic("index out of range") } },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "Reset: panic: index out of range",
		},
		{
			name:   "Reset says nothing",
			env:    func(w *world) { w.reset = func(context.Context, Task) (Start, error) { return Start{}, nil } },
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: "Reset returned no messages",
		},
		{
			name: "Reset says what no conversation can hold",
			env: func(w *world) {
				w.reset = func(context.Context, Task) (Start, error) { return Start{Messages: says("narrator", "once")}, nil }
			},
			want:   traj.Rollout{Outcome: traj.Harness},
			detail: `showing the policy what Reset returned: chat: message 0: role "narrator"`,
		},
		{
			name:   "Step fails",
			env:    func(w *world) { w.step = at(1, returns(Result{Reward: 9, Terminated: true}, errOfEnv)) },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1: no such file",
		},
		{
			name: "Step loses its sandbox",
			env: func(w *world) {
				w.step = at(1, returns(Result{}, fmt.Errorf("sandbox gone: %w", chat.ErrInfrastructure)))
			},
			want:   traj.Rollout{Outcome: traj.Infrastructure},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1: sandbox gone",
		},
		{
			name:   "Step knows better than harness",
			env:    func(w *world) { w.step = at(1, returns(Result{}, Failed(traj.Grader, errOfEnv))) },
			want:   traj.Rollout{Outcome: traj.Grader},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1: no such file",
		},
		{
			name:   "Step has no say in budgets",
			env:    func(w *world) { w.step = at(1, returns(Result{}, chat.ErrBudget)) },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1: token budget used up",
		},
		{
			name:   "Step panics",
			env:    func(w *world) { w.step = at(0, func() (Result, error) { panic(errOfEnv) }) },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0},
			detail: "Step of turn 0: panic: no such file\ngoroutine",
		},
		{
			name:   "Step says nothing",
			env:    func(w *world) { w.step = at(0, returns(Result{Reward: 1}, nil)) },
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0},
			detail: "Step of turn 0 returned neither an observation nor an end",
		},
		{
			name:   "a reward of NaN",
			env:    func(w *world) { w.step = at(1, returns(Result{Reward: nan, Terminated: true}, nil)) },
			want:   traj.Rollout{Outcome: traj.Grader},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1 returned reward NaN",
		},
		{
			name:   "an infinite reward",
			env:    func(w *world) { w.step = at(0, returns(goOn(math.Inf(-1)), nil)) },
			want:   traj.Rollout{Outcome: traj.Grader},
			nodes:  []float64{0},
			detail: "Step of turn 0 returned reward -Inf",
		},
		{
			name:   "an infinite sum",
			env:    func(w *world) { w.step = func(context.Context, Action) (Result, error) { return goOn(1e308), nil } },
			want:   traj.Rollout{Outcome: traj.Grader},
			nodes:  []float64{0, 0},
			detail: "Step of turn 1 returned reward 1e+308, which makes a sum of +Inf",
		},
		{
			name:   "a score of NaN",
			env:    func(w *world) { w.step = at(0, returns(Result{Terminated: true, Score: &nan}, nil)) },
			want:   traj.Rollout{Outcome: traj.Grader},
			nodes:  []float64{0},
			detail: "Step of turn 0 returned score NaN",
		},
		{
			name: "an info that is not a number",
			env: func(w *world) {
				w.step = at(0, returns(Result{Terminated: true, Info: map[string]float64{"ratio": nan}}, nil))
			},
			want:   traj.Rollout{Outcome: traj.Harness},
			nodes:  []float64{0},
			detail: `Step of turn 0 returned info "ratio" of NaN`,
		},
		{
			name: "Close fails",
			env: func(w *world) {
				w.step = at(0, returns(Result{Reward: 1, Terminated: true}, nil))
				w.close = func() error { return errOfEnv }
			},
			want:   traj.Rollout{Outcome: traj.Completed, Reward: 1, Score: 1},
			nodes:  []float64{1},
			detail: "closing the environment: no such file",
		},
		{
			name: "Close panics",
			env: func(w *world) {
				w.step = at(0, returns(Result{Reward: 1, Truncated: true}, nil))
				w.close = func() error { panic("closed twice") }
			},
			want:   traj.Rollout{Outcome: traj.Truncated, Reward: 1, Score: 1},
			nodes:  []float64{1},
			detail: "the environment stopped it after turn 0; closing the environment: panic: closed twice",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, s := newWorld(), &session{Scripted: NewScripted("a", "b", "c", "d", "e")}
			if test.env != nil {
				test.env(w)
			}
			if test.policy != nil {
				test.policy(s)
			}
			got := runnerOf(w, s).Run(t.Context(), Job{Group: 3, Sample: 2, Attempt: 1})
			checkRollout(t, got, test.want, test.nodes, test.detail)
			if n := w.closed.Load(); n != 1 {
				t.Errorf("the environment was closed %d times", n)
			}
			if s.closed != 1 {
				t.Errorf("the session was closed %d times", s.closed)
			}
		})
	}
}
