package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molt/chat"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an Env made of functions. It counts how often it was closed.
type world struct {
	reset  func(context.Context, Task) (Start, error)
	step   func(context.Context, Action) (Result, error)
	close  func() error
	closed atomic.Int32
}

func (w *world) Reset(ctx context.Context, task Task) (Start, error)     { return w.reset(ctx, task) }
func (w *world) Step(ctx context.Context, action Action) (Result, error) { return w.step(ctx, action) }
func (w *world) Close() error {
	w.closed.Add(1)
	return w.close()
}

// newWorld is an environment that says "go on" and pays 1 for each turn.
func newWorld() *world {
	return &world{
		reset: func(context.Context, Task) (Start, error) { return Start{Messages: says(chat.User, "begin")}, nil },
		step:  func(context.Context, Action) (Result, error) { return goOn(1), nil },
		close: func() error { return nil },
	}
}

func says(role chat.Role, text string) []chat.Message {
	return []chat.Message{{Role: role, Content: text}}
}

func goOn(reward float64) Result {
	return Result{Reward: reward, Observation: says(chat.User, "go on")}
}

// session is a Scripted policy whose calls can be replaced.
type session struct {
	*Scripted
	turn   func(turn int) (chat.Reply, error) // nil: as scripted
	begin  error
	nodes  func([]traj.Node) []traj.Node
	closed int
	close  error
}

func (s *session) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	return errors.Join(s.begin, s.Scripted.Begin(messages, tools))
}

func (s *session) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	if s.turn != nil {
		if reply, err := s.turn(len(s.Scripted.Nodes())); err != nil || reply.Finish != "" {
			return reply, err
		}
	}
	return s.Scripted.Turn(ctx, observation)
}

func (s *session) Nodes() []traj.Node {
	if s.nodes != nil {
		return s.nodes(s.Scripted.Nodes())
	}
	return s.Scripted.Nodes()
}

func (s *session) Close() error {
	s.closed++
	return s.close
}

// at makes a step that does what the table says at one turn, and goes on at the others.
func at(turn int, do func() (Result, error)) func(context.Context, Action) (Result, error) {
	return func(_ context.Context, a Action) (Result, error) {
		if a.Turn == turn {
			return do()
		}
		return goOn(1), nil
	}
}

func returns(r Result, err error) func() (Result, error) {
	return func() (Result, error) { return r, err }
}

var (
	errOfEnv = errors.New("no such file")
	half     = 0.5
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

func runnerOf(w *world, s *session) *EnvRunner {
	c := Defaults()
	c.Turns = 4
	return &EnvRunner{Config: c, New: func() Env { return w }, Open: func(Job) (Policy, error) { return s, nil }}
}

func failsAt(turn int, err error) func(int) (chat.Reply, error) {
	return func(now int) (chat.Reply, error) {
		if now == turn {
			return chat.Reply{}, err
		}
		return chat.Reply{}, nil
	}
}

func checkRollout(t *testing.T, got *traj.Rollout, want traj.Rollout, nodes []float64, detail string) {
	t.Helper()
	if err := got.Validate(ScriptedEnd+1, 0); err != nil {
		t.Error(err)
	}
	var rewards []float64
	for i := range got.Nodes {
		rewards = append(rewards, got.Nodes[i].Reward)
	}
	if diff := cmp.Diff(nodes, rewards); diff != "" {
		t.Errorf("rewards of the nodes (-want +got):\n%s", diff)
	}
	if (detail == "") != (got.Detail == "") || !strings.Contains(got.Detail, detail) || len(got.Detail) > maxDetail {
		t.Errorf("detail %q; want %q", got.Detail, detail)
	}
	want.Group, want.Sample, want.Attempt = 3, 2, 1
	rest := *got
	rest.Nodes, rest.Detail = nil, ""
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("rollout (-want +got):\n%s", diff)
	}
}

