package agent

import (
	"context"
	"fmt"
	"testing"

	"molt/chat"
	"molt/traj"
)

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
