package agent

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

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