func TestBeforeTheEnvironment(t *testing.T) {
	unused := func() Env { panic("an environment without a session") }
	scripted := func(Job) (Policy, error) { return NewScripted("a"), nil }
	failing := func(err error) Opener { return func(Job) (Policy, error) { return nil, err } }
	tests := []struct {
		name   string
		runner EnvRunner
		want   traj.Outcome
		detail string
	}{
		{"a config of zeros", EnvRunner{Config{}, unused, scripted}, traj.Harness, "agent: Turns is 0; want 1 or more\nagent: Reset is 0s"},
		{"no session", EnvRunner{Defaults(), unused, failing(errOfEnv)}, traj.Harness, "opening the session: no such file"},
		{"no engine", EnvRunner{Defaults(), unused, failing(chat.ErrInfrastructure)}, traj.Infrastructure, "opening the session"},
		{"a nil session", EnvRunner{Defaults(), newWorldEnv, failing(nil)}, traj.Harness, "panic"},
		{"a nil environment", EnvRunner{Defaults(), func() Env { return nil }, scripted}, traj.Harness, "Reset: panic: New returned no environment"},
		{"New panics", EnvRunner{Defaults(), unused, scripted}, traj.Harness, "Reset: panic: an environment without a session"},
		{"no New", EnvRunner{Defaults(), nil, scripted}, traj.Harness, "Reset: panic"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.runner.Run(t.Context(), Job{Group: 3, Sample: 2, Attempt: 1})
			checkRollout(t, got, traj.Rollout{Outcome: test.want}, nil, test.detail)
		})
	}
}

func newWorldEnv() Env { return newWorld() }

// What happens when a call does not return.
func TestDeadlines(t *testing.T) {
	type calls struct{ reset, step, close, obeys bool } // which call hangs, and whether it ends with its context
	tests := []struct {
		name   string
		hangs  calls
		limit  func(context.Context) (context.Context, context.CancelFunc)
		want   traj.Outcome
		detail string
		after  time.Duration
	}{
		{"Reset", calls{reset: true}, nil, traj.Timeout, "Reset did not return within 1m0s; the environment was left behind", 65 * time.Second},
		{"Step", calls{step: true}, nil, traj.Timeout, "Step of turn 1 did not return within 1m0s; the environment was left behind", 65 * time.Second},
		{"Step that obeys", calls{step: true, obeys: true}, nil, traj.Timeout, "Step of turn 1 did not return within 1m0s", time.Minute},
		{"Close", calls{close: true}, nil, traj.Truncated, "the environment was left behind: it was not closed within 5s", 5 * time.Second},
		{"Step, rollout cancelled", calls{step: true}, cancelAfter(time.Second), traj.Cancelled, "the user left", 6 * time.Second},
		{"Step that obeys, rollout cancelled", calls{step: true, obeys: true}, cancelAfter(time.Second), traj.Cancelled, "the user left", time.Second},
		{"Reset that obeys, rollout out of time", calls{reset: true, obeys: true}, timeoutAfter(2 * time.Second), traj.Timeout, "the rollout's deadline passed", 2 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				hang := func(ctx context.Context) error {
					if !test.hangs.obeys {
						ctx = context.WithoutCancel(ctx)
					}
					select {
					case <-release:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				w := newWorld()
				if test.hangs.reset {
					w.reset = func(ctx context.Context, _ Task) (Start, error) { return Start{}, hang(ctx) }
				}
				if test.hangs.step {
					w.step = func(ctx context.Context, a Action) (Result, error) {
						if a.Turn == 1 {
							return Result{}, hang(ctx)
						}
						return goOn(1), nil
					}
				}
				if test.hangs.close {
					w.close = func() error { return hang(t.Context()) }
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if test.limit != nil {
					ctx, cancel = test.limit(ctx)
				}
				defer cancel()

				begin := time.Now()
				got := runnerOf(w, &session{Scripted: NewScripted("a", "b", "c", "d")}).Run(ctx, Job{})
				if got.Outcome != test.want || !strings.HasPrefix(got.Detail, test.detail) && !strings.HasSuffix(got.Detail, test.detail) {
					t.Errorf("outcome %s, %q; want %s, %q", got.Outcome, got.Detail, test.want, test.detail)
				}
				if took := time.Since(begin); took != test.after {
					t.Errorf("it took %v; want %v", took, test.after)
				}
				if err := got.Validate(ScriptedEnd+1, 0); err != nil {
					t.Error(err)
				}
				close(release)
				synctest.Wait()
				if n := w.closed.Load(); n != 1 {
					t.Errorf("the environment was closed %d times", n)
				}
			})
		})
	}
}

func cancelAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(d, func() { cancel(errors.New("the user left")) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
}

func timeoutAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

func TestCancelledBeforeAndBetween(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld()
	w.step = at(1, func() (Result, error) {
		cancel(errors.New("the user left"))
		return goOn(1), nil
	})
	runner := runnerOf(w, &session{Scripted: NewScripted("a", "b", "c")})
	between := runner.Run(ctx, Job{})
	if between.Outcome != traj.Cancelled || between.Detail != "the user left" || len(between.Nodes) != 2 || w.closed.Load() != 1 {
		t.Errorf("cancelled between turns: %+v, closed %d times", between, w.closed.Load())
	}
	runner.New = func() Env { panic("an environment for a rollout that was cancelled before") }
	before := runner.Run(ctx, Job{})
	if before.Outcome != traj.Cancelled || before.Detail != "the user left" {
		t.Errorf("cancelled before the first turn: %+v", before)
	}
}

func TestWhatThePolicySees(t *testing.T) {
	var seen []Action
	task := Task{ID: "7", Messages: says(chat.User, "count"), Label: "2"}
	env := func() Env {
		w := newWorld()
		w.reset = func(_ context.Context, got Task) (Start, error) {
			return Start{Messages: append(says(chat.System, "label "+got.Label), got.Messages...)}, nil
		}
		w.step = func(_ context.Context, a Action) (Result, error) {
			seen = append(seen, a)
			return Result{Observation: says(chat.Tool, fmt.Sprint("got ", a.Turn)), Terminated: a.Turn == 1}, nil
		}
		return w
	}
	first := `one <tool_call>{"name": "next", "arguments": {}}</tool_call> <tool_call>{</tool_call>`
	rollout, said := Rehearse(t.Context(), env, task, first, "two", "three")
	if rollout.Outcome != traj.Completed || rollout.Turns() != 2 {
		t.Errorf("outcome %s after %d turns", rollout.Outcome, rollout.Turns())
	}
	roles := ""
	for _, m := range said.Messages {
		roles += string(m.Role) + " "
	}
	if want := "system user assistant tool assistant "; roles != want {
		t.Errorf("roles %q; want %q", roles, want)
	}
	if said.Messages[3].Content != "got 0" || said.Messages[4].Content != "two" {
		t.Errorf("said %+v", said.Messages)
	}
	if a := seen[0]; a.Turn != 0 || a.Text != first || a.Malformed != 1 || len(a.Message.ToolCalls) != 1 || a.Message.ToolCalls[0].Name != "next" {
		t.Errorf("first action %+v", a)
	}
	if a := seen[1]; a.Turn != 1 || a.Finish != traj.FinishStop {
		t.Errorf("second action %+v", a)
	}
}

func TestRehearseAShortScript(t *testing.T) {
	rollout, _ := Rehearse(t.Context(), newWorldEnv, Task{}, "a", "b")
	if rollout.Outcome != traj.Truncated || rollout.Reward != 2 {
		t.Errorf("%+v", rollout)
	}
	if rollout, _ = Rehearse(t.Context(), newWorldEnv, Task{}); rollout.Outcome != traj.Harness {
		t.Errorf("nothing was said: %+v", rollout)
	}
}

func TestRunnerIsSharedByRollouts(t *testing.T) {
	runner := &EnvRunner{Config: Defaults(), New: newWorldEnv,
		Open: func(job Job) (Policy, error) {
			return NewScripted(strings.Split(strings.Repeat("x ", job.Sample+1), " ")...), nil
		}}
	runner.Config.Turns = 8
	results := make(chan *traj.Rollout)
	for sample := range 64 {
		go func() { results <- runner.Run(t.Context(), Job{Sample: sample}) }()
	}
	for range 64 {
		r := <-results
		if want := float64(min(r.Sample+2, 8)); r.Outcome != traj.Truncated || r.Reward != want {
			t.Errorf("sample %d: %s with reward %v; want %v", r.Sample, r.Outcome, r.Reward, want)
		}
	}
}

// BenchmarkTurn measures what the framework adds to one turn of a trivial environment and policy.
func BenchmarkTurn(b *testing.B) {
	const turns = 16
	reply := chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: "x"}, Text: "x", Finish: traj.FinishStop}
	runner := &EnvRunner{Config: Defaults(), New: newWorldEnv, Open: func(Job) (Policy, error) { return &constant{reply: reply}, nil }}
	runner.Config.Turns = turns
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += runner.Run(b.Context(), Job{}).Turns()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/turn")
}

// constant is a policy that costs nothing.
type constant struct {
	reply chat.Reply
	nodes [32]traj.Node
	n     int
}

func (c *constant) Begin([]chat.Message, []chat.ToolSpec) error { return nil }
func (c *constant) Turn(context.Context, []chat.Message) (chat.Reply, error) {
	c.n++
	return c.reply, nil
}
func (c *constant) Nodes() []traj.Node { return c.nodes[:c.n] }
func (c *constant) Close() error       { return nil }
