package sandbox

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// judge is an environment that pays for the reply "42".
type judge struct{ tools []chat.ToolSpec }

func (j *judge) Reset(_ context.Context, t agent.Task) (agent.Start, error) {
	return agent.Start{Messages: t.Messages, Tools: j.tools}, nil
}

func (j *judge) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	r := agent.Result{Terminated: true, Info: map[string]float64{"marked": 1}}
	if a.Message.Content == "42" {
		r.Reward = 1
	}
	return r, nil
}

func (j *judge) Close() error { return nil }

func call(name, code string) string {
	arguments := chat.Object(chat.Member{Name: "code", Value: chat.String(code)})
	return "<tool_call>\n" + chat.Object(chat.Member{Name: "name", Value: chat.String(name)}, chat.Member{Name: "arguments", Value: arguments}).String() + "\n</tool_call>"
}

func TestOffer(t *testing.T) {
	b := box(t, StarlarkLanguage, Starlark, nil)
	b.config.Time = 5 * time.Second
	task := agent.Task{Messages: []chat.Message{{Role: chat.User, Content: "6*7?"}}}
	for _, test := range []struct {
		name    string
		env     judge
		replies []string
		outcome traj.Outcome
		reward  float64
		heard   []string // by the policy, after the question
		info    map[string]float64
	}{
		{"an answer at once", judge{}, []string{"42"}, traj.Completed, 1, nil, map[string]float64{"programs": 0, "programs_failed": 0, "marked": 1}},
		{
			"programs first", judge{}, []string{call("starlark", "print(6*7)") + call("starlark", "print(1//0)"), "42"}, traj.Completed, 1,
			[]string{"42", "[exit code 1]"}, map[string]float64{"programs": 2, "programs_failed": 1, "marked": 1},
		},
		{"another tool", judge{}, []string{call("python", "1"), "no"}, traj.Completed, 0, []string{`error: no tool is called "python"`}, map[string]float64{"programs": 0, "programs_failed": 0, "marked": 1}},
		{"a tool of the same name", judge{[]chat.ToolSpec{chat.NewToolSpec("starlark", "", chat.Object())}}, []string{"42"}, traj.Harness, 0, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, said := agent.Rehearse(t.Context(), b.Offer(func() agent.Env { return &test.env }), task, test.replies...)
			if r.Outcome != test.outcome || r.Reward != test.reward {
				t.Errorf("%s, reward %v: %s", r.Outcome, r.Reward, r.Detail)
			}
			if diff := cmp.Diff(test.info, r.Info); diff != "" {
				t.Error(diff)
			}
			var heard []string
			for _, m := range said.Messages {
				if m.Role == chat.Tool {
					line, _, _ := strings.Cut(m.Content, "\n")
					heard = append(heard, line)
				}
			}
			if diff := cmp.Diff(test.heard, heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What would take longer than its step is not begun: else a policy could end its rollouts ungraded.
func TestNoTimeLeft(t *testing.T) {
	b := box(t, StarlarkLanguage, Starlark, func(c *Config) { c.Time = time.Minute })
	env := b.Offer(func() agent.Env { return &judge{} })().(*offered)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	asked := chat.ToolCall{Name: "starlark", Arguments: chat.Object()}
	if _, err := env.answer(ctx, asked); err == nil || !strings.Contains(err.Error(), "raise agent.step_timeout") {
		t.Error(err)
	}
	env.called = 1
	if got, err := env.answer(ctx, asked); err != nil || !strings.Contains(got.Content, "no time is left") {
		t.Errorf("%+v %v", got, err)
	}
}

func TestSettings(t *testing.T) {
	s := DefaultSettings()
	s.Language = "perl"
	if _, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), `Language is "perl"`) {
		t.Error(err)
	}
	s.Language = string(StarlarkLanguage)
	if b, err := s.Open(t.Context()); err != nil || b.config.Isolation != Starlark {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir()) // no bubblewrap
	s.Language = string(Shell)
	if _, err := s.Open(t.Context()); err == nil {
		t.Error("programs of a policy would run with nothing that keeps them apart")
	}
	s.Isolation = string(Limits)
	if _, err := s.Open(t.Context()); err != nil {
		t.Error(err)
	}
}
